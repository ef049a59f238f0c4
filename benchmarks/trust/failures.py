"""Tracebacks and 500s in the log of a site: a fault that is met as it should be leaves none."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

SHOWN = 5
# What passes is answered with 503 and asked again; where it is not, the request's own line says so. A driver's error alone is
# the cause of one of Django's, which decides
PASSING = r"^(sqlite3|psycopg(\.errors)?)\.|^django\.db\.utils\.(Operational|Interface)Error"
DISK_FULL = (r"No space left on device",)
# The client's pool takes a connection from its list, and makes one when that fails
REDIS_GONE = (
    r"^(redis|kombu)\.exceptions\.|^Connection(Refused|Reset)Error|^IndexError: pop from empty list",
)
STORAGE_GONE = (r"NotADirectoryError|StorageGoneError",)
# A record's traceback stands on indented lines; that of a process that ended is as Python writes it
TRACEBACK = re.compile(
    r"^(?P<indent> {4}|)Traceback \(most recent call last\):\n(?:(?P=indent)[ \t]+.*\n|\s*\n)*(?P<error>.*)",
    re.MULTILINE,
)
ERROR = re.compile(r"[A-Za-z_][\w.]*(:|$)")
INTERNAL = re.compile(r"Internal Server Error: .*")


def failures(log: Path, explained: Sequence[str] = ()) -> list[str]:
    """What failed and how often; without errors in which one of the patterns, which name what the fault explains, is found."""
    if not log.exists():
        return []
    patterns = (PASSING, *explained)
    counts = Counter(
        error
        for error in _errors(log.read_text(errors="replace"))
        if not any(re.search(pattern, error, re.IGNORECASE) for pattern in patterns)
    )
    return [f"in the log, {n} times: {error[:300]}" for error, n in counts.most_common(SHOWN)]


def _errors(log: str) -> Iterator[str]:
    for found in TRACEBACK.finditer(log):
        error = found["error"].strip()
        # Else another process wrote into it, or the log breaks off there: a failed request has its own line besides
        if ERROR.match(error):
            yield error
    for found in INTERNAL.finditer(log):
        yield found[0]
