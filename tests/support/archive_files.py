"""Files in the formats of the archives: R's save files, zip archives; and a local server."""

import gzip
import io
import struct
import threading
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


def zip_files(files, folder=""):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(folder + name), content)
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------------------ R's save()


def _word(value):
    return struct.pack(">i", value)


def _chars(text):
    return _word(9 | 0x40000) + (_word(-1) if text is None else _word(len(text.encode())) + text.encode())


def _symbol(text):
    return _word(1) + _chars(text)


def _pairs(items):
    return b"".join(_word(2 | 0x400) + _symbol(name) + value for name, value in items) + _word(254)


def r_vector(values, **attributes):
    """Return an R vector as bytes: floats, ints, strings, or a list of vectors given as bytes."""
    flags = 0x200 if attributes else 0
    if isinstance(values, list) and values and isinstance(values[0], bytes):
        body = _word(19 | flags) + _word(len(values)) + b"".join(values)
    elif isinstance(values, list) and values and isinstance(values[0], str):
        body = _word(16 | flags) + _word(len(values)) + b"".join(map(_chars, values))
    else:
        array = np.asarray(values)
        kind, dtype = (14, ">f8") if array.dtype.kind == "f" else (13, ">i4")
        body = _word(kind | flags) + _word(array.size) + array.ravel(order="F").astype(dtype).tobytes()
    return body + (_pairs(attributes.items()) if attributes else b"")


def r_matrix(values):
    return r_vector(np.asarray(values), dim=r_vector(list(np.shape(values))))


def r_list(**elements):
    return r_vector(list(elements.values()), names=r_vector(list(elements)))


def r_save(version=2, compress=gzip.compress, **objects):
    header = f"RDX{version}\nX\n".encode() + _word(version) + _word(0x030400) + _word(0x020300)
    if version == 3:
        header += _word(5) + b"UTF-8"
    return compress(header + _pairs(objects.items()))


# --------------------------------------------------------------------------------------------------------- server


@contextmanager
def serve_files(files):
    """Serve ``files[path]``: bytes, or a status; ("cut", bytes) ends half-way."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            answer = files.get(self.path.lstrip("/"), 404)
            if isinstance(answer, int):
                self.send_error(answer)
                return
            body = answer[1] if isinstance(answer, tuple) else answer
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if isinstance(answer, tuple) else body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
