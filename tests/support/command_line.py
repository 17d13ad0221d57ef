"""Tables for the tests of the command, and functions that run it."""

import csv
import io
import os

import numpy as np
from click.testing import CliRunner
from sklearn.datasets import make_blobs

from ravine.cli.app import app

CENTRES = 8.0 * np.eye(3, 4)


def blobs(n=60, seed=0):
    return make_blobs([n, n, n], centers=CENTRES, random_state=seed)


def table(names=("a", "b", "c", "d"), extra=None, n=60):
    """Return a CSV of three blobs, and the blob of each row."""
    X, y = blobs(n)
    columns = dict(zip(names, X.T.tolist(), strict=True)) | ({} if extra is None else extra(y))
    stream = io.StringIO()
    csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return stream.getvalue(), y


def write(text, name="data.csv"):
    with open(name, "wb") as stream:
        stream.write(text if isinstance(text, bytes) else text.encode())
    return name


def ravine(*arguments, stdin=None, code=0, figures=False):
    if arguments[0] in ("cluster", "classify") and not figures:
        arguments = (*arguments, "--no-figures")
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def column(text, name):
    return [row[name] for row in csv.DictReader(io.StringIO(text))]


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def leftovers():
    return sorted(name for name in os.listdir() if name != "data.csv")


def figures_in(folder):
    return os.listdir(f"{folder}/figures") if os.path.isdir(f"{folder}/figures") else []
