"""Pages kept in memory: what all participants of a study see alike is rendered once by each process.

A page is rendered with marks in the place of what is one participant's own; each time, only these are filled in.
"""

import re
import secrets
import threading
from collections.abc import Callable, Hashable, Mapping

from django.utils.html import conditional_escape

MOST_KEPT = 512
# Authors of a study's texts do not know it
_SECRET = secrets.token_hex(8)
MARK = f"\ue000{_SECRET}{{}}\ue001"
MARKED = re.compile(f"\ue000{_SECRET}([^\ue000\ue001]*)\ue001")

_kept: dict[Hashable, list[str]] = {}
_lock = threading.Lock()


def fill(key: Hashable, render: Callable[[Mapping[str, str]], str], own: Mapping[str, str]) -> str:
    """The text that `render` makes of `own`, where for the same `key` everything else is the same."""
    parts = _kept.get(key)
    if parts is None:
        parts = MARKED.split(render({name: MARK.format(name) for name in own}))
        with _lock:
            if len(_kept) >= MOST_KEPT:
                _kept.clear()
            _kept[key] = parts
    return "".join(conditional_escape(own[part]) if n % 2 else part for n, part in enumerate(parts))


def forget() -> None:
    """Keep nothing; for tests, which use the ids of earlier ones again."""
    _kept.clear()
