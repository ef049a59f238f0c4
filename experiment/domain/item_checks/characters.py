"""Characters that are not seen, or not what they seem, and texts too long to be one abstract, or for a model of 1,024 tokens. Pure.

Characters are all errors: participants would not see what reviewers read, a database refuses some of them, and models are given
tokens that no abstract has.
"""

import math
import re
import unicodedata
from collections.abc import Iterator

from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.markup import MAX_CHARACTERS, Abstract, place

# Findings of one kind that are shown: a text full of them is seen as such
MAX_SHOWN = 5
# Joiners that Indic, Persian and emoji spelling needs are zero-width too, as are the signs that choose between two forms of a
# character; English abstracts have none.
_ZERO_WIDTH = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200d\u2060-\u2065\u206a-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_KINDS = {
    "control_character": (
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]",
        "Control characters are invisible or shown as a box, and some databases refuse them.",
    ),
    "bidi_control": (
        f"[{_BIDI}]",
        "People would see the text in another order than models.",
    ),
    "zero_width": (
        f"[{_ZERO_WIDTH}]",
        "Models would read a character that people cannot see.",
    ),
    "private_use": (
        "[\ue000-\uf8ff\U000f0000-\U0010ffff]",
        "A private-use character looks different on each machine, or like a box.",
    ),
    "not_a_character": (
        "[\ud800-\udfff\ufdd0-\ufdef\ufffd-\uffff]",
        "The text contains half a character or a replacement character, so it was damaged before the import.",
    ),
}
_KINDS_FOUND = {code: re.compile(pattern) for code, (pattern, _) in _KINDS.items()}
_UNSEEN = re.compile("|".join(pattern for pattern, _ in _KINDS.values()))
INVISIBLE = re.compile(f"[{_BIDI}{_ZERO_WIDTH}]")
# What no database row and no page can hold at all
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def check_characters(markup: str) -> Iterator[Finding]:
    r"""Errors, each with its place.

    >>> [finding.message for finding in check_characters("ab\ncd\u202eef")]
    ['U+202E RIGHT-TO-LEFT OVERRIDE in line 2, column 3']
    """
    if len(markup) > MAX_CHARACTERS:
        yield _too_long(markup)
    for code, pattern in _KINDS_FOUND.items():
        found = list(pattern.finditer(markup))
        for match in found[:MAX_SHOWN]:
            message = _named(markup, match.start())
            if len(found) > MAX_SHOWN:
                message += f" ({len(found)} such characters in total)"
            at = Place("markup", match.start(), match.end())
            yield Finding(code, Level.ERROR, message, _KINDS[code][1], code_point(match[0]), at)


def unstorable(text: str) -> str:
    """Why a text cannot be kept at all, with the place; empty where it can.

    >>> unstorable("a\\x00")
    'U+0000 in line 1, column 2'
    """
    if found := UNSTORABLE.search(text):
        return _named(text, found.start())
    return _too_long(text).message if len(text) > MAX_CHARACTERS else ""


def storable(text: str) -> str:
    """A text with a replacement character for what cannot be kept; the checks find these.

    >>> storable("a\\x00b")
    'a\ufffdb'
    """
    return UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def visible(text: str) -> str:
    """A text with its unseen characters written out.

    >>> visible("a\\u202eb")
    'a⟨U+202E⟩b'
    """
    return _UNSEEN.sub(lambda found: f"⟨{code_point(found[0])}⟩", text)


def code_point(char: str) -> str:
    """How an unseen character is written.

    >>> code_point("\\u200b")
    'U+200B'
    """
    return f"U+{ord(char):04X}"


def _named(text: str, offset: int) -> str:
    line, column = place(text, offset)
    name = unicodedata.name(text[offset], "")
    return f"{code_point(text[offset])}{name and ' '}{name} in line {line}, column {column}"


def _too_long(markup: str) -> Finding:
    line, column = place(markup, MAX_CHARACTERS)
    return Finding(
        "too_many_characters",
        Level.ERROR,
        f"{len(markup):,} characters; from line {line}, column {column} there are more than {MAX_CHARACTERS:,}",
        "An abstract usually has about 1,500 characters. Participants could not read a page with this text.",
        place=Place("markup", MAX_CHARACTERS, len(markup)),
    )


# Byte-level tokenizers first cut a text into words, numbers and marks, and never join two of these: their number is a
# lower bound. How many tokens a long word takes is estimated; tests hold the estimate against GPT-2's own count.
MAX_TOKENS = 1024
_PIECES = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
# Letters to a token beyond the first so many, as the published abstracts have them
WHOLE_WORD = 8
LETTERS_PER_TOKEN = 4
REASON = "GPT-2 and similar models read at most 1,024 tokens, so they could not score this text."


def least_tokens(text: str) -> int:
    """Fewer are not possible.

    >>> least_tokens("Rats slept (n = 3).")
    7
    """
    return sum(1 for _ in _PIECES.finditer(text))


def estimated_tokens(text: str) -> int:
    """About how many, rather a few too many."""
    total = 0
    for found in _PIECES.finditer(text):
        piece = found[0].strip()
        n_bytes = len(piece.encode(errors="surrogatepass"))
        if n_bytes > len(piece):  # letters beyond ASCII are joined seldom
            total += n_bytes
        else:
            total += 1 + math.ceil(max(0, n_bytes - WHOLE_WORD) / LETTERS_PER_TOKEN)
    return total


def check_tokens(abstract: Abstract) -> Iterator[Finding]:
    """An error where the bound is passed, a warning where the estimate is.

    >>> from experiment.domain.markup import parse
    >>> [f.code for f in check_tokens(parse("rats " * 1023 + "[[slept, ran]]!"))]
    ['too_many_tokens']
    """
    texts = abstract.original, abstract.altered
    least, estimated = max(map(least_tokens, texts)), max(map(estimated_tokens, texts))
    if least > MAX_TOKENS:
        message = f"at least {least:,} tokens, more than {MAX_TOKENS:,}"
        yield Finding("too_many_tokens", Level.ERROR, message, REASON)
    elif estimated > MAX_TOKENS:
        message = f"about {estimated:,} tokens by an estimate without a tokenizer, more than {MAX_TOKENS:,}"
        yield Finding("maybe_too_many_tokens", Level.WARNING, message, REASON)
