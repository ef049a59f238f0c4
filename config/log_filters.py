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
    """Drops the traceback of a request that was refused: the sentence says what was wrong with it."""

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= getattr(record, "status_code", 0) < 500:
            record.exc_info = None
        return True


def hide_query(text: str) -> str:
    """Return `text` with each `?name=value...` cut down to `?...`."""
    return _QUERY.sub("?...", text)
