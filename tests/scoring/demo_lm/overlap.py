"""The rule by which the demonstration model's corpus avoids giving away an item.

Words are compared without case and punctuation. A corpus trespasses on an item if it holds

1. six words in a row of the item's title, finding, original or altered version (so also no sentence of it),
2. an alternation's original or altered passage with the two words before and the two after it,
3. a sentence with half or more of the content words of the item's finding, or of a sentence that holds an
   alternation, in any order: the same fact in other grammar.

Six words, because the English of the field shares up to five by chance ("in the dentate gyrus of").
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from experiment.domain.markup import parse
from scoring.domain.conditions import ConditionItem, text_pairs

RUN = 6
AROUND = 2
SHARE = 0.5
_FUNCTION_WORDS = (
    "a about after also an and are as at be been before between both but by can did do does during each few for from "
    "had has have in into is it its less many may more most no not of on one only or other others some such than that "
    "the their them then there these they this those thus to two was we were when where whereas which while who whose "
    "with would"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def content_words(text: str) -> set[str]:
    """Without function words and without the plural's s."""
    return {word.rstrip("s") for word in words(text) if word not in FUNCTION_WORDS}


def runs(text: str, n: int) -> set[str]:
    found = words(text)
    return {" ".join(found[k : k + n]) for k in range(len(found) - n + 1)}


def trespasses(paragraphs: Sequence[Sequence[str]], entry: Mapping[str, str]) -> list[str]:
    """The parts of an item (as items.toml has it) that a corpus of paragraphs of sentences holds; empty if there are none."""
    abstract = parse(entry["markup"])
    texts = [" ".join(sentences) for sentences in paragraphs]
    known = set().union(*(runs(text, RUN) for text in texts))
    versions = (abstract.original, abstract.altered)
    own = set().union(*(runs(text, RUN) for text in (entry["title"], entry["finding"], *versions)))
    spaced = [f" {' '.join(words(text))} " for text in texts]
    return [
        *sorted(own & known),
        *(c for c in _in_context(entry["markup"]) if any(f" {c} " in text for text in spaced)),
        *_restated((s for sentences in paragraphs for s in sentences), answers(entry)),
    ]


def answers(entry: Mapping[str, str]) -> list[str]:
    """The item's finding and the sentences that hold its alternations, in the original version."""
    item = ConditionItem(entry["key"], entry["subfield"], entry["key"], parse(entry["markup"]))
    pairs, _ = text_pairs("isolated", [item])
    return [entry["finding"], *(pair.original.text for pair in pairs)]


def _in_context(markup: str) -> list[str]:
    segments = parse(markup).segments
    found = []
    for version in ("original", "altered"):
        texts = [getattr(s, "text", None) or getattr(s, version) for s in segments]
        for n, segment in enumerate(segments):
            if hasattr(segment, "original"):
                before = words("".join(texts[:n]))[-AROUND:]
                after = words("".join(texts[n + 1 :]))[:AROUND]
                found.append(" ".join([*before, *words(texts[n]), *after]))
    return found


def _restated(sentences: Iterable[str], facts: Sequence[str]) -> list[str]:
    wanted = [(fact, content_words(fact)) for fact in facts]
    return [
        f"{sentence} / {fact}"
        for sentence in sentences
        for fact, content in wanted
        if len(content & content_words(sentence)) >= SHARE * len(content)
    ]
