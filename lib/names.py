"""Names: one line that can be printed, whoever gives it and by whichever way. Pure."""

# ruff: noqa: RUF001, RUF002 (signs that look alike are the point)

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lib.look_alikes import MORE_LIKE

# Control characters, line and paragraph separators; what turns the order of reading; what nobody sees;
# halves of characters, and what is none. Joiners stay: Persian, Indic and emoji spelling need them.
_REFUSED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u00ad\u180e\u200b\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something is no name; `name_fields` words it. What is not said of its kind is empty."""

    kind: Literal["long", "unprintable", "blank"]
    n: int = 0  # characters
    longest: int = 0
    point: str = ""
    at: int = 0  # from 1


def fault(name: str, longest: int | None = None) -> Fault | None:
    r"""Why this is no name; None where it is one.

    >>> fault("Llama\n2")
    Fault(kind='unprintable', n=0, longest=0, point='U+000A', at=6)
    >>> fault(" Llama").kind, fault("Llama 2", 6).n, fault("Llama 2")
    ('blank', 7, None)
    """
    if longest is not None and len(name) > longest:
        return Fault("long", n=len(name), longest=longest)
    if found := _REFUSED.search(name):
        point = f"U+{ord(found[0]):04X} {unicodedata.name(found[0], '')}".rstrip()
        return Fault("unprintable", point=point, at=found.start() + 1)
    return Fault("blank") if name != name.strip() else None


def printed(text: str, keep: str = "\n\t") -> str:
    r"""A text for a terminal or a log: what is no part of a printed line is written out, but for what is to `keep`.

    >>> printed("\x1b[31mred\nblue")
    '\\x1b[31mred\nblue'
    """
    return _REFUSED.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


# Letters that people take for a Latin one, by the Latin ones in their order; after compatible forms are undone.
# A capital has a line of its own where only it looks like one
LIKE = (
    # Cyrillic
    ("аеорсухіјѕһԁԛԝѵӏк", "aeopcyxijshdqwvlk"),
    ("АВЕЅІЈКМНОРСТУХԌԚԜѴҮӀЗЬб", "ABESIJKMHOPCTYXGQWVYI3b6"),
    # Greek
    ("αγικνορυχϲϳ", "ayikvopuxcj"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϺ", "ABEZHIKMNOPTYXCM"),
    # Armenian, Cherokee
    ("օսհոցզՕԼՍ", "ouhngqOLU"),
    ("ᎪᎠᎡᎢᎥᎫᎬᎳᎷᎻᏀᏃᏙᏚᏞᏟᏢᏦᏴ", "ADRTiJEWMHGZVSLCPKB"),
    # Latin ones of other alphabets, and signs
    ("ɑɡıȷɩᴄᴏᴠᴡᴢᴜꜱǀ", "agijicovwzusl"),
    ("‐‑‒–—―−⁃", "--------"),
    ("‘’ʼʹ`′", "''''''"),
    ("⁄∕∶꞉", "//::"),
)
_LATIN = str.maketrans(
    "".join(a for a, _ in LIKE) + "".join(letters for _, letters in MORE_LIKE),
    "".join(b for _, b in LIKE) + "".join(like * len(letters) for like, letters in MORE_LIKE),
)
# Accents, strokes and rings over or under a letter that make no letter of their own with it
_MARKS_ALONE = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]"
)
_UNSEEN = re.compile(
    "[\u200c\u200d\ufe00-\ufe0f]"
)  # joiners and variants, which are allowed in names


# Within Latin: a capital I, but not a small one, is like an l; what two letters look like together
_SHAPES = str.maketrans("I1|0", "lllo")
_PAIRS = (("rn", "m"), ("vv", "w"))


def looks(*names: str) -> set[str]:
    """Readings of these names that people would confuse: letters of other alphabets, loose marks, capitals and spaces do not count.

    Separators and accents do: “gpt-4.1” is not “gpt-41”, and “Rosé” not “Rose”.

    Two names of which people take one for the other have one in common.

    >>> looks("bоss") & looks("Boss"), looks("Σχολή") & looks("School"), looks("GPT‑2") & looks("gpt-2")
    ({'boss'}, set(), {'gpt-2'})
    >>> looks("Study 1") & looks("study l"), looks("modern") & looks("modem"), looks("Ian") & looks("lan")
    ({'study l'}, {'modem'}, {'lan'})
    >>> looks("ian") & looks("lan"), looks("Study 1") & looks("Study 2")
    (set(), set())
    """
    found = set()
    for name in names:
        latin = name
        if not name.isascii():
            seen = _UNSEEN.sub("", name).translate(_LATIN)
            latin = unicodedata.normalize("NFKD", seen).translate(_LATIN)
            latin = _MARKS_ALONE.sub("", unicodedata.normalize("NFKC", latin))
        shape = _folded(latin.translate(_SHAPES))
        for pair, letter in _PAIRS:
            shape = shape.replace(pair, letter)
        found |= {_folded(name), _folded(latin), shape}
    return found


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name.casefold()).split())


def has_double(name: str, others: Iterable[str]) -> bool:
    """True if people would take it for another of these; one that is the very same is none.

    >>> has_double("bоss", ["ada", "boss"]), has_double("boss", ["ada", "boss", "Boss"])
    (True, False)
    """
    known = set(others)
    return name not in known and not looks(name).isdisjoint(looks(*known))


_ENTITY = re.compile(r"&(?=#?\w+;)")
_MARKS = {mark: f"\\{mark}" for mark in "\\|*_`[]#~"}
_ESCAPES = str.maketrans({"<": "&lt;"} | _MARKS)
# What some renderers make a link of by itself
_ADDRESS = re.compile(r"(?<=\w):(?=//)|(?<=\bwww)\.", re.I)
_LINE_START = re.compile(r"^(?:[-+=>]|\d+(?=[.)]))")


def escaped(text: str) -> str:
    r"""A text in one line of Markdown, none of it read as such.

    >>> escaped("a|b <i>\nhttps://x.org")
    'a\\|b &lt;i> https\\://x.org'
    """
    line = _ENTITY.sub("&amp;", " ".join(text.split())).translate(_ESCAPES)
    line = _ADDRESS.sub(r"\\\g<0>", line)
    if start := _LINE_START.match(line):
        at = start.end() if start[0].isdigit() else 0
        line = f"{line[:at]}\\{line[at:]}"
    return line
