"""Link names in the prose of the pages: `MinimumDensityTree(10)` to its class, `examples/tree.py` to the gallery."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref

import ravine

__all__ = ["setup"]

# `load` may also be that of the data sets.
NAMES = frozenset(ravine.__all__) - {"load", "save"}
CALL = re.compile(r"(\w+)(?:\(.*\))?")
SCRIPT = re.compile(r"(?:python |\.\./)?examples/(\w+)\.py")


def link_names(app: Any, doctree: nodes.document) -> None:
    """Wrap literals that are a public name, or a call of one, in a reference; not in titles, links and API pages."""
    if app.env.docname.startswith("api"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        name = CALL.fullmatch(literal.astext())
        if name is None or name[1] not in NAMES or _is_linked(literal):
            continue
        link = pending_xref(
            "", literal.deepcopy(), refdomain="py", reftype="obj", reftarget=f"ravine.{name[1]}",
            refdoc=app.env.docname, refwarn=False, refexplicit=True,
        )  # fmt: skip
        literal.replace_self(link)


def link_scripts(app: Any, doctree: nodes.document) -> None:
    """Let the names of example scripts, and links to their files, lead to their pages in the gallery."""
    texts = {node: node.astext() for node in doctree.findall(nodes.literal) if not _is_linked(node)}
    targets = {node: node["reftarget"] for node in doctree.findall(download_reference)}
    for node, text in (texts | targets).items():
        script = SCRIPT.fullmatch(text)
        if script is None:
            continue
        content = nodes.inline("", "", *node.deepcopy().children) if node in targets else node.deepcopy()
        link = pending_xref(
            "", content, refdomain="std", reftype="doc", reftarget=f"/gallery/{script[1]}",
            refdoc=app.env.docname, refwarn=True, refexplicit=True,
        )  # fmt: skip
        node.replace_self(link)


def _is_linked(node: nodes.Node) -> bool:
    """Return whether a node is in a title or already in a link."""
    around = (nodes.reference, nodes.title, pending_xref, download_reference)
    return any(isinstance(parent, around) for parent in _list_parents(node))


def _list_parents(node: nodes.Node) -> list[nodes.Node]:
    """Return all nodes that contain a node."""
    parents = []
    while node.parent is not None:
        node = node.parent
        parents.append(node)
    return parents


def setup(app: Any) -> dict[str, bool]:
    """Run when a page has been read, before its references are resolved."""
    app.connect("doctree-read", link_names)
    app.connect("doctree-read", link_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
