"""Folder of a study: one small file for each result, written whole or not at all."""

from __future__ import annotations

import json
import os
import re
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from ravine_paper._files import write_json
from ravine_paper.studies.engine.environment import read_environment
from ravine_paper.studies.engine.errors import StudyError, translate_file_errors

__all__ = ["Record", "ResultStore"]

# Incremented when results of an earlier format can no longer be read.
FORMAT = 1
Record = dict[str, Any]


class ResultStore:
    """Results of one study in a folder, by key. A second run reuses the results of the first.

    Parameters
    ----------
    folder : path-like
        Created if it does not exist.
    study : str
        Name of the study.
    settings : dict
        Settings shared by all results; results with other settings are never mixed with them.

    Attributes
    ----------
    folder, results : Path
        The folder, and its subfolder of results.
    runs : list of dict
        Start and environment of each run.

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
        with self.translate_errors():
            self.results.mkdir(parents=True, exist_ok=True)
            manifest = self._read_manifest(identity)
            manifest["runs"].append(
                {"started": datetime.now(UTC).isoformat(timespec="seconds"), "environment": read_environment()}
            )
            write_json(self._manifest, manifest)
        self.runs: list[Record] = manifest["runs"]

    def _read_manifest(self, identity: Record) -> Record:
        if not self._manifest.exists():
            if any(self.results.iterdir()):
                raise StudyError(f"{self.results} holds files but {self._manifest} is missing. Choose another --out.")
            return {**identity, "runs": []}
        try:
            manifest: Record = json.loads(self._manifest.read_text(encoding="utf-8"))
            found = {key: manifest[key] for key in identity}
            manifest["runs"] = list(manifest["runs"])
        except (ValueError, KeyError, TypeError) as error:
            raise StudyError(
                f"{self._manifest} cannot be read ({error!r}): it belongs to something else or is damaged. Choose "
                "another --out, or delete the folder."
            ) from error
        for key, wanted in json.loads(json.dumps(identity)).items():
            if found[key] != wanted:
                raise StudyError(
                    f"{self.folder} holds results with {key} {found[key]!r}, but this run has {wanted!r}, and the two "
                    "cannot be mixed. Choose another --out, or delete the folder."
                )
        return manifest

    def _path(self, key: str) -> Path:
        if not re.fullmatch(r"[A-Za-z0-9_.+=-]+", key):
            raise ValueError(f"key must consist of letters, digits and _.+=-, got {key!r}.")
        return self.results / f"{key}.json"

    def get(self, key: str) -> Record | None:
        """Return a result; None if there is none or its file is damaged."""
        path = self._path(key)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return record if isinstance(record, dict) and "status" in record else None

    def put(self, key: str, record: Record) -> None:
        """Store a result."""
        with self.translate_errors():
            write_json(self._path(key), record)

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise errors of the file system as errors of the study."""
        return translate_file_errors(self.folder, self.results)
