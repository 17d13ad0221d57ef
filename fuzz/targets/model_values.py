"""Model files with correct structure and hostile values: JSON, arrays, members and zip bombs."""

from __future__ import annotations

import numpy as np

from fuzz.targets.model_bytes import CHECK_MODEL, choose_model
from fuzz.targets.rows import choose

__all__ = ["write_model_values"]

UNPACK = """
import io
import json
import zipfile

with zipfile.ZipFile("model.ravine") as archive:
    members = {{name: archive.read(name) for name in archive.namelist()}}
document = members["model.json"].rstrip()[:-1]
"""
PACK = """
with zipfile.ZipFile("model.ravine", "w", zipfile.ZIP_DEFLATED) as archive:
    for name, content in members.items():
        archive.writestr(name, content)
"""
CHANGE_DOCUMENT = """
def list_places(value, place=()):
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from list_places(item, (*place, key))


document = json.loads(members["model.json"])
for share in {shares}:
    places = [place for place in list_places(document) if place]
    place = places[int(share * len(places))]
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = {value}
members["model.json"] = json.dumps(document).encode()
"""
CHANGE_ARRAY = """
names = sorted(name for name in members if name.endswith(".npy"))
name = names[int({member} * len(names))]
array = np.load(io.BytesIO(members[name]))
array = array if array.size else np.zeros((1, *array.shape[1:]))
with np.errstate(all="ignore"):
    {change}
stream = io.BytesIO()
np.lib.format.write_array(stream, np.asarray(array), version=(1, 0))
members[name] = stream.getvalue()
"""
VALUES = ["None", "True", "-1", "0", "10**20", "10**400", "0.5", "-1e308", "1e-320", "2**62", "'x'", "''", "[]", "{}",
          "[[]]", "'\\x1b[31m'", "'x' * 100_000", "[0] * 1000", "{'array': 'labels'}", "{'tuple': [1]}", "'nan'",
          "{'number': 'inf'}", "'NaN'", "'Infinity'"]  # fmt: skip
ARRAY_CHANGES = [
    "array = array.astype(float); array.flat[int({place} * array.size)] = {number}",
    "array.flat[int({place} * array.size)] = {integer}",
    "array[...] = {integer}",
    "array = array[::-1]",
    "array = array[: len(array) // 2]",
    "array = np.concatenate([array, array])",
    "array = array * {number}",
    "array = array.astype(np.float32)",
    "array = array.astype('>f8')",
    "array = array.ravel()",
    "array = array[..., None]",
    "array = rng.permutation(array.ravel()).reshape(array.shape)",
    "array = np.asfortranarray(np.atleast_2d(array))",
    "array = np.full(array.shape, 'x')",
]
NUMBERS = ["np.nan", "np.inf", "-np.inf", "-1.0", "0.0", "1e308", "-1e308", "5e-324", "2.0", "1e-300"]
INTEGERS = ["-1", "0", "1", "2", "-2", "99", "127"]
BOMBS = [
    'members["model.json"] = b"[" * 100_000',
    'members["model.json"] = document + b", \\"more\\": [" + b"0," * 30_000_000 + b"0]}}"',
    'members["model.json"] = document + b", \\"more\\": " + b"9" * 60_000_000 + b"}}"',
    'members["model.json"] = document + b", \\"more\\": [" + b"{{}}," * 15_000_000 + b"0]}}"',
    'members["model.json"] = members["model.json"] + b" " * (1 << 26)',
    'members["i8.npy"] = bytes(300_000_000)',
    'members |= {{f"{{k}}.npy": b"" for k in range(300)}}',
    'members["../outside.npy"] = members["model.json"]',
    'members["evil.py"] = b"raise SystemExit"',
    'members["model.json"] = members["model.json"].replace(b"1", b"1e999")',
    'members["model.json"] = members["model.json"].replace(b"{{", b\'{{"kind": "os.system",\')',
    "members.pop(sorted(members)[int({place} * len(members))])",
]


def write_model_values(rng: np.random.Generator) -> str:
    """Write a script that changes values of a model file and reads it."""
    kind = rng.random()
    numbers = {"place": f"{rng.random():.6f}", "number": choose(rng, NUMBERS), "integer": choose(rng, INTEGERS)}
    if kind < 0.45:
        shares = [round(float(share), 6) for share in rng.random(int(rng.choice([1, 1, 1, 3])))]
        change = CHANGE_DOCUMENT.format(shares=shares, value=choose(rng, VALUES))
    elif kind < 0.97:
        inner = choose(rng, ARRAY_CHANGES).format(**numbers)
        change = CHANGE_ARRAY.format(member=f"{rng.random():.6f}", change=inner)
    else:
        change = choose(rng, BOMBS).format(**numbers)
    return choose_model(rng) + UNPACK.format() + change + PACK + CHECK_MODEL
