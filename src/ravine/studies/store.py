"""The folder of a study: one small file for each result, each written whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from ravine._files import write_json
from ravine.studies.environment import environment
from ravine.studies.errors import StudyError

__all__ = ["ResultStore"]

# Changes when results of an earlier form can no longer be read.
FORMAT = 1
Record = dict[str, Any]


class ResultStore:
    """Results of one study in a folder, by key; a second run finds those of the first.

    Parameters
    ----------
    folder : path-like
        Made if it is not there.
    study : str
        Name of the study.
    settings : dict
        What all results have in common and would be wrong to mix.

    Raises
    ------
    StudyError
        If the folder holds results of another study, version or setting, or cannot be written.
    """

    def __init__(self, folder: str | os.PathLike[str], study: str, settings: Record) -> None:
        self.folder = Path(folder)
        self.results = self.folder / "results"
        self._manifest = self.folder / "study.json"
        identity = {"study": study, "format": FORMAT, "ravine": metadata.version("ravine"), "settings": settings}
        with self.explaining():
            self.results.mkdir(parents=True, exist_ok=True)
            manifest = self._read_manifest(identity)
            manifest["runs"].append(
                {"started": datetime.now(UTC).isoformat(timespec="seconds"), "environment": environment()}
            )
            write_json(self._manifest, manifest)
        self.runs: list[Record] = manifest["runs"]

    def _read_manifest(self, identity: Record) -> Record:
        if not self._manifest.exists():
            if any(self.results.iterdir()):
                raise StudyError(f"{self.results} holds files but {self._manifest} is missing: choose another --out.")
            return {**identity, "runs": []}
        try:
            manifest: Record = json.loads(self._manifest.read_text(encoding="utf-8"))
            found = {key: manifest[key] for key in identity}
            manifest["runs"] = list(manifest["runs"])
        except (ValueError, KeyError, TypeError) as error:
            raise StudyError(
                f"{self._manifest} cannot be read ({error!r}): it is not of this study or is damaged. Choose another "
                "--out, or delete the folder."
            ) from error
        for key, wanted in json.loads(json.dumps(identity)).items():
            if found[key] != wanted:
                raise StudyError(
                    f"{self.folder} holds results with {key} {found[key]!r}, but this run has {wanted!r}: they must "
                    "not be mixed. Choose another --out, or delete the folder."
                )
        return manifest

    def _path(self, key: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_.+=-]+", key):
            raise ValueError(f"key must be of letters, digits and _.+=-, got {key!r}.")
        return self.results / f"{key}.json"

    def get(self, key: str) -> Record | None:
        """A result, or None if there is none or its file is damaged."""
        path = self._path(key)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            record = None
        if not isinstance(record, dict) or "status" not in record:
            return None
        return record

    def put(self, key: str, record: Record) -> None:
        """Keep a result."""
        with self.explaining():
            write_json(self._path(key), record)

    @contextmanager
    def explaining(self) -> Iterator[None]:
        """Say what an error of the file system means for the study."""
        try:
            yield
        except OSError as error:
            name = error.filename or self.folder
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StudyError(
                    f"The disk is full ({name}). What was finished is kept in {self.results}: free some space "
                    "and run the same command again."
                ) from error
            raise StudyError(f"Cannot write {name}: {error.strerror}. Choose another --out.") from error
