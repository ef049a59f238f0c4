"""A line is read as what it says, or refused by the name of its column."""

import json
from typing import Any

import pytest

from scoring.domain.choosing.lines import read_line
from scoring.domain.generating import Finish, Usage

SAID = '{"side": "B", "confidence": 80}'


def line(**fields: Any) -> str:
    return json.dumps({"item": "m1", "order": "A"} | fields)


@pytest.mark.parametrize(
    ("order", "side"),
    [("A", "A"), ("original_first", "A"), ("B", "B"), ("altered_first", "B")],
)
def test_the_order_says_where_the_original_was_shown(order: str, side: str) -> None:
    assert read_line(line(order=order, side="a")).original_side == side


@pytest.mark.parametrize(
    ("fields", "side", "confidence", "finish"),
    [
        ({"side": "B", "confidence": 80}, "B", 80, Finish.STOP),
        ({"side": "b", "confidence": 0.8}, "B", 80, Finish.STOP),
        ({"side": "B", "confidence": 1}, "B", 100, Finish.STOP),
        ({"side": "B", "confidence": 45}, "B", None, Finish.STOP),
        ({"raw": SAID}, "B", 80, Finish.STOP),
        ({"raw": f"<think>A?</think>{SAID}"}, "B", 80, Finish.STOP),
        ({"raw": SAID, "side": "B", "confidence": 70}, "B", 70, Finish.STOP),
        ({"raw": "It is B.", "side": "B"}, "B", None, Finish.STOP),
        ({"raw": "It is B."}, "", None, Finish.STOP),
        ({"raw": {"choices": []}, "side": None}, "", None, Finish.STOP),
        ({"raw": SAID, "finish": "length"}, "", None, Finish.LENGTH),
        ({"raw": ""}, "", None, Finish.EMPTY),
        ({"finish": "refused"}, "", None, Finish.REFUSED),
        ({"log_odds": -0.5}, "B", None, Finish.STOP),
        ({"log_odds": 0}, "", None, Finish.STOP),
    ],
)
def test_a_choice_is_what_the_line_says_else_what_its_text_says(
    fields: dict[str, Any], side: str, confidence: float | None, finish: Finish
) -> None:
    read = read_line(line(**fields))
    assert (read.side, read.confidence, read.finish) == (side, confidence, finish)


def test_thoughts_and_what_a_server_sent_are_kept_apart() -> None:
    read = read_line(line(raw=f"<think>A?</think>{SAID}", prompt_tokens=9, completion_tokens=4))
    assert (read.text, read.thought, read.usage) == (SAID, "A?", Usage(9, 4))
    assert read_line(line(side="A", raw={"id": "x\0"})).raw == {"id": "x"}


def sample(**fields: Any) -> dict[str, Any]:
    """A sample of lm-evaluation-harness."""
    doc = {"item": "m1", "version": 2, "order": "B", "form": "likelihood"}
    return {"doc": doc, "filtered_resps": [["-2.5", "False"], ["-1.0", "True"]]} | fields


def test_a_sample_of_the_harness_is_read_by_its_log_likelihoods() -> None:
    read = read_line(json.dumps(sample()))
    assert (read.item, read.version, read.original_side) == ("m1", 2, "B")
    assert (read.side, read.log_odds, read.asked) == ("B", -1.5, {"form": "likelihood"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ('{"item": "m1", }', "character 16"),
        ("[1]", "not a JSON object"),
        (line(item=""), "item is missing"),
        (line(item=3), "item is not a text"),
        (line(order="first"), "order is not one of"),
        (line(order=None), "order is not one of"),
        (line(), "side is missing"),
        (line(side="C"), "side is neither A nor B"),
        (line(side="A", raw=SAID), "raw says B"),
        (line(side="A", finish="length"), "finish says"),
        (line(side="A", confidence=-1), "confidence is not a number"),
        (line(side="A", confidence=101), "confidence is not a number"),
        (line(side="A", confidence="80"), "confidence is not a number"),
        (line(side="A", confidence=True), "confidence is not a number"),
        (line(side="A", sample=-1), "sample is not a whole number"),
        (line(side="A", sample=40_000), "sample is not a whole number"),
        (line(side="A", version="1"), "version is not a whole number"),
        (line(log_odds=float("nan")), "NaN is not a number"),
        (line(side="A", model=["x"]), "model is not a text"),
        (line(side="A", finish="done"), "finish is not one of"),
        (json.dumps(sample(doc={"item": "m1"})), "doc.order is missing"),
        (json.dumps(sample(filtered_resps=[["-1.0", "False"]])), "filtered_resps is not"),
        (json.dumps(sample(filtered_resps=[["-inf", ""], ["-1", ""]])), "not finite"),
        (json.dumps(sample(filtered_resps=[["0.7", ""], ["-1", ""]])), "above 0"),
    ],
)
def test_an_invalid_value_is_refused_by_the_name_of_its_column(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_line(text)
