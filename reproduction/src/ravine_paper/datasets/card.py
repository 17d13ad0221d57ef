"""Description of a data set, and the location of its files in the archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["PAPER", "Card", "Member", "Source"]

PAPER = "N. G. Pavlidis, D. P. Hofmeyr, S. K. Tasoulis. Minimum Density Hyperplanes. JMLR 17 (156), 2016."


@dataclass(frozen=True)
class Member:
    """File inside a zip archive: the end of its path, and the SHA-256 that it may have (any if empty).

    Examples
    --------
    >>> from ravine_paper.datasets import Member
    >>> Member("folder/rows.csv").name
    'rows.csv'
    """

    path: str
    sha256: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the file without folders."""
        return self.path.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Source:
    """File of the original archive: its URL, its SHA-256 if published, and the members to extract from a zip.

    Examples
    --------
    >>> from ravine_paper.datasets import Source
    >>> Source("https://example.org/data%20set.zip").name
    'data_set.zip'
    """

    url: str
    sha256: str | None = None
    members: tuple[Member, ...] = ()

    @property
    def name(self) -> str:
        """Name of the file in the cache."""
        return unquote(urlsplit(self.url).path.rsplit("/", 1)[-1]).replace("+", "_").replace(" ", "_")


@dataclass(frozen=True)
class Card:
    """Description of a data set.

    Attributes
    ----------
    name : str
        One of `list_datasets`.
    title : str
        Title in the archive.
    n, d : int
        Numbers of rows and features.
    classes : mapping of str to int
        Number of rows of each class.
    source : str
        Publisher of the data.
    licence : str
        Terms of use stated by the archive, as far as known.
    citation : str
        Reference to cite.
    preprocessing : str
        Changes to the values of the archive.
    paper : str
        Differences from the data set in the paper.
    missing : int
        Number of missing cells.
    sources : tuple of Source
        Files of the archive.
    fingerprint : str
        SHA-256 of the content, see `ravine_paper.datasets.fingerprint`.
    sketch : tuple of float
        Weighted sums of the values, for data sets whose archive has more digits than the pinned content.
    labels : str
        SHA-256 of the classes alone, used with ``sketch``.

    Examples
    --------
    >>> from ravine_paper.datasets import describe
    >>> card = describe("wine")
    >>> card.n, card.d, dict(card.classes)
    (178, 13, {'1': 59, '2': 71, '3': 48})
    """

    name: str
    title: str
    n: int
    d: int
    classes: Mapping[str, int]
    source: str
    licence: str
    citation: str
    preprocessing: str
    paper: str
    fingerprint: str = field(repr=False)
    sources: tuple[Source, ...] = field(repr=False)
    missing: int = 0
    sketch: tuple[float, ...] = field(default=(), repr=False)
    labels: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", MappingProxyType(dict(self.classes)))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return _restore_card, ({**values, "classes": dict(self.classes)},)

    def __hash__(self) -> int:
        return hash((self.name, self.fingerprint))

    def __str__(self) -> str:
        return "\n".join(f"{key:<14}{value}" for key, value in self.rows())

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values, for JSON."""
        keys = ("name", "title", "n", "d", "missing", "source", "licence", "citation", "preprocessing", "paper")
        values: dict[str, Any] = {key: getattr(self, key) for key in keys}
        files = [source.url for source in self.sources]
        return {**values, "classes": dict(self.classes), "files": files, "fingerprint": self.fingerprint}

    def rows(self) -> list[tuple[str, str]]:
        """Return the card as pairs of a heading and a text."""
        counts = ", ".join(f"{name}: {count}" for name, count in self.classes.items())
        size = f"{self.n} rows, {self.d} columns, {len(self.classes)} classes"
        return [
            ("name", self.name),
            ("title", self.title),
            ("size", size + (f", {self.missing} missing cells" if self.missing else "")),
            ("classes", counts),
            ("source", self.source),
            ("licence", self.licence),
            ("citation", self.citation),
            ("preprocessing", self.preprocessing),
            ("paper", self.paper),
            ("files", ", ".join(source.url for source in self.sources)),
        ]


def _restore_card(values: dict[str, Any]) -> Card:
    return Card(**values)
