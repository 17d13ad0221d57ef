"""Judgement of an input: which errors and warnings are documented, and which are findings."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import ravine
import ravine_paper

__all__ = ["DONE", "PACKAGE", "REFUSED", "Outcome", "judge_error", "judge_warnings"]

DONE, REFUSED = "done", "refused"
# Errors that the documentation names for bad input; their subclasses (LinAlgError, UnicodeError, ...) are findings.
DOCUMENTED_ERRORS = (ValueError, TypeError)
# Packages whose own exceptions and checks are written for the user.
SPEAKING_PACKAGES = ("ravine", "sklearn")
LONGEST_MESSAGE = 2000
# Folders of the packages that are tested.
PACKAGE = Path(ravine.__file__).parent
PACKAGES = (PACKAGE, Path(ravine_paper.__file__).parent)
# scikit-learn's reminders that a frame was fitted and an array is predicted, or the reverse.
FEATURE_NAMES = "valid feature names"


@dataclass(frozen=True)
class Outcome:
    """Outcome of one input.

    Attributes
    ----------
    kind : str
        `DONE`, `REFUSED` (a documented error), or the kind of finding: "crash", "hang", "memory", "error", "message",
        "warning", "wrong result" or "script" (a defect of the fuzzer itself).
    detail : str
        Message or traceback.
    seconds : float
    megabytes : float
        Peak of the resident memory of the process.
    """

    kind: str
    detail: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def is_finding(self) -> bool:
        """Whether the input revealed a problem."""
        return self.kind not in (DONE, REFUSED)

    def as_dict(self) -> dict[str, object]:
        """Return the fields for JSON."""
        return asdict(self)


def judge_error(error: BaseException) -> Outcome:
    """Judge an exception that ended a script."""
    frames = traceback.extract_tb(error.__traceback__)
    packages = [_find_package(frame.filename) for frame in frames]
    shown = "".join(traceback.format_exception(error, limit=-6))[-6000:]
    if isinstance(error, AssertionError) and packages[-1] == "script":
        return Outcome("wrong result", shown)
    if isinstance(error, MemoryError):
        return Outcome("memory", shown)
    if "ravine" not in packages:
        return Outcome("script", shown)
    if type(error) not in DOCUMENTED_ERRORS and not type(error).__module__.startswith(SPEAKING_PACKAGES):
        return Outcome("error", shown)
    is_long = packages[-1] == "ravine" and len(str(error)) > LONGEST_MESSAGE
    if packages[-1] not in SPEAKING_PACKAGES or is_long or not str(error):
        return Outcome("message", shown)
    return Outcome(REFUSED, f"{type(error).__name__}: {error}")


def judge_warnings(caught: Iterable[warnings.WarningMessage]) -> Outcome | None:
    """Return the first warning that is not one of ravine's own, or None.

    Warnings of ravine are UserWarnings that point to the caller. Those that point into another package were meant for
    ravine itself.
    """
    for warning in caught:
        is_own = issubclass(warning.category, UserWarning) and _find_package(warning.filename) in ("script", "ravine")
        if not is_own and FEATURE_NAMES not in str(warning.message):
            place = f"{warning.filename}:{warning.lineno}"
            return Outcome("warning", f"{warning.category.__name__} at {place}: {str(warning.message)[:1000]}")
    return None


def _find_package(filename: str) -> str:
    """Return the package of a file of Python code, or "script" for code of an input."""
    if filename.startswith("<input"):
        return "script"
    parts = Path(filename).parts
    if "site-packages" in parts:
        return parts[len(parts) - 1 - parts[::-1].index("site-packages") + 1].removesuffix(".py")
    return "ravine" if any(map(Path(filename).is_relative_to, PACKAGES)) else parts[-1]
