"""Link public names in the prose of the pages to the API reference: `MinimumDensityTree(10)` leads to its class."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref

import ravine

__all__ = ["setup"]

# `load` may also be that of the data sets.
NAMES = frozenset(ravine.__all__) - {"load", "save"}
CALL = re.compile(r"(\w+)(?:\(.*\))?")


def link_names(app: Any, doctree: nodes.document) -> None:
    """Wrap literals that are a public name, or a call of one, in a reference; not in titles, links and API pages."""
    if app.env.docname.startswith("api"):
        return
    for literal in list(doctree.findall(nodes.literal)):
        name = CALL.fullmatch(literal.astext())
        around = (nodes.reference, nodes.title, pending_xref)
        if name is None or name[1] not in NAMES or any(isinstance(node, around) for node in _list_parents(literal)):
            continue
        link = pending_xref(
            "", literal.deepcopy(), refdomain="py", reftype="obj", reftarget=f"ravine.{name[1]}",
            refdoc=app.env.docname, refwarn=False, refexplicit=True,
        )  # fmt: skip
        literal.replace_self(link)


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
    return {"parallel_read_safe": True, "parallel_write_safe": True}
