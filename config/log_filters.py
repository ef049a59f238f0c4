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


def hide_query(text: str) -> str:
    """Return `text` with each `?name=value...` cut down to `?...`."""
    return _QUERY.sub("?...", text)
