"""Members of model files, to be changed and packed again."""

import io
import json
import zipfile

import numpy as np


def unpack(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def make_npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), **options)
    return stream.getvalue()


def read_document(members):
    return json.loads(members["model.json"])


def edit_document(members, change):
    """Return the members with a document that a function changed in place."""
    document = read_document(members)
    change(document)
    return {**members, "model.json": json.dumps(document).encode()}


def edit_field(members, kind, field, change):
    """Return the members with one field of the last object of a class replaced; arrays are passed as arrays."""
    document = read_document(members)
    objects = document["objects"]
    arrays = _split_arrays(members, objects)
    state = [one["state"] for one in objects if one.get("class") == kind and field in one["state"]][-1]
    number = state[field].get("object") if isinstance(state[field], dict) else None
    if number in arrays:
        changed = np.ascontiguousarray(change(arrays[number].copy()))
        arrays[number] = changed
        objects[number] = {"array": changed.dtype.str[1:], "shape": list(changed.shape)}
    else:
        state[field] = change(state[field])
    pools = {}
    for array in (arrays[k] for k in sorted(arrays)):
        pools.setdefault(array.dtype.str[1:], []).append(array.ravel())
    packed = {f"{name}.npy": make_npy(np.concatenate(pool), version=(1, 0)) for name, pool in pools.items()}
    return {"model.json": json.dumps(document).encode(), **packed}


def _split_arrays(members, objects):
    """Return the arrays of a file by the numbers of their objects."""
    pools = {name.removesuffix(".npy"): np.load(io.BytesIO(members[name])) for name in members if "npy" in name}
    places, arrays = dict.fromkeys(pools, 0), {}
    for k, one in enumerate(objects):
        if "array" in one:
            start = places[one["array"]]
            places[one["array"]] = end = start + int(np.prod(one["shape"]))
            arrays[k] = pools[one["array"]][start:end].reshape(one["shape"])
    return arrays
