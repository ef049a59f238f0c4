"""Reads the verdict of a language model that reviewed a test case. Pure."""

from dataclasses import dataclass
from typing import Any

from scoring.domain.drafting import json_values
from scoring.domain.generating import storable

VERDICTS = ("accept", "revise", "refuse")
SCHEMA: dict[str, Any] = {
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
