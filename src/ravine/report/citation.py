"""How to cite the paper and the software."""

from __future__ import annotations

from importlib import metadata

from ravine.report.encoding import escape_html

__all__ = ["AUTHORS", "PAPER", "render_citation"]

AUTHORS = ("Pavlidis, Nicos G.", "Hofmeyr, David P.", "Tasoulis, Sotiris K.")
PAPER = {
    "title": "Minimum Density Hyperplanes",
    "journal": "Journal of Machine Learning Research",
    "volume": "17",
    "year": "2016",
    "pages": "1-33",
}


def render_citation() -> str:
    """Return the references and their BibTeX entries as HTML."""
    version = metadata.version("ravine")
    names = [_abbreviate(name) for name in AUTHORS]
    paper = (
        f"{', '.join(names[:-1])} and {names[-1]}. {PAPER['title']}. {PAPER['journal']} {PAPER['volume']} "
        f"({PAPER['year']}), {PAPER['pages'].replace('-', '–')}."
    )
    software = f"The ravine developers. ravine: minimum density hyperplanes for Python, version {version}."
    code = _write_bibtex(version).replace("&", "&amp;").replace("<", "&lt;")
    return (
        "<p>If you use these results, please cite the paper and the software.</p>"
        f"<ul class='notes'><li>{escape_html(paper)}</li><li>{escape_html(software)}</li></ul>"
        f"<details><summary>BibTeX</summary><pre tabindex='0'>{code}</pre></details>"
    )


def _write_bibtex(version: str) -> str:
    return "\n".join(
        [
            "@article{pavlidis2016minimum,",
            f"  author  = {{{' and '.join(AUTHORS)}}},",
            f"  title   = {{{PAPER['title']}}},",
            f"  journal = {{{PAPER['journal']}}},",
            f"  volume  = {{{PAPER['volume']}}},",
            f"  year    = {{{PAPER['year']}}},",
            f"  pages   = {{{PAPER['pages'].replace('-', '--')}}}",
            "}",
            "@software{ravine,",
            "  author  = {{The ravine developers}},",
            "  title   = {ravine: minimum density hyperplanes for Python},",
            f"  version = {{{version}}}",
            "}",
        ]
    )


def _abbreviate(name: str) -> str:
    """Turn "Family, Given Names" into "G. N. Family"."""
    family, given = name.split(", ")
    return " ".join([*(f"{part[0]}." for part in given.split()), family])
