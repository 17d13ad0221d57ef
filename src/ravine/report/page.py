"""HTML page of a report: template, style sheet and scripts of the package, filled with the values."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
from collections.abc import Iterable, Sequence
from importlib import metadata, resources
from typing import Any

from ravine.explain import clean_text, format_plural

__all__ = [
    "AUTHORS", "PAPER", "embed_json", "encode_number", "escape_html", "render_page", "round_by_spread", "round_figures",
]  # fmt: skip

SCRIPTS = ("base.js", "picture.js", "detail.js", "boundaries.js", "page.js")
AUTHORS = ("Pavlidis, Nicos G.", "Hofmeyr, David P.", "Tasoulis, Sotiris K.")
PAPER = {
    "title": "Minimum Density Hyperplanes",
    "journal": "Journal of Machine Learning Research",
    "volume": "17",
    "year": "2016",
    "pages": "1-33",
}
# Characters of JSON that could end the script or, in old browsers, the line.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def render_page(
    data: dict[str, Any],
    *,
    title: str,
    story: Sequence[str],
    notes: Sequence[str],
    tables: Sequence[tuple[str, Sequence[tuple[str, str]]]],
    typical: str = "",
) -> str:
    """Return the text of the page.

    Parameters
    ----------
    data : dict
        Plain values for the scripts.
    title : str
    story, notes : sequence of str
    tables : sequence of (str, sequence of (str, str))
        Settings and versions, with their headings.
    typical : str
        Section of typical rows, as HTML.
    """
    style, script = _read_resource("page.css"), "\n".join(_read_resource(name) for name in SCRIPTS)
    # Forbid loading anything and running any other script.
    policy = (
        f"default-src 'none'; style-src '{_hash_source(style)}'; script-src '{_hash_source(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = {
        "POLICY": escape_html(policy),
        "TITLE": escape_html(title),
        "STYLE": style,
        "STORY": _render_paragraphs(story),
        "NOTES": _render_list(notes),
        "SUMMARY": _render_summary(data),
        "TABLES": "".join(_render_table(heading, rows) for heading, rows in tables if rows),
        "TYPICAL": typical,
        "TYPICAL_LINK": '<a href="#typical">Typical rows</a>' if typical else "",
        "CITATION": render_citation(),
        "DATA": embed_json(data),
        "SCRIPT": script,
    }
    pieces = _read_resource("page.html").split("@@")
    # Odd pieces are names. Values are inserted once and not scanned again, so they may contain "@@" themselves.
    return "".join(parts[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def _read_resource(name: str) -> str:
    return resources.files("ravine.report").joinpath(name).read_text(encoding="utf-8")


def _hash_source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _render_paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escape_html(text)}</p>" for text in texts)


def _render_list(texts: Sequence[str]) -> str:
    return f"<ul class='notes'>{''.join(f'<li>{escape_html(text)}</li>' for text in texts)}</ul>" if texts else ""


def _render_table(heading: str, rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><th scope='row'>{escape_html(name)}</th><td>{escape_html(value)}</td></tr>" for name, value in rows
    )
    body = f"<div class='scroll'><table class='settings'><tbody>{cells}</tbody></table></div>"
    return f"<details><summary>{escape_html(heading)}</summary>{body}</details>"


def _render_summary(data: dict[str, Any]) -> str:
    """Return the groups as a plain table, for browsers without scripts."""
    names, groups = data["features"], data["groups"]
    if data["cuts"]:
        shown = [(f"cluster {k}", groups[g]) for k, g in enumerate(data["cuts"][data["firstCut"]]["groups"])]
    else:
        shown = [(f"class {name}", group) for name, group in zip(data["classes"], groups, strict=True)]
    rows = []
    for name, group in shown:
        apart = "; ".join(f"{names[j]}: {mean} (others {rest})" for j, _, mean, rest, *_ in group["apart"][:3])
        size = format_plural(group["size"], "row")
        rows.append(f"<tr><th scope='row'>{escape_html(name)}</th><td>{size}</td><td>{escape_html(apart)}</td></tr>")
    numbers = {} if not data["cuts"] else {g: k for k, g in enumerate(data["cuts"][data["firstCut"]]["groups"])}
    for boundary in data["boundaries"]:
        if all(g in numbers for g in boundary["groups"]):
            pair = " and ".join(str(numbers[g]) for g in boundary["groups"])
            rows.append(f"<tr><th scope='row'>clusters {pair}</th><td>{escape_html(boundary['z'])}</td><td></td></tr>")
    return f"<table class='settings'><tbody>{''.join(rows)}</tbody></table>"


# ----------------------------------------------------------------------------------------------- citation


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
    fields = {"author": " and ".join(AUTHORS), **PAPER, "pages": PAPER["pages"].replace("-", "--")}
    order = ("author", "title", "journal", "volume", "year", "pages")
    paper = ",\n".join(f"  {name:7} = {{{fields[name]}}}" for name in order)
    software = (
        "@software{ravine,\n  author  = {{The ravine developers}},\n"
        f"  title   = {{ravine: minimum density hyperplanes for Python}},\n  version = {{{version}}}\n}}"
    )
    return f"@article{{pavlidis2016minimum,\n{paper}\n}}\n{software}"


def _abbreviate(name: str) -> str:
    """Turn "Family, Given Names" into "G. N. Family"."""
    family, given = name.split(", ")
    return " ".join([*(f"{part[0]}." for part in given.split()), family])


# ----------------------------------------------------------------------------------------------- encoding


def escape_html(value: object) -> str:
    """Return text for the body or a quoted attribute of an HTML page."""
    return html.escape(clean_text(value), quote=True)


def embed_json(value: Any) -> str:
    """Return JSON that is safe in a script element whatever its strings hold; NaN and infinities are rejected."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def encode_number(x: float) -> int | float | None:
    """Return a number for JSON: whole numbers without a decimal point, None for those that are not finite."""
    if not math.isfinite(x):
        return None
    return int(x) if x == int(x) and abs(x) < 1e15 else float(x)


def round_figures(values: Iterable[float], digits: int = 4) -> list[int | float | None]:
    """Round numbers to a few significant digits."""
    return [encode_number(float(f"{x:.{digits}g}")) for x in values]


def round_by_spread(x: float, spread: float) -> int | float | None:
    """Round a number to about a thousandth of the spread of its feature, so that a far origin costs no digits."""
    if not (math.isfinite(x) and math.isfinite(spread) and spread > 0.0):
        return encode_number(x)
    return encode_number(round(x, min(max(3 - math.floor(math.log10(spread)), -290), 320)))
