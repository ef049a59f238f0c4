"""Logs in Inspect's form: a ZIP whose members are compressed with Zstandard."""

import io
import json
import zipfile
import zlib
from typing import Any

import pyarrow as pa

from scoring.domain.choosing.inspect_logs import ZSTANDARD


def zipped(members: dict[str, Any], *, zstandard: bool = False) -> bytes:
    """A ZIP; Python's own cannot write the compression that Inspect's logs have, so that the list of contents is changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, value in members.items():
            data = json.dumps(value).encode()
            if not zstandard:
                made.writestr(name, data)
                continue
            packed = pa.Codec("zstd").compress(data, asbytes=True)
            made.writestr(name, packed, zipfile.ZIP_STORED)
            info = made.infolist()[-1]
            info.compress_type, info.file_size, info.CRC = ZSTANDARD, len(data), zlib.crc32(data)
    return file.getvalue()
