"""Passing failures: the database, its lock, the disk or the storage of files failed, and not the site's code. Pages ask again."""

import errno
import sys

from django.db import DatabaseError, IntegrityError, InterfaceError, InternalError, OperationalError
from django.db.utils import DataError, NotSupportedError, ProgrammingError

from lib.storage import StorageGoneError

FAILED_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE})
OF_CODE = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
# SQLITE_ERROR: a missing table or column, or SQL that it cannot read, are operational too, and no waiting mends them
SQLITE_MISTAKE = 1
# What Django calls internal, with all else of their classes: a limit of idle time or of a transaction's, a server that only reads
PASSING_INTERNAL = frozenset({"25P03", "25P04", "25006"})
LOCK_NOT_AVAILABLE = "55P03"


def is_passing(error: BaseException | None) -> bool:
    """True if the same request can succeed later, with nothing changed in the code or by the sender."""
    # Loaded only where files are in a bucket; some of its errors are of the system's kind too, without a number
    bucket = sys.modules.get("botocore.exceptions")
    if bucket and isinstance(error, bucket.ConnectionError | bucket.HTTPClientError):
        return True
    if isinstance(error, OSError):
        return isinstance(error, StorageGoneError) or error.errno in FAILED_DISK
    if isinstance(error, InterfaceError):  # the connection is closed
        return True
    if not isinstance(error, DatabaseError) or isinstance(error, OF_CODE):
        return False
    cause = error.__cause__
    if isinstance(error, InternalError):
        return getattr(cause, "sqlstate", None) in PASSING_INTERNAL
    is_mistake = getattr(cause, "sqlite_errorcode", None) == SQLITE_MISTAKE
    return isinstance(error, OperationalError) and not is_mistake


def is_lock_elsewhere(error: BaseException) -> bool:
    """True if somebody else's lock on rows was waited for in vain; SQLite's lock is on everything."""
    return getattr(error.__cause__, "sqlstate", None) == LOCK_NOT_AVAILABLE
