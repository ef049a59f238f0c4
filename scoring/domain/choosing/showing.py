"""How a test case is shown to a model that chooses: two whole versions, or one text with its passages marked."""

from typing import Literal

from experiment.domain.markup import Abstract, Alternation

Layout = Literal["pair", "marked"]
LAYOUTS: tuple[Layout, ...] = ("pair", "marked")


def shown(abstract: Abstract, original_side: str, layout: str) -> str:
    r"""The two versions under their letters.

    Args:
        original_side: "A" or "B", where the original is shown.
        layout: `pair` writes both whole; `marked` writes what they share once, and each passage as [A: ... | B: ...].

    >>> from experiment.domain.markup import parse
    >>> shown(parse("Rats [[slept, ran]] more."), "B", "marked")
    'Rats [A: ran | B: slept] more.'
    >>> shown(parse("Rats [[slept, ran]] more."), "B", "pair")
    'Version A:\nRats ran more.\n\nVersion B:\nRats slept more.'
    """
    is_first = original_side == "A"
    if layout == "pair":
        versions = (abstract.original.strip(), abstract.altered.strip())
        a, b = versions if is_first else versions[::-1]
        return f"Version A:\n{a}\n\nVersion B:\n{b}"
    parts = []
    for segment in abstract.segments:
        if isinstance(segment, Alternation):
            texts = (segment.original, segment.altered)
            a, b = texts if is_first else texts[::-1]
            parts.append(f"[A: {a} | B: {b}]")
        else:
            parts.append(segment.text)
    return "".join(parts).strip()
