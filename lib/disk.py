"""Failures of the system or of SQLite to read or write, as a sentence: which file, why, and what to do about it."""

import errno
import os

from django.db import DatabaseError, connection

_FULL = "free some space there"
_RIGHTS = "give the user of this command permission to write there"
_BLOCKED = "move away the file in its place"
ADVICE = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f)",
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: "name a folder that can be written to",
    errno.EMFILE: "raise the limit on open files (ulimit -n)",
    errno.ENFILE: "raise the limit on open files (ulimit -n)",
    errno.ENOTDIR: _BLOCKED,
    errno.EEXIST: _BLOCKED,
    errno.EISDIR: _BLOCKED,
}
CHECK = "check the disk"
# SQLite's primary result codes: https://sqlite.org/rescode.html
READONLY, IOERR, FULL, CANTOPEN = 8, 10, 13, 14
DATABASE_ADVICE = {READONLY: _RIGHTS, IOERR: "check the disk and its free space", FULL: _FULL, CANTOPEN: _RIGHTS}  # fmt: skip


def reason(error: OSError) -> str:
    """Why, and what to do.

    >>> reason(OSError(errno.ENOSPC, "No space left on device"))
    'no space left on device (free some space there)'
    """
    said = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    return f"{said[:1].lower()}{said[1:]} ({ADVICE.get(error.errno or 0, CHECK)})"


def sentence(error: OSError | DatabaseError) -> str:
    """Without the full stop at its end, so that a caller can go on; "" for an error of the database that is of no disk.

    >>> sentence(OSError(errno.ENOSPC, "No space left on device", "/srv/part-00000.parquet"))
    '/srv/part-00000.parquet cannot be used: no space left on device (free some space there)'
    """
    if isinstance(error, DatabaseError):
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        if code not in DATABASE_ADVICE:
            return ""
        path = connection.settings_dict["NAME"]
        return f"The database {path} cannot be used: {error} ({DATABASE_ADVICE[code]})"
    # Of a file that is moved, the place that it shall have; some have a number and no name
    name = error.filename2 or error.filename
    what = os.fsdecode(name) if isinstance(name, str | bytes) else "A file"
    return f"{what} cannot be used: {reason(error)}"
