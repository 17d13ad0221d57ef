"""URLs of the project, from the one variable `repository` of pyproject.toml: none as long as it is empty."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

__all__ = ["dynamic_metadata"]


def dynamic_metadata(field: str, settings: Mapping[str, object] | None = None) -> dict[str, str]:
    """Return the URLs; scikit-build-core calls it for the field `urls`."""
    if field != "urls" or settings:
        raise ValueError("this provider has the field 'urls' and no settings")
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        repository = tomllib.load(file)["tool"]["ravine"]["repository"].rstrip("/")
    changelog, documentation = "/blob/main/CHANGELOG.md", "/tree/main/docs"
    pages = {"Source": "", "Issues": "/issues", "Changelog": changelog, "Documentation": documentation}
    return {name: repository + path for name, path in pages.items()} if repository else {}
