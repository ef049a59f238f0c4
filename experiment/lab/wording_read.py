"""Texts of participants' pages as their readers see them, and what the parts mean that this site fills in."""

import re
from collections.abc import Iterator

MEANINGS = {
    "amount": "an amount of money",
    "body": "the ethics committee",
    "confidence": "the confidence",
    "contact": "your contact address",
    "credits": "the number of credits",
    "date": "a date",
    "day": "a date",
    "field": "the field of research",
    "high": "the highest number",
    "hours": "hours",
    "limit_value": "the largest number",
    "low": "the lowest number",
    "max_length": "the largest number",
    "minutes": "minutes",
    "most": "the largest number",
    "n": "a number",
    "n_all": "how many there are",
    "n_correct": "how many were right",
    "n_listed": "how many are listed",
    "name": "who advises",
    "number": "a number",
    "parameter": "a part of the link",
    "percent": "a percentage",
    "rating": "the rating",
    "reader": "a language model",
    "return_url": "the address of the recruitment site",
    "seconds": "seconds",
    "side": "A or B",
    "site": "the recruitment site",
    "typical": "the usual minutes",
    "until": "a date",
    "value": "the value",
    "when": "a date and time",
    "withdraw_url": "the address of the page to withdraw",
}
TAGS = {"a": "a link", "kbd": "a key", "strong": "bold", "em": "emphasis"}
_FILLED = re.compile(r"%\((\w+)\)[sd]|\{(\w+)\}")
_TAG = re.compile(r"<(/?)([a-z]++)[^<>]*+>")


def as_read(text: str) -> str:
    """The text without its tags and signs of formats; what this site fills in is named in brackets where it stands.

    >>> as_read('Side <strong class="key key-a">A</strong>: %(percent)s%% (50%% would be a guess)')
    'Side A: [a percentage]% (50% would be a guess)'
    """
    named = _FILLED.sub(lambda found: f"[{_meaning(found)}]", _TAG.sub("", text))
    return named.replace("%%", "%")


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Parts that a text in other words keeps, each as it is typed, with its meaning.

    >>> [*parts("<strong>%(n)s%%</strong>")]
    [('%(n)s', 'a number'), ('<strong>', 'bold, up to </strong>'), ('%%', 'the sign %')]
    """
    found = {filled[0]: _meaning(filled) for filled in _FILLED.finditer(text)}
    for tag in _TAG.finditer(text):
        if not tag[1]:
            found[tag[0]] = f"{TAGS.get(tag[2], 'a part of the page')}, up to </{tag[2]}>"
    if "%%" in text:
        found["%%"] = "the sign %"
    yield from found.items()


def _meaning(found: re.Match[str]) -> str:
    name = found[1] or found[2]
    return MEANINGS.get(name, name.replace("_", " "))
