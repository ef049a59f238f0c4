"""What must never reach a log: an address' query string carries participants' external ids."""

import logging
import re

_QUERY = re.compile(r"\?[^\s\"']+")


class HideQueryStrings(logging.Filter):
    """Replaces everything after a question mark by dots, in the message and in its arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg = hide_query(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(
                hide_query(value) if isinstance(value, str) else value for value in record.args
            )
        return True


class ShortenRefusals(logging.Filter):
    """Drops the traceback of a refused request, whose sentence says what was wrong, and forgotten fields altogether."""

    def filter(self, record: logging.LogRecord) -> bool:
        status = getattr(record, "status_code", 0)
        if 400 <= status < 500:
            record.exc_info = None
        # 422: a participant left a field empty, which no operator needs to know
        return status != 422


def hide_query(text: str) -> str:
    """Return `text` with each `?name=value...` cut down to `?...`."""
    return _QUERY.sub("?...", text)
