"""Small files that take much to read, of every kind that a page may be sent: by bytes, by objects, by what they claim."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scoring.domain.choosing.inspect_logs import ZSTANDARD
from tests.sheets import xlsx

MB = 2**20


def zip_of(name: str, block: bytes, times: int, kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A member that unpacks to many times the same."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as made, made.open(name, "w", force_zip64=True) as member:
        for _ in range(times):
            member.write(block)
    return out.getvalue()


def log_of_brackets() -> bytes:
    """A log of Inspect of 100 kB whose header has 100 MB."""
    return zip_of("header.json", b"[" + b"[]," * (MB // 3), 100)


def log_of_one_sample() -> bytes:
    sample = b'{"metadata": {"order": "A"}, "output": {"choices": [' + b"[]," * (MB // 3)
    return zip_of("samples/1.json", sample, 90)


def log_in_zstandard() -> bytes:
    """As Inspect writes it, which Python does not."""
    data = b"[" + b"[]," * (30 * MB) + b"[]]"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("header.json", pa.Codec("zstd").compress(data, asbytes=True))
        (info,) = made.infolist()
        info.compress_type, info.file_size, info.CRC = ZSTANDARD, len(data), zlib.crc32(data)
    return out.getvalue()


def zip_of_many_names() -> bytes:
    """Names alone, which take twenty times their bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("a", b"")
    whole = out.getvalue()
    start, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    entry, n = whole[start:end], 60_000
    central = entry * n
    last = struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, n, n, len(central), start, 0)
    return whole[:start] + central + last


def arrays_that_claim_much() -> bytes:
    """As published results, of 10^12 numbers; and what unpickles."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    claimed = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header + b"\n"
    pickled = io.BytesIO()
    np.save(pickled, np.array([object], dtype=object), allow_pickle=True)
    out = io.BytesIO()
    folder = "model_results/org--model/human_abstracts"
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(f"{folder}/PPL_A_and_B.npy", claimed)
        made.writestr(f"{folder}/labels.npy", pickled.getvalue())
    return out.getvalue()


def parquet_of_one_number() -> bytes:
    """A file of 164 kB: 150 columns of one value."""
    table = pa.table({f"c{n}": pa.array(np.full(199_999, 1.5)) for n in range(150)})
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def parquet_of_one_text() -> bytes:
    """One text of 100 kB for 19,000 rows."""
    text = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(19_000, np.int32)), pa.array(["x" * 100_000])
    )
    table = pa.table({"markup": text, "question": text, "answer": text, "abstract": text})
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return out.getvalue()


def with_cells(data: bytes, place: str, old: bytes, new: bytes) -> bytes:
    """A spreadsheet, something of whose content is something else."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(out, "w", 8) as made:
        for name in given.namelist():
            content = given.read(name)
            made.writestr(name, content.replace(old, new) if name == place else content)
    return out.getvalue()


def sheet_of_two_cells() -> bytes:
    """The first, and the last that a sheet can have."""
    data = xlsx({"A": [("markup",), ("a",)]})
    return with_cells(data, "xl/worksheets/sheet1.xml", b'"A2"', b'"XFD1048576"')


def sheet_of_one_text() -> bytes:
    """One text of 30 kB for 200,000 rows."""
    rows = b"".join(
        b'<row r="%d"><c r="A%d" t="s"><v>1</v></c></row>' % (n, n) for n in range(2, 200_000)
    )
    data = xlsx({"A": [("markup",), ("x" * 30_000,)]})
    place = "xl/worksheets/sheet1.xml"
    return with_cells(data, place, b"</row></sheetData>", b"</row>" + rows + b"</sheetData>")


UNPICKLED = b"/tmp/unpickled"


def pickle() -> bytes:
    """A file that makes this file where it is loaded; a test puts a place of its own there."""
    return b"cos\nsystem\n(S'touch %s'\ntR." % UNPICKLED


PO_HEADER = 'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural={};\\n"\n'
XML = "<!DOCTYPE a [<!ENTITY e0 'ha'>{}]><a>&e30;</a>"
BOMBS: Mapping[str, Callable[[], bytes]] = {
    "brackets within brackets": lambda: b"[" * 900_000,
    "objects within objects": lambda: b'{"a":' * 200_000,
    "an object of brackets": lambda: b'{"samples": [' + b"[]," * 3_000_000 + b"[]]}",
    "a study of brackets": lambda: b'{"format": [' + b"{}," * 5_000_000 + b"{}]}",
    "lines of brackets": lambda: (b'{"item": ' + b"[" * 900 + b"\n") * 10_000,
    "lines with names of their own": lambda: b"".join(
        json.dumps({f"c{n}-{k}": "" for k in range(100)}).encode() + b"\n" for n in range(4_000)
    ),
    "500,000 columns": lambda: b",".join(b"c%d" % n for n in range(500_000)) + b"\n1\n",
    "one long name": lambda: b"x" * 4_000_000 + b"\n1\n",
    "199,000 wrong rows": lambda: b"key,markup,question,answer,abstract\n" + b"#,,,,\n" * 199_000,
    "199,000 rows": lambda: (
        b"markup,question,answer,abstract\n" + b"a [[b | c]],Q?,A,a\n" * 199_000
    ),
    "numbers of many digits": lambda: (
        b"question,answer,made_from,markup\n" + b"Q?,A," + b"1" * 9_000 + b",[1"
    ),
    "marks that are not closed": lambda: b'a,b\n"' + b'""' * 2_000_000,
    "lines alone": lambda: b"a\n" + b"\n" * 4_000_000,
    "a plural that is computed": lambda: (
        (
            PO_HEADER.format("(" * 100_000 + "n" + ")" * 100_000) + 'msgid "a"\nmsgid_plural "b"\n'
        ).encode()
        + b"".join(b'msgstr[%d] "x"\n' % n for n in range(40_000))
    ),
    "many messages": lambda: b"".join(b'msgid "%d"\nmsgstr "x"\n' % n for n in range(40_000)),
    "entities of entities": lambda: XML.format(
        "".join(f"<!ENTITY e{n} '&e{n - 1};&e{n - 1};'>" for n in range(1, 31))
    ).encode(),
    "a log of brackets": log_of_brackets,
    "a log of one sample": log_of_one_sample,
    "a log in Zstandard": log_in_zstandard,
    "a ZIP of zeros": lambda: zip_of("testcases/a.csv", bytes(MB), 1100),
    "a ZIP of many names": zip_of_many_names,
    "a ZIP with a large dictionary": lambda: zip_of("a", bytes(MB), 100, zipfile.ZIP_LZMA),
    "a ZIP of one line": lambda: zip_of("testcases/BrainBench_Human_v0.1.csv", b"a," * MB, 40),
    "arrays that claim much": arrays_that_claim_much,
    "a Parquet file of one number": parquet_of_one_number,
    "a Parquet file of one text": parquet_of_one_text,
    "a sheet of two cells": sheet_of_two_cells,
    "a sheet of one text": sheet_of_one_text,
    "what is packed by gzip": lambda: b"\x1f\x8b\x08" + bytes(1000),
    "a pickle": pickle,
}


@cache
def bomb(name: str) -> bytes:
    return BOMBS[name]()
