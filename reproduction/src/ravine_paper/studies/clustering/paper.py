"""Table 2 as the paper prints it."""

from __future__ import annotations

__all__ = ["CLUSTERING_METHODS", "IMPROVEMENT", "SETS", "TABLE_2"]

# Table 2 of Pavlidis, Hofmeyr and Tasoulis (2016): success ratio and binary V-measure, in the order of its columns.
CLUSTERING_METHODS = ("mdp2", "isvr-l", "isvr-g", "scn", "lda-2m", "2-means++", "pddp", "depddp")
_ROWS = """
banknote       .79 .55   0   0   .35 0    .46 .10  0   .01  .37 .01  .40 .03  0   .03
breast_cancer  .91 .79  .73 .56  .73 .56  0   .13  .87 .71  .87 .72  .91 .78  .90 .77
forest         .78 .67  .90 .72  .91 .74  .56 .41  .76 .63  .72 .58  .64 .36  0   0
image_seg      .89 .72  .82 .59  .88 .71  .92 .87  .78 .58  .78 .71  .87 .67  1   1
ionosphere     .48 .13  .47 .13  .47 .13  .55 .22  .47 .12  .47 .12  .47 .12  .42 .09
optidigits     .93 .85  .63 .29  .82 .60  0   0    .81 .62  .92 .82  .68 .30  0   0
pendigits      .74 .39  .79 .55  .88 .68  .80 .68  .79 .55  .78 .57  .79 .54  .61 .42
satellite      .89 .75  .73 .40  .73 .40  .92 .86  .73 .40  .87 .81  .71 .37  0   0
seeds          .88 .73  .71 .53  .71 .53  .89 .76  .96 .90  .86 .70  .75 .59  .73 .60
smartphone     .99 .97  .99 .95  .99 .96  .99 .94  .99 .97  .99 .94  .99 .95  0   0
synth_control  .98 .94  .94 .83  .94 .83  1   1    .88 .76  1   1    .69 .51  1   1
voting         .70 .43  .46 .09  0   0    0   .05  .69 .41  0   0    .70 .40  .68 .38
wine           .77 .61  .70 .52  .69 .50  .67 .48  .66 .48  .68 .49  .65 .46  .68 .49
yeast          .92 .76  .89 .68  .91 .72  .84 .61  .86 .63  .91 .73  .87 .65  0   0
"""


def _parse(rows: str) -> dict[tuple[str, str], tuple[float, float]]:
    table = {}
    for line in rows.strip().splitlines():
        name, *cells = line.split()
        values = [float(cell) for cell in cells]
        for method, pair in zip(CLUSTERING_METHODS, zip(values[::2], values[1::2], strict=True), strict=True):
            table[name, method] = pair
    return table


# From (set, method) to (success ratio, V-measure).
TABLE_2 = _parse(_ROWS)
SETS = tuple(dict.fromkeys(name for name, _ in TABLE_2))
# Last row of the table: average improvement of MDP² over each method.
IMPROVEMENT = {
    "isvr-l": (0.13, 0.18),
    "isvr-g": (0.12, 0.14),
    "scn": (0.22, 0.16),
    "lda-2m": (0.10, 0.11),
    "2-means++": (0.10, 0.08),
    "pddp": (0.11, 0.18),
    "depddp": (0.40, 0.32),
}
