"""Tables through the command: hostile names, cells, encodings and options."""

from __future__ import annotations

import numpy as np

from fuzz.targets.rows import choose

__all__ = ["write_table"]

NAMES = ["a", "b", "kind", "id", "", " ", "a b", "=1+1", "@sum", "x\x1b[31mred", "\u202egnp.exe", "\x00", "\x07",
         "</script><ravine-fuzz>", "é", "名前", "\u200b", "x" * 5000,
         "\n", '"', "1", "NaN", "'; drop", "%s{}"]  # fmt: skip
CELLS = ["", "NA", "nan", "inf", "-inf", "1e308", "-1e308", "1e-320", "1e999", "0x10", "1,5", "1_000", "true", "?",
         "=1+1", "=cmd|' /C calc'!A0", "\x1b]0;title\x07", "\u202e12", "</script><ravine-fuzz>", "9" * 400, "١٢",
         "2024-01-01", "01", "-0", " 3 ", "x" * 10_000, "\x00", "1e155", '"', '""', "a\nb"]  # fmt: skip
# Changes of the bytes of a table.
CHANGES = [
    "text = text.replace(b'\\n', b'\\r\\n')",
    "text = text.replace(b'\\n', b'\\r')",
    "text = b'\\xef\\xbb\\xbf' + text",
    "text = text.decode().encode('utf-16')",
    "text = text.decode(errors='replace').encode('latin-1', 'replace')",
    "text = text[: int({place} * len(text))]",
    "text = gzip.compress(text)",
    "text = gzip.compress(text)[: int({place} * len(text))]",
    "text = text[: int({place} * len(text))] + b'\"' + text[int({place} * len(text)) :]",
    "text = text[: int({place} * len(text))] + rng.bytes(5) + text[int({place} * len(text)) :]",
    "text = text.replace(b',', b';')",
    "text = text.replace(b',', b'\\t')",
    "text = text.replace(b',', b' ')",
    "text = text + text",
    "text = text + b'\\n\\n\\n'",
    "text = b'# comment\\n' + text",
    "text = rng.bytes(300)",
    "text = b'PAR1' + rng.bytes(200)",
    "text = b'ARROW1' + rng.bytes(200)",
    "text = b'\\x93NUMPY\\x01\\x00' + rng.bytes(200)",
    "text = b''",
]
FIT_OPTIONS = ["--encode one-hot", "--encode famd", "--auto", "--normalize l2",
               "--missing drop", "--missing impute-median", "--missing multiple", "--scale none", "--scale robust",
               "--key {name}", "--drop {name}", "--json", "--quiet", "--out -", "--no-header", "--header",
               "--delimiter ;", "--encoding latin-1", "--decimal ,", "--seed 3", "--label-column {name}"]  # fmt: skip
PREDICT_OPTIONS = [
    "--json",
    "--unknown other",
    "--quiet",
    "--missing drop",
    "--key {name}",
    "--no-header",
    "--out labels.csv",
]
TABLE = """
import csv, gzip, io, os, unicodedata
from pathlib import Path
import numpy as np
from click.testing import CliRunner
from ravine.cli.app import app

rng = np.random.default_rng({seed})
rows = rng.normal(size=({n}, {d})) {scale}
rows[: {n} // 2] += 9.0
stream = io.StringIO()
csv.writer(stream, lineterminator="\\n").writerows([{names}, *rows.tolist()])
text = stream.getvalue().encode()
"""
ADD_LABELS = """
kinds = ["label", *(["x", "y", "01", ""][k % {k}] for k in range(len(rows)))]
lines = text.decode().splitlines()
text = "\\n".join(f"{{line}},{{kind}}" for line, kind in zip(lines, kinds)).encode()
"""
PLANT = """
table = list(csv.reader(io.StringIO(text.decode())))
for place, cell in {planted}:
    line = table[int(place * len(table))]
    line[int(place * 997) % len(line)] = cell
stream = io.StringIO()
csv.writer(stream, lineterminator="\\n").writerows(table)
text = stream.getvalue().encode()
"""
RUN = """
Path("data.csv").write_bytes(text)
before = sorted(os.listdir())
result = CliRunner().invoke(app, {arguments})
shown = result.stderr.split("Usage:")[0]
assert result.exit_code in (0, 1, 2), (result.exit_code, result.exception)
assert "unexpected" not in shown and "Traceback" not in shown, shown
visible = shown.replace("\\n", "").replace("\\u200c", "").replace("\\u200d", "")
assert not [c for c in visible if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")], ascii(shown)
assert max(map(len, shown.splitlines()), default=0) < 2100, "long message"
if result.exit_code:
    assert sorted(os.listdir()) == before, "half-written results"
assert not [name for name in os.listdir() if name.startswith(".")], "a hidden folder was left"
if os.path.exists("data-ravine/report.html"):
    page = Path("data-ravine/report.html").read_text(encoding="utf-8")
    assert "<ravine-fuzz" not in page, "a tag of the table is live"
"""
MODEL = """
Path("train.csv").write_bytes(text)
assert CliRunner().invoke(app, {arguments}).exit_code == 0
"""


def write_table(rng: np.random.Generator) -> str:
    """Write a script that runs the command on a table."""
    command = str(rng.choice(["cluster", "classify", "predict"], p=[0.5, 0.25, 0.25]))
    d = int(rng.integers(1, 6))
    hostile = [choose(rng, NAMES) for _ in range(d)]
    is_plain = command == "predict" or rng.random() < 0.6
    names = ["a", "b", "c", "d", "e"][:d] if is_plain else hostile
    scale = choose(rng, ["", "", "* 1e155", "* 1e-310", "* 1e300"]) if command != "predict" else ""
    n = int(rng.choice([1, 2, 5, 30, 100])) if command != "predict" else 60
    lines = TABLE.format(seed=int(rng.integers(10**6)), n=n, d=d, scale=scale, names=names)
    if command == "predict":
        lines += MODEL.format(arguments=["cluster", "train.csv", "--clusters", "2", "--no-figures", "--out", "."])
    if command == "classify" and is_plain:
        lines += ADD_LABELS.format(k=int(rng.integers(1, 5)))
        names = ["label"] * 4 + names
    if rng.random() < 0.6:
        planted = [(round(float(rng.random()), 6), choose(rng, CELLS)) for _ in range(int(rng.integers(1, 6)))]
        lines += PLANT.format(planted=planted)
    if rng.random() < 0.5:
        lines += choose(rng, CHANGES).replace("{place}", f"{rng.random():.6f}") + "\n"
    return (lines + RUN.format(arguments=_choose_arguments(rng, command, names))).lstrip()


def _choose_arguments(rng: np.random.Generator, command: str, names: list[str]) -> list[str]:
    name = choose(rng, names if rng.random() < 0.9 else NAMES).replace("\x00", "")
    offered = PREDICT_OPTIONS if command == "predict" else FIT_OPTIONS
    options = [choose(rng, offered).split(" ", 1) for _ in range(int(rng.integers(0, 4)))]
    words = [name if word == "{name}" else word for option in options for word in option]
    if command == "predict":
        return ["predict", "model.ravine", "data.csv", *words]
    if command == "classify":
        words += ["--label-column", name]
    clusters = ["--clusters", choose(rng, ["2", "auto", "3", "shown"])] if command == "cluster" else []
    # Figures and report take most of the time.
    return [command, "data.csv", *clusters, *words, *([] if rng.random() < 0.1 else ["--no-figures"])]
