"""HTML page of a report: template, style sheet and scripts of the package, filled with the values."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib import resources
from typing import Any

from ravine.explain import format_plural
from ravine.report.citation import render_citation
from ravine.report.encoding import embed_json, escape_html

__all__ = ["render_page"]

SCRIPTS = ("base.js", "picture.js", "detail.js", "boundaries.js", "page.js")


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
