"""Reads choices that a model made elsewhere: lines and rows of our own form, and lm-evaluation-harness's samples. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scoring.domain.answer_lines import finish_of, number_of, object_of, text_of, usage_of
from scoring.domain.choosing.odds import ROUNDING
from scoring.domain.choosing.reading import (
    LEAST_CONFIDENCE,
    SIDES,
    percent,
    read_choice,
)
from scoring.domain.generating import Finish, Usage, storable, storable_json
from scoring.domain.thinking import Said, apart

# Where the original was shown, in the words of a file
ORDERS: Mapping[str, str] = {"A": "A", "B": "B", "original_first": "A", "altered_first": "B"}
COLUMNS = ("item", "order", "side", "confidence", "raw", "log_odds", "sample", "model", "version", "finish", "seconds", "prompt_tokens", "completion_tokens")  # fmt: skip
# How the model was asked, where a file says it: columns of a run; of examples their keys, one a line
ASKED = ("prompt", "form", "layout", "instructions", "examples")
MOST_SAMPLE = 32_767
MOST_ODDS = 1e6  # nats; no two answers are further apart


@dataclass(frozen=True, slots=True)
class ReadChoice:
    """An answer about a test case whose original was shown as `original_side`.

    version: of the test case; None where it is not said. sample: from 0. side: "" where none could be read, or for a tie.
    confidence: percent, 50 to 100. is_below_half: as of `Chosen`. log_odds: of side A against side B, in nats. unused: why it is not known,
    of `odds.FAULTS`. asked: of ASKED, what is known.
    """

    item: str
    version: int | None
    original_side: str
    sample: int
    finish: Finish
    side: str = ""
    confidence: float | None = None
    is_below_half: bool = False
    log_odds: float | None = None
    unused: str = ""
    text: str = ""
    thought: str = ""
    detail: str = ""
    model: str = ""
    usage: Usage | None = None
    seconds: float = 0.0
    raw: Any = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)


def read_line(line: str) -> ReadChoice:
    """As `read_object`, of a line of JSON; or a line of lm-evaluation-harness's samples.

    >>> read = read_line('{"item": "m1", "order": "altered_first", "side": "B", "confidence": 0.8}')
    >>> read.original_side, read.side, read.confidence
    ('B', 'B', 80.0)
    >>> read_line('{"item": "m1", "order": "A", "raw": "It is A, I think."}').side
    ''
    """
    value = object_of(line)
    return _of_harness(value) if {"doc", "filtered_resps"} <= value.keys() else read_object(value)


def read_object(value: Mapping[str, Any]) -> ReadChoice:
    """Read "item" and "order" with "side", "log_odds" or "raw"; known, too, are the other COLUMNS.

    "order" says where the original was shown: "A" or "original_first", "B" or "altered_first". "raw" is the model's text,
    or what a server sent. Without "side", the side is that of the text (`read_choice`), else that of the log-odds. "confidence" is
    0 to 100, or a probability; below a half, it is not used.

    Raises:
        ValueError: what is wrong, in words that go on after the place.
    """
    place = place_of(value, "", value.get("sample", 0))
    raw, finish = value.get("raw"), finish_of(value)
    side, stated, odds = _said(value)
    if side and finish != Finish.STOP:
        raise ValueError(f"side is {side}, but finish says that the answer is not complete")
    if not side and odds is None and raw is None and finish == Finish.STOP:
        raise ValueError("side is missing, and so are log_odds and raw, which may say it")
    is_text = isinstance(raw, str)
    said = apart(text_of(value, "raw"), finish) if is_text else Said("", "", finish)
    chosen = read_choice(said.text) if said.finish == Finish.STOP else None
    if side and chosen and chosen.side != side:
        raise ValueError(f"side is {side}, but raw says {chosen.side}")
    if chosen and stated is None:
        is_below_half, confidence = chosen.is_below_half, chosen.confidence
    else:
        is_below_half = stated is not None and stated < LEAST_CONFIDENCE
        confidence = None if is_below_half else stated
    side = side or (chosen.side if chosen else _likelier(odds))
    return ReadChoice(
        **place,
        finish=Finish.STOP if side else said.finish,
        side=side,
        confidence=confidence,
        is_below_half=is_below_half,
        log_odds=odds,
        text=said.text,
        thought=said.thought,
        model=text_of(value, "model"),
        usage=usage_of(value),
        seconds=number_of(value, "seconds") or 0.0,
        raw={} if is_text or raw is None else storable_json(raw),
    )


def _of_harness(value: Mapping[str, Any]) -> ReadChoice:
    """A choice of the task that `export_lm_eval_task --method choice` writes; its choices are A and B."""
    doc, said = value["doc"], value["filtered_resps"]
    if not isinstance(doc, dict) or "order" not in doc:
        raise ValueError(
            "doc.order is missing: this is not a sample of a task with --method choice"
        )
    try:
        a, b = (float(sum_) for sum_, _ in said)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "filtered_resps is not a log-likelihood for each of two choices"
        ) from error
    if not all(math.isfinite(one) and one <= ROUNDING for one in (a, b)):
        raise ValueError(
            "filtered_resps contains a log-likelihood that is not finite, or is above 0"
        )
    kept = ("doc_id", "resps", "doc_hash", "prompt_hash", "target_hash")
    return ReadChoice(
        **place_of(doc, "doc.", 0),
        finish=Finish.STOP,
        side=_likelier(a - b),
        log_odds=a - b,
        raw=storable_json(
            {"log_likelihood": {"A": a, "B": b}}
            | {name: value[name] for name in kept if name in value}
        ),
        asked=asked_of(doc, "doc."),
    )


def place_of(value: Mapping[str, Any], before: str, sample: Any) -> dict[str, Any]:
    """The test case, how it was shown, and the number of the answer among several: fields of `ReadChoice`.

    Args:
        before: what stands before a column's name where an error names it.
    Raises:
        ValueError: as `read_object`.
    """
    item, order, version = text_of(value, "item"), value.get("order"), _whole(value.get("version"))
    sample = _whole(sample)
    if not item:
        raise ValueError(f"{before}item is missing")
    if not isinstance(order, str) or order not in ORDERS:
        raise ValueError(f"{before}order is not one of {', '.join(ORDERS)}")
    if version is not None and (type(version) is not int or version < 1):
        raise ValueError(f"{before}version is not a whole number from 1")
    if type(sample) is not int or not 0 <= sample <= MOST_SAMPLE:
        raise ValueError(f"sample is not a whole number from 0 to {MOST_SAMPLE:,}")
    return {"item": item, "version": version, "original_side": ORDERS[order], "sample": sample}


def _whole(number: Any) -> Any:
    """A data frame writes 1.0 for 1 where a cell of its column is empty."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def asked_of(value: Mapping[str, Any], before: str) -> dict[str, str]:
    """The fields among ASKED that are given. Raises ValueError where one is no text."""
    found = {name: value[name] for name in ASKED if name in value}
    for name, text in found.items():
        if not isinstance(text, str):
            raise ValueError(f"{before}{name} is not a text")
    return {name: storable(text) for name, text in found.items()}


def _said(value: Mapping[str, Any]) -> tuple[str, float | None, float | None]:
    """The side, the confidence in percent, and the log-odds; "" and None where they are not said.

    Raises:
        ValueError: as `read_object`.
    """
    side = text_of(value, "side").upper()
    if side not in ("", *SIDES):
        raise ValueError("side is neither A nor B")
    said, stated = value.get("confidence"), None
    if type(said) in (int, float):
        stated = percent(said)
    if said is not None and stated is None:
        raise ValueError("confidence is not a number from 0 to 100")
    odds = value.get("log_odds")
    if odds is not None and (type(odds) not in (int, float) or not abs(odds) < MOST_ODDS):
        raise ValueError("log_odds is not a finite number")
    return side, stated, None if odds is None else float(odds)


def _likelier(odds: float | None) -> str:
    """
    >>> _likelier(2.0), _likelier(-2.0), _likelier(0.0)
    ('A', 'B', '')
    """
    return "" if not odds else "A" if odds > 0 else "B"
