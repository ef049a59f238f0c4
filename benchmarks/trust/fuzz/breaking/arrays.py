"""A NumPy file that holds something else, or says so."""

import io
import random
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.trust.fuzz.breaking.content import broken
from benchmarks.trust.fuzz.breaking.values import hostile

SHAPES = (
    b"(10000000000, 2)",
    b"(-1,)",
    b"(2,)",
    b"()",
    b"(3, 2, 1)",
    b"(1e3,)",
    b"(True,)",
    b"__import__('os')",
    b"(0,)",
)
DTYPES = (
    b"'|O'",
    b"'<f2'",
    b"'<c16'",
    b"'|S8'",
    b"'<U9'",
    b"'<M8[D]'",
    b"'>f8'",
    b"'<i8'",
    b"[('a', '<f8')]",
    b"'<f99'",
    b"'|V8'",
)
VALUES = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324, 2.0**63, 0.5, 1e6)


def broken_array(rng: random.Random, data: bytes) -> bytes:
    match rng.randrange(5):
        case 0:
            return broken(rng, data)
        case 1:
            return _other_header(rng, data)
    values = np.load(io.BytesIO(data), allow_pickle=False)
    return as_npy(_changed(rng, values))


def as_npy(values: npt.NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


def _other_header(rng: random.Random, data: bytes) -> bytes:
    """The beginning of the file is a dictionary in a text of a length of its own."""
    length = int.from_bytes(data[8:10], "little")
    header, rest = data[10 : 10 + length], data[10 + length :]
    what, others = rng.choice(((b"'shape': ", SHAPES), (b"'descr': ", DTYPES)))
    start = header.find(what) + len(what)
    end = header.find(b", '" if what.startswith(b"'descr") else b"), ", start) + (
        what == b"'shape': "
    )
    header = header[:start] + rng.choice(others) + header[end:]
    header = header.rstrip() + b"\n"
    return data[:8] + len(header).to_bytes(2, "little") + header + rest


def _changed(rng: random.Random, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    match rng.randrange(7):
        case 0:
            return (
                values.astype(
                    rng.choice(("f4", "i1", "U8", "O", "c16", "?", "f2")), casting="unsafe"
                )
                if values.dtype.kind in "fiu"
                else values.astype("O")
            )
        case 1:
            return values[: rng.randint(0, len(values))]
        case 2:
            return np.concatenate([values, values])
        case 3:
            return values.reshape(-1) if values.ndim > 1 else values[:, None]
        case 4:
            return np.asarray(values[0]) if len(values) else values
    changed = values.copy()
    if changed.dtype.kind == "U":
        changed = changed.astype("U80")
        changed.flat[rng.randrange(changed.size)] = hostile(rng)[:80]
    elif changed.dtype.kind == "f":
        changed.flat[rng.randrange(changed.size)] = rng.choice(VALUES)
    else:
        changed.flat[rng.randrange(changed.size)] = rng.choice((-1, 0, 1, 2, 2**31, 2**62, 10**6))
    return changed
