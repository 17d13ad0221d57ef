"""The page: a template, a style sheet and scripts from the package, put together with the values."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib import metadata, resources
from typing import Any

from ravine.report.text import count, embedded_json, escaped
from ravine.report.words import AUTHORS, PAPER

__all__ = ["render"]

SCRIPTS = ("base.js", "picture.js", "detail.js", "page.js")


def render(
    data: dict[str, Any],
    *,
    title: str,
    story: Sequence[str],
    notes: Sequence[str],
    tables: Sequence[tuple[str, Sequence[tuple[str, str]]]],
) -> str:
    """The text of the page.

    Parameters
    ----------
    data : dict
        For the scripts; plain values.
    title : str
    story, notes : sequence of str
    tables : sequence of (str, sequence of (str, str))
        Settings and versions, with their headings.
    """
    style, script = _resource("page.css"), "\n".join(_resource(name) for name in SCRIPTS)
    # Nothing may be loaded from anywhere, and no script may run but this one.
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    parts = {
        "POLICY": escaped(policy),
        "TITLE": escaped(title),
        "STYLE": style,
        "STORY": _paragraphs(story),
        "NOTES": _list(notes),
        "SUMMARY": _summary(data),
        "TABLES": "".join(_table(heading, rows) for heading, rows in tables if rows),
        "CITATION": _citation(),
        "DATA": embedded_json(data),
        "SCRIPT": script,
    }
    pieces = _resource("page.html").split("@@")
    # Pieces with odd numbers are names: values are put in once and never looked at again, whatever they hold.
    return "".join(parts[piece] if k % 2 else piece for k, piece in enumerate(pieces))


def _resource(name: str) -> str:
    return resources.files("ravine.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escaped(text)}</p>" for text in texts)


def _list(texts: Sequence[str]) -> str:
    return f"<ul class='notes'>{''.join(f'<li>{escaped(text)}</li>' for text in texts)}</ul>" if texts else ""


def _table(heading: str, rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th scope='row'>{escaped(name)}</th><td>{escaped(value)}</td></tr>" for name, value in rows)
    body = f"<div class='scroll'><table class='settings'><tbody>{cells}</tbody></table></div>"
    return f"<details><summary>{escaped(heading)}</summary>{body}</details>"


def _summary(data: dict[str, Any]) -> str:
    """The groups as a plain table, for browsers without scripts."""
    names, groups = data["features"], data["groups"]
    if data["cuts"]:
        shown = [(f"cluster {k}", groups[g]) for k, g in enumerate(data["cuts"][-1]["groups"])]
    else:
        shown = [(f"class {name}", group) for name, group in zip(data["classes"], groups, strict=True)]
    rows = []
    for name, group in shown:
        apart = "; ".join(f"{names[j]}: {mean} (others {rest})" for j, _, mean, rest, *_ in group["apart"][:3])
        size = f"{count(group['size'])} rows"
        rows.append(f"<tr><th scope='row'>{escaped(name)}</th><td>{size}</td><td>{escaped(apart)}</td></tr>")
    return f"<table class='settings'><tbody>{''.join(rows)}</tbody></table>"


def _citation() -> str:
    version = metadata.version("ravine")
    names = [_initials(name) for name in AUTHORS]
    paper = (
        f"{', '.join(names[:-1])} and {names[-1]}. {PAPER['title']}. {PAPER['journal']} {PAPER['volume']} "
        f"({PAPER['year']}), {PAPER['pages'].replace('-', '–')}."
    )
    software = f"The ravine developers. ravine: minimum density hyperplanes for Python, version {version}."
    bibtex = "\n".join(
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
    code = bibtex.replace("&", "&amp;").replace("<", "&lt;")
    return (
        "<p>If you use these results, please cite the paper and the software.</p>"
        f"<ul class='notes'><li>{escaped(paper)}</li><li>{escaped(software)}</li></ul>"
        f"<details><summary>BibTeX</summary><pre tabindex='0'>{code}</pre></details>"
    )


def _initials(name: str) -> str:
    """Of "Family, Given Names": "G. N. Family"."""
    family, given = name.split(", ")
    return " ".join([*(f"{part[0]}." for part in given.split()), family])
