"""Reads what a language model wrote: the marked text of a draft, compared with the abstract; the verdict on a test case. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from experiment.domain.item_checks.findings import Finding, Level
from experiment.domain.looks import looks, typed_with
from experiment.domain.markup import MarkupError, parse
from lib import strict_json
from scoring.domain.generating import storable

# What an answer is asked to be, where the server can hold the model to it
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"markup": {"type": "string"}},
    "required": ["markup"],
    "additionalProperties": False,
}
FENCE = re.compile(r"```[\w-]*[^\S\n]*+\n(.*?)```", re.DOTALL)
SHOWN_CHARACTERS = 60


def one_line(text: str) -> str:
    r"""A text with one space for each run of white space, as abstracts and drafts are compared.

    >>> one_line(" Rats\n slept. ")
    'Rats slept.'
    """
    return " ".join(text.split())


def marked_text(answer: str) -> str:
    r"""The text with alternations in an answer: `markup` of a JSON object, in a code fence or not; else a paragraph with `[[`.

    Empty where there is none.

    >>> marked_text('{"markup": "Rats [[slept, ran]]."}')
    'Rats [[slept, ran]].'
    >>> marked_text("Here it is:\n\nRats [[slept, ran]].\n\nI changed a verb.")
    'Rats [[slept, ran]].'
    """
    for value in json_values(answer):
        found = value.get("markup") if isinstance(value, dict) else None
        if isinstance(found, str):
            return one_line(storable(found))  # JSON can spell what the answer itself cannot hold
    if answer.lstrip().startswith("{"):
        return ""
    bodies = [match.group(1) for match in FENCE.finditer(answer)] or [answer]
    paragraphs = [p for body in bodies for p in re.split(r"\n\s*\n", body) if "[[" in p]
    return one_line(" ".join(paragraphs))


def json_values(answer: str) -> Iterator[Any]:
    """The parts of the answer that can be read as JSON: all of it, code fences, from the first brace to the last."""
    inner = answer[answer.find("{") : answer.rfind("}") + 1]
    for text in (answer, *(match.group(1) for match in FENCE.finditer(answer)), inner):
        try:
            yield strict_json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue


def changed_abstract(markup: str, abstract: str) -> Finding | None:
    """A difference between the text without its alternations and the abstract; None where there is none, or it cannot be read.

    >>> changed_abstract("Rats [[slept, ran]].", "Rats slept.") is None
    True
    >>> changed_abstract("Rats [[dozed, ran]].", "Rats slept.").code
    'changed_abstract'
    """
    try:
        original = parse(markup).original
    except MarkupError:
        return None
    given = one_line(abstract)
    if original == given:
        return None
    shared = min(len(original), len(given))
    at = next((n for n in range(shared) if original[n] != given[n]), shared)
    start = max(0, at - SHOWN_CHARACTERS // 2)
    ours, theirs = given[start : at + SHOWN_CHARACTERS], original[start : at + SHOWN_CHARACTERS]
    signs = f" ({typed_with(ours, theirs)})" if looks(ours) == looks(theirs) else ""
    return Finding(
        "changed_abstract",
        Level.ERROR,
        f"The abstract contains “{ours}”, but the first passages of the text give “{theirs}”{signs}.",
        "With the first passage of every pair, the text must be the abstract, letter by letter.",
    )


def no_text(message: str) -> Finding:
    """An answer that holds no text with alternations."""
    return Finding(
        "no_text",
        Level.ERROR,
        message,
        "The answer must contain the abstract with [[original, altered]].",
    )


VERDICTS = ("accept", "revise", "refuse")
REVIEW_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reasons": {"type": "string"},
        "verdict": {"type": "string", "enum": list(VERDICTS)},
    },
    "required": ["reasons", "verdict"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """verdict: one of VERDICTS."""

    verdict: str
    reasons: str


def read_verdict(answer: str) -> ModelVerdict | None:
    """The verdict in an answer; None where it holds none.

    >>> read_verdict('{"reasons": "Sound.", "verdict": "Accept"}')
    ModelVerdict(verdict='accept', reasons='Sound.')
    """
    for value in json_values(answer):
        if not isinstance(value, dict):
            continue
        verdict, reasons = value.get("verdict"), value.get("reasons", "")
        if isinstance(verdict, str) and verdict.strip().lower() in VERDICTS:
            said = reasons if isinstance(reasons, str) else "\n".join(map(str, reasons))
            return ModelVerdict(verdict.strip().lower(), storable(said).strip())
    return None
