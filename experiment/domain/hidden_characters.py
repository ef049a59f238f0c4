"""Characters that no reader sees, or that change how others are seen: an abstract has none of them. Pure."""

import re
import unicodedata
from dataclasses import dataclass

# Controls but tab and line break, soft hyphen, formats (zero-width, direction), surrogates, private use, non-characters
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\U000e0000-\U0010ffff]"
)
_CONTEXT = 20


@dataclass(frozen=True, slots=True)
class Hidden:
    """A hidden character: its offset, what Unicode calls it, and the characters before it."""

    offset: int
    name: str
    before: str


def first_hidden(text: str) -> Hidden | None:
    """The first hidden character of a text.

    >>> first_hidden("Rats\\u202e slept")
    Hidden(offset=4, name='U+202E RIGHT-TO-LEFT OVERRIDE', before='Rats')
    >>> first_hidden("Müller: 10⁻³ mm")
    """
    found = _HIDDEN.search(text)
    if found is None:
        return None
    at = found.start()
    name = unicodedata.name(found[0], "control" if ord(found[0]) < 0xA0 else "without a name")
    return Hidden(at, f"U+{ord(found[0]):04X} {name}", text[max(0, at - _CONTEXT) : at])


def visible(text: str) -> str:
    r"""The text with its hidden characters spelled out, for a message.

    >>> visible("a\x00b")
    'a\\u0000b'
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
