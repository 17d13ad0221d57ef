"""Report of a fitted estimator as one HTML file: template, style sheet and scripts, filled with the values."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata, resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._files import write_text
from ravine._typing import Array
from ravine.checks import check_integer
from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.explain import (
    check_estimator,
    clean_text,
    format_plural,
    list_parameters,
    name_features,
    open_pipeline,
    shorten,
)
from ravine.report.findings import Findings, collect_findings
from ravine.report.narrative import list_caveats, list_versions, list_warnings, write_headline, write_story
from ravine.report.payload import (
    SURE,
    Budget,
    Naming,
    TypicalRows,
    build_payload,
    find_shares,
    find_typical_rows,
    format_share,
)
from ravine.rows.inputs import validate_array

MAX_BYTES, MAX_ROWS = 3_000_000, 20_000
# Limits for the notes of the caller.
MAX_NOTES, NOTE_CHARACTERS = 100, 600
SOURCE_CHARACTERS, VALUE_CHARACTERS, KEY_CHARACTERS = 120, 300, 40
SCRIPTS = ("base.js", "picture.js", "map.js", "detail.js", "boundaries.js", "page.js")
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


def write_report(
    path: str | os.PathLike[str],
    estimator: MinimumDensityTree | MinimumDensityHyperplane | MinimumDensityClassifier,
    X: ArrayLike,
    *,
    feature_names: Sequence[str] | None = None,
    labels_true: ArrayLike | None = None,
    label_name: str = "label",
    row_keys: ArrayLike | None = None,
    key_name: str = "row",
    source: str = "the data",
    settings: Mapping[str, Any] | None = None,
    notes: Sequence[str] = (),
    centre: ArrayLike | None = None,
    scale: ArrayLike | None = None,
    max_rows: int = 2000,
    feature_tests: bool = True,
) -> None:
    """Write a report of a fitted estimator: one self-contained HTML file that opens in any browser, without a network.

    The report shows a map of the clusters (or classes), the features that set them apart, the tree of splits with the
    projected density of each, a slider for the number of clusters where the tree allows it, the method and how far to
    trust the result, the settings, and how to cite. Means of features that are 0 or 1 are shown in per cent. It
    contains summaries of all rows and a sample of single rows, in at most 3 MB for any number of rows. Densities, sizes
    and means count every row once, also where the estimator was fitted with weights.

    Parameters
    ----------
    path : path-like
        The file. It is written completely or not at all; an existing file is replaced.
    estimator : MinimumDensityTree, MinimumDensityHyperplane, MinimumDensityClassifier or Pipeline
        Fitted estimator, or a pipeline that ends with one. Means and rows are shown in the original units if the other
        steps scale each feature by itself.
    X : array-like of shape (n_samples, n_features)
        The rows of the fit, as passed to the estimator or pipeline. Other rows are possible, and the report says so.
    feature_names : sequence of str, optional
        Names of the features; by default those seen in the fit, or x0, x1, ...
    labels_true : array-like of shape (n_samples,), optional
        Known labels; None, NaN or -1 for unlabelled rows. Clusters are compared with them; for a classifier they are
        the labels of the fit.
    label_name : str, default="label"
        Name of the labels.
    row_keys : array-like of shape (n_samples,), optional
        Names of the rows; by default their numbers from 0.
    key_name : str, default="row"
        Heading of the names of the rows.
    source : str, default="the data"
        Origin of the rows, for example the name of a file.
    settings : mapping, optional
        Settings of the run, listed beside the parameters of the estimator.
    notes : sequence of str, optional
        Further notes for the reader, for example on the treatment of missing values.
    centre, scale : array-like of shape (n_features,), optional
        If X was standardised, ``scale * X + centre`` must have the original units; means and rows are then shown in
        them.
    max_rows : int, default=2000
        Largest number of rows in the sample; never more than 20,000, and fewer if the file would be too large.
    feature_tests : bool, default=True
        Whether to show P-values of the features that set each cluster apart (:func:`ravine.compare_clusters`), which
        takes a fit of half of the rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityTree
    >>> from ravine.report import write_report
    >>> X, y = make_blobs([60, 50, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> mdt = MinimumDensityTree(n_clusters=3, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_report(path, mdt, X, feature_names=["length", "width"], source="blobs")
    ...     "3 clusters in blobs" in path.read_text(encoding="utf-8")
    True
    """
    opened = open_pipeline(estimator, X, feature_names)
    estimator, X, feature_names = opened.estimator, opened.X, opened.feature_names
    check_estimator(estimator)
    original = opened.find_units()
    if original is not None and centre is None and scale is None:
        centre, scale = original
    most = check_integer("max_rows", max_rows, low=1)
    rows = validate_array(estimator, X, reset=False)
    n, d = rows.shape
    names, units = name_features(feature_names, d, estimator), _check_vector("scale", scale, d, 1.0)
    if not units.all():
        raise ValueError(f"scale must not be zero, got zero for {names[int(np.argmin(units != 0.0))]!r}.")
    origin = _check_vector("centre", centre, d, 0.0)
    shares = find_shares(rows, origin, units)
    naming = Naming(names, _check_keys(row_keys, n), key_name, label_name, origin, units, shares)
    if isinstance(notes, str):
        raise TypeError("notes must be a sequence of texts, not one text: put it in a list.")
    found = collect_findings(estimator, rows, labels_true, feature_tests=feature_tests)
    shown_notes = [shorten(note, NOTE_CHARACTERS) for note in notes[:MAX_NOTES]]
    write_text(
        path,
        _fit_page(found, naming, min(most, n, MAX_ROWS), shorten(source, SOURCE_CHARACTERS), settings, shown_notes),
    )


def _fit_page(
    found: Findings, naming: Naming, n_rows: int, source: str, settings: Mapping[str, Any] | None, notes: list[str]
) -> str:
    """Return the page with as many rows and names as the limit of its size allows."""
    given = [(str(name), shorten(value, VALUE_CHARACTERS)) for name, value in (settings or {}).items()]
    tables = [
        ("Settings of this run", given),
        (f"Parameters of {type(found.estimator).__name__}", list(list_parameters(found.estimator).items())),
        ("Versions", list_versions()),
    ]
    typical = render_typical_rows(find_typical_rows(found, naming), naming.key_name)
    result, *method = write_story(found, source)
    budget = Budget(n_rows)
    while True:
        data = build_payload(found, naming, budget)
        text = _render_page(
            data,
            title=write_headline(found, source),
            result=[result, *list_warnings(found)],
            method=method,
            notes=[*notes, *list_caveats(found, len(data["sample"]["keys"]))],
            tables=tables,
            typical=typical,
        )
        if len(text.encode("utf-8")) <= MAX_BYTES or budget.rows == 0:
            return text
        budget = budget.halve()


def _check_keys(keys: ArrayLike | None, n_rows: int) -> NDArray[Any] | None:
    if keys is None:
        return None
    names = np.asarray(keys)
    if names.shape != (n_rows,):
        raise ValueError(f"row_keys must be {n_rows} names, one for each row of X, got shape {names.shape}.")
    return names


def _check_vector(name: str, given: ArrayLike | None, n_features: int, default: float) -> Array:
    """Return one finite number for each feature."""
    if given is None:
        return np.full(n_features, default)
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n_features,) or not np.isfinite(values).all():
        raise ValueError(f"{name} must be {n_features} finite numbers, one for each feature of X, got {given!r}.")
    return values


# ----------------------------------------------------------------------------------------------- page


def _render_page(
    data: dict[str, Any],
    *,
    title: str,
    result: Sequence[str],
    method: Sequence[str],
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
    result, method, notes : sequence of str
        Result, at the top; method and notes, which are folded.
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
        "RESULT": _render_paragraphs(result),
        "METHOD": _render_paragraphs(method),
        "NOTES": _render_list(notes),
        "SUMMARY": _render_summary(data),
        "TABLES": "".join(_render_table(heading, rows) for heading, rows in tables if rows),
        "TYPICAL": typical,
        "TYPICAL_LINK": '<a href="#typical">Typical rows</a>' if typical else "",
        "CITATION": _render_citation(),
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
    names, groups, shares = data["features"], data["groups"], {*data["shares"]}
    if data["cuts"]:
        shown = [(f"cluster {k}", groups[g]) for k, g in enumerate(data["cuts"][data["firstCut"]]["groups"])]
    else:
        shown = [(f"class {name}", group) for name, group in zip(data["classes"], groups, strict=True)]
    rows = []
    for name, group in shown:
        apart = "; ".join(
            f"{names[j]}: {' (others '.join(format_share(x) if j in shares else f'{x}' for x in means)})"
            for j, _, *means, _, _, _ in group["apart"][:3]
        )
        size = format_plural(group["size"], "row")
        rows.append(f"<tr><th scope='row'>{escape_html(name)}</th><td>{size}</td><td>{escape_html(apart)}</td></tr>")
    numbers = {} if not data["cuts"] else {g: k for k, g in enumerate(data["cuts"][data["firstCut"]]["groups"])}
    for boundary in data["boundaries"]:
        if all(g in numbers for g in boundary["groups"]):
            pair = " and ".join(str(numbers[g]) for g in boundary["groups"])
            rows.append(f"<tr><th scope='row'>clusters {pair}</th><td>{escape_html(boundary['z'])}</td><td></td></tr>")
    return f"<table class='settings'><tbody>{''.join(rows)}</tbody></table>"


def render_typical_rows(lines: Sequence[TypicalRows], key_name: str) -> str:
    """Return the section of the page; empty without lines."""
    if not lines:
        return ""
    has_outliers = any(line.n_outliers for line in lines)
    heads = [
        "Cluster",
        f"Most typical ({shorten(key_name, KEY_CHARACTERS)})",
        "Centre",
        "Mean membership",
        f"Rows below {SURE:g}",
    ]
    heads += ["Outliers"] if has_outliers else []
    body = "".join(f"<tr>{_render_cells(line, has_outliers, heads)}</tr>" for line in lines)
    note = (
        "Typical rows have the smallest outlier scores of their cluster. The membership of a row in its cluster "
        "follows from its distance to the hyperplanes; rows with a small one are between clusters."
    )
    columns = "".join(f"<th scope='col'>{escape_html(head)}</th>" for head in heads)
    return (
        "<section id='typical' aria-labelledby='typical-title'><h2 id='typical-title'>Typical rows and outliers</h2>"
        f"<p class='quiet'>{escape_html(note)}</p><div class='scroll'><table class='settings typical'>"
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _render_cells(line: TypicalRows, has_outliers: bool, heads: Sequence[str]) -> str:
    cells = [
        ", ".join(line.rows),
        ", ".join(f"{name} {value}".replace(" -", " \N{MINUS SIGN}") for name, value in line.center),
        f"{line.membership:.3f}",
        f"{line.n_unsure}",
    ]
    if has_outliers:
        cells.append(f"{line.n_outliers}" + (f" ({', '.join(line.outliers)})" if line.outliers else ""))
    first = f"<th scope='row'>{line.cluster}</th>"
    named = zip(heads[1:], cells, strict=True)
    return first + "".join(f"<td data-head='{escape_html(head)}'>{escape_html(cell)}</td>" for head, cell in named)


# ----------------------------------------------------------------------------------------------- citation


def _render_citation() -> str:
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
