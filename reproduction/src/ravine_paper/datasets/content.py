"""Comparison of the content of a data set with its card.

The checksum of a file changes with compression and line ends, the values do not. The cards therefore pin the SHA-256 of
the parsed values and classes, which is the same for local files, the cache and downloads. Where the archive has more
digits than the pinned content (its values agree to about 1e-8), weighted sums of all values are compared instead.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array
from ravine_paper.datasets.card import Card
from ravine_paper.datasets.dataset_errors import CorruptDatasetError

__all__ = ["check_content", "compute_sketch", "fingerprint", "hash_labels"]

# The additional digits of the archive change a sum by less than 1e-7; a moved row or column, another unit or a wrong
# file changes it by far more.
TOLERANCE = 1e-5
N_SUMS = 6


def fingerprint(data: Array, target: NDArray[np.str_]) -> str:
    """Compute the SHA-256 of the content of a data set: shape, values and classes in the order of the rows.

    Parameters
    ----------
    data : ndarray of shape (n, d)
        Hashed as little-endian float64; all NaN are equal, and -0 equals 0.
    target : ndarray of shape (n,)
        Classes as strings.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine_paper.datasets import fingerprint
    >>> fingerprint(np.array([[0.0, np.nan]]), np.array(["a"]))[:8]
    '683f561d'
    """
    values = np.ascontiguousarray(data, dtype="<f8") + 0.0  # -0.0 + 0.0 is 0.0
    values[np.isnan(values)] = np.nan
    digest = hashlib.sha256(f"{data.shape[0]} {data.shape[1]}\n".encode())
    digest.update(values.tobytes())
    digest.update(_join_labels(target))
    return digest.hexdigest()


def hash_labels(target: NDArray[np.str_]) -> str:
    """Compute the SHA-256 of the classes in the order of the rows."""
    return hashlib.sha256(_join_labels(target)).hexdigest()


def _join_labels(target: NDArray[np.str_]) -> bytes:
    return "\n".join(target.tolist()).encode()


def compute_sketch(data: Array) -> tuple[float, ...]:
    """Compute sums of all values with weights that differ from cell to cell, divided by √(n d)."""
    n, d = data.shape
    sums = []
    for j in range(1, N_SUMS + 1):
        rows, columns = np.cos(np.sqrt(2.0 + j) * np.arange(n)), np.cos(np.sqrt(11.0 + j) * np.arange(1, d + 1))
        sums.append(float(rows @ data @ columns) / float(np.sqrt(n * d)))
    return tuple(sums)


def check_content(card: Card, data: Array, target: NDArray[np.str_], file: str) -> None:
    """Raise an error that states how the content differs from the card."""
    hint = "get a new copy, or use the file anyway with check=False in Python"
    if data.shape != (card.n, card.d):
        raise CorruptDatasetError(
            f"{file} has {data.shape[0]} rows and {data.shape[1]} features, but {card.name} has {card.n} and "
            f"{card.d}: {hint}."
        )
    names, counts = np.unique(target, return_counts=True)
    found = dict(zip(names.tolist(), counts.tolist(), strict=True))
    if found != dict(card.classes):
        wrong = next(k for k in sorted({*found, *card.classes}) if found.get(k) != card.classes.get(k))
        raise CorruptDatasetError(
            f"{file}: expected {card.classes.get(wrong, 0)} rows of class {wrong!r} as in {card.name}, got "
            f"{found.get(wrong, 0)}: {hint}."
        )
    if fingerprint(data, target) == card.fingerprint or _is_close(card, data, target):
        return
    raise CorruptDatasetError(
        f"{file} has the size of {card.name} but other values or another order of rows (its content does not "
        f"match the pinned SHA-256): {hint}."
    )


def _is_close(card: Card, data: Array, target: NDArray[np.str_]) -> bool:
    if not card.sketch or hash_labels(target) != card.labels or not np.isfinite(data).all():
        return False
    return bool(np.allclose(compute_sketch(data), card.sketch, rtol=0.0, atol=TOLERANCE))
