"""Rows for estimators: shapes, ties, outliers, scales from 1e-320 to 1e308, types and containers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["RowsScript", "choose", "write_rows"]

BASES = {
    "X = rng.normal(size=({n}, {d}))\nX[: {n} // 3] += 6.0": 6.0,
    "X = rng.normal(size=({n}, {d}))": 2.0,
    "X = rng.integers(0, {k}, size=({n}, {d})).astype(float)": 2.0,
    "X = rng.standard_cauchy(size=({n}, {d}))": 1.0,
    "X = rng.uniform(size=({n}, {d})) * (rng.uniform(size=({n}, {d})) < 0.2)": 1.0,
    "X = np.c_[rng.integers(0, {k}, {n}), rng.normal(size=({n}, {d}))]": 1.0,
    # A shell around a ball, and indicators of a category.
    "X = rng.normal(size=({n}, {d}))\nX[{n} // 4 :] *= 9.0 / np.linalg.norm(X[{n} // 4 :], axis=1, keepdims=True)\n"
    "X += 0.3 * rng.normal(size=X.shape)": 1.5,
    "X = np.c_[np.eye({k} + 1)[rng.integers(0, {k} + 1, {n})], rng.normal(size=({n}, {d}))]": 1.0,
    "X = np.full(({n}, {d}), {value})": 0.4,
    "X = np.outer(np.arange({n}), np.ones({d}))": 0.5,
}
CHANGES = [
    "X = X[rng.integers(0, len(X), len(X))]",
    "X = X.round({digits})",
    "X[:, 0] = {value}",
    "X[:, -1] = X[:, 0]",
    "X = X * 10.0 ** np.linspace(-{power}, {power}, X.shape[1])",
    "X = X + {shift}",
    "X[0] = {outlier}",
    "X[-1, 0] = {outlier}",
    "X[: len(X) // 2] = X[0]",
    "X = -np.abs(X)",
]
SCALES = [1e-320, 1e-310, 1e-308, 1e-200, 1e-155, 1e-150, 1e-100, 1e-20, 1e20, 1e100, 1e150, 1e153, 1e154, 1e155,
          1e160, 1e200, 1e300, 1e306, 1e307, 1e308]  # fmt: skip
VALUES = [0.0, -0.0, 1.0, -3.5, 5e-324, 1e-300, 1e300, 0.1]
# Types other than float64, each with a factor that brings the rows into its range.
TYPES = {
    "np.float32": 1, "np.float16": 1, "'>f8'": 1, "np.int8": 9, "np.uint8": 9, "np.int16": 99, "np.int64": 99,
    "bool": 1, "np.longdouble": 1, "object": 1, "complex": 1, "str": 1,
}  # fmt: skip
ARRAYS = [
    "np.asfortranarray(X)", "X[:, ::-1]", "np.repeat(X, 2, axis=0)[::2]", "X.tolist()", "np.ma.masked_invalid(X)",
    "np.lib.stride_tricks.as_strided(X, X.shape, X.strides, writeable=False)",
]  # fmt: skip
SPARSE = [f"sparse.{kind}_{suffix}(X)" for kind in ("csr", "csc", "coo", "lil", "dok", "bsr")
          for suffix in ("array", "matrix")]  # fmt: skip
FRAMES = [
    "pandas.DataFrame(X)",
    "pandas.DataFrame(X, columns=[f'f{j}' for j in range(X.shape[1])])",
    "pandas.DataFrame(X, index=rng.permutation(len(X)), columns=['a'] * X.shape[1])",
    "polars.DataFrame(X, schema=[f'f{j}' for j in range(X.shape[1])])",
]
BLOCKS = ["RowBlocks([X])", "RowBlocks([X[: len(X) // 2], X[len(X) // 2 :]])", "RowBlocks([X], state='float32')"]
# Numbers that are listed more than once are more likely.
ROW_COUNTS = [1, 2, 3, 4, 5, 8, 13, 13, 30, 30, 30, 30, 60, 60, 60, 100, 200, 300, 600]
FEATURE_COUNTS = [1, 2, 2, 2, 3, 3, 5, 10, 20]
SHAPES = ["X.ravel()", "X[:0]", "X[:, :0]", "X[None]", "X[0, 0]", "None", "'rows'", "{'a': 1}"]
IMPORTS = {
    "sparse.": "from scipy import sparse", "pandas.": "import pandas", "polars.": "import polars",
    "RowBlocks": "from ravine import RowBlocks",
}  # fmt: skip


@dataclass(frozen=True)
class RowsScript:
    """Part of a script that makes rows X.

    Attributes
    ----------
    text : str
        The lines, with their imports.
    n_rows : int
        Number of rows; 0 if X is not a table.
    """

    text: str
    n_rows: int


def choose(rng: np.random.Generator, values: list[str]) -> str:
    """Choose a text at random."""
    return values[int(rng.integers(len(values)))]


def write_rows(rng: np.random.Generator, *, plain: bool = False) -> RowsScript:
    """Write the lines that make rows X: a plain array of float64, or any type and container."""
    n, d = int(rng.choice(ROW_COUNTS)), int(rng.choice(FEATURE_COUNTS))
    weights = np.array(list(BASES.values()))
    base = list(BASES)[int(rng.choice(len(BASES), p=weights / weights.sum()))]
    lines = [_fill(base, rng, n=n, d=d)]
    lines += [_fill(choose(rng, CHANGES), rng) for _ in range(int(rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])))]
    if rng.random() < 0.4:
        lines.append(f"X = X * {SCALES[int(rng.integers(len(SCALES)))]!r}")
    if rng.random() < 0.05:
        lines.append(f"X[{int(rng.integers(n))}, 0] = {choose(rng, ['np.nan', 'np.inf', '-np.inf'])}")
    container, n_rows = ([], n) if plain else _choose_container(rng, n)
    lines += container
    body = "\n".join(lines).splitlines()
    indented = "\n".join(f"    {line}" for line in body)
    imports = [text for word, text in IMPORTS.items() if any(word in line for line in container)]
    head = "\n".join(["import numpy as np", *imports, "", f"rng = np.random.default_rng({int(rng.integers(10**6))})"])
    return RowsScript(f'{head}\nwith np.errstate(all="ignore"):\n{indented}\n', n_rows)


def _fill(text: str, rng: np.random.Generator, **known: int) -> str:
    return text.format(
        **known,
        k=int(rng.integers(1, 5)),
        value=VALUES[int(rng.integers(len(VALUES)))],
        digits=int(rng.integers(-1, 3)),
        power=choose(rng, ["3", "8", "100", "150", "300"]),
        shift=choose(rng, ["1e3", "1e8", "1e12", "1e16", "-1e300"]),
        outlier=choose(rng, ["1e3", "1e8", "-1e100", "1e150", "1e300", "-1.7e308"]),
    )


def _choose_container(rng: np.random.Generator, n: int) -> tuple[list[str], int]:
    """Return lines that change the type and the container of X, and the number of its rows."""
    kind = rng.random()
    if kind < 0.45:
        return [], n
    if kind < 0.58:
        name = choose(rng, list(TYPES))
        # Types that are not numbers are made of small integers, which all of them can hold.
        return [f"X = np.clip(np.nan_to_num(X * {TYPES[name]}.0), -100, 100).astype({name})"], n
    if kind < 0.68:
        return [f"X = {choose(rng, ARRAYS)}"], n
    if kind < 0.82:
        return [f"X = {choose(rng, SPARSE)}"], n
    if kind < 0.9:
        return [f"X = {choose(rng, FRAMES)}"], n
    if kind < 0.97:
        return [f"X = {choose(rng, BLOCKS)}"], n
    return [f"X = {choose(rng, SHAPES)}"], 0
