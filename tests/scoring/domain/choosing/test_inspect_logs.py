"""A log is a ZIP, compressed as Inspect does or otherwise, or one JSON object."""

import json
from typing import Any

import pytest

from lib.confined import confined
from scoring.domain.choosing.files import read_choices
from scoring.domain.choosing.inspect_logs import read_inspect, read_log
from scoring.domain.generating import Finish, Usage
from tests.config.bombs import zip_of_many_names
from tests.scoring.inspect_logs_made import zipped

SAID = '{"side": "B", "confidence": 80}'
HEADER = {"eval": {"model": "openai/m", "task": "t", "model_args": {"api_key": "secret"}}}
SAMPLES = {"samples/m 1-A_epoch_1.json": {"id": "m 1-A"}, "samples/m/1-B_epoch_1.json": {"id": 2}}
MEMBERS = {"_journal/start.json": {}, "header.json": HEADER, "summaries.json": [], **SAMPLES}


@pytest.mark.parametrize(
    "content",
    [
        zipped(MEMBERS),
        zipped(MEMBERS, zstandard=True),
        json.dumps({"version": 2, **HEADER, "samples": list(SAMPLES.values())}).encode(),
    ],
)
def test_a_log_gives_its_samples_with_their_places_and_no_keys_of_servers(content: bytes) -> None:
    about, samples = read_log(content)
    places, values = zip(*samples, strict=True)
    assert about == {"model": "openai/m", "task": "t"}
    assert list(values) == list(SAMPLES.values())
    assert places in (tuple(SAMPLES), ("sample 1", "sample 2"))


def test_a_log_that_was_not_ended_is_read_as_far_as_it_goes() -> None:
    about, samples = read_log(zipped({"_journal/start.json": HEADER, **SAMPLES}))
    assert about["model"] == "openai/m"
    assert len(list(samples)) == 2


def damaged() -> bytes:
    content = zipped({"samples/x.json": {"id": "x" * 100}}, zstandard=True)
    at = content.index(b"samples/x.json") + len("samples/x.json") + 12
    return content[:at] + b"????" + content[at + 4 :]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "this is not JSON"),
        (b"[]", "not a JSON object"),
        (b"{}", "samples is missing"),
        (b"PK\x03\x04", "not a ZIP file"),
        (zipped({"samples/x.json": [1]}), "samples/x.json: this is not a JSON object"),
        (damaged(), "samples/x.json cannot be unpacked"),
        (zip_of_many_names(), "more than 50,000 files"),
    ],
)
def test_an_invalid_log_is_refused_with_the_place_of_the_error(content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        list(read_log(content)[1])


def test_a_log_of_many_samples_is_read_within_the_time_of_its_size() -> None:
    """Its list of contents is read once, not for each sample."""
    content = zipped({f"samples/{n}.json": {} for n in range(5_000)})
    assert len(confined(read_choices, content, "log.eval", refusals=[ValueError]).entries) == 5_000


def inspected(content: Any = SAID, stop: str = "stop", **fields: Any) -> dict[str, Any]:
    """A sample of a log of Inspect."""
    choice = {"message": {"role": "assistant", "content": content}, "stop_reason": stop}
    usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, "reasoning_tokens": 2}
    output = {"model": "served", "choices": [choice], "usage": usage, "time": 0.5}
    about = {"item": "m1", "version": 1, "order": "A", "prompt": "default"}
    return {"id": "m1-1-A", "epoch": 3, "metadata": about, "output": output} | fields


@pytest.mark.parametrize(
    ("content", "stop", "side", "finish"),
    [
        (SAID, "stop", "B", Finish.STOP),
        (SAID, "unknown", "B", Finish.STOP),
        ("Rats.", "stop", "", Finish.STOP),
        (SAID, "max_tokens", "", Finish.LENGTH),
        (SAID, "model_length", "", Finish.TOO_LONG),
        ("", "content_filter", "", Finish.FILTERED),
        ("", "stop", "", Finish.EMPTY),
        ("<think>A or", "stop", "", Finish.THINKING),
        ([{"type": "reasoning", "reasoning": "A?"}, {"type": "text", "text": SAID}], "stop", "B", Finish.STOP),
    ],
)  # fmt: skip
def test_a_sample_of_inspect_ends_in_a_state_of_ours(
    content: Any, stop: str, side: str, finish: Finish
) -> None:
    read = read_inspect(inspected(content, stop))
    assert (read.side, read.finish, read.sample) == (side, finish, 2)
    assert (read.model, read.usage, read.asked) == ("served", Usage(9, 4, 2), {"prompt": "default"})
    assert read.thought == (
        "A?" if isinstance(content, list) else "A or" if "think" in content else ""
    )


def test_an_error_in_inspect_is_an_answer_that_failed() -> None:
    read = read_inspect(inspected(error={"message": "no connection"}))
    assert (read.finish, read.detail, read.side) == (Finish.FAILED, "no connection", "")


def test_log_odds_come_from_inspects_likeliest_tokens() -> None:
    told = inspected()
    tops = [("A", -2.0), ("B", -0.5), ("B", -9.0)]
    top = [{"token": text, "logprob": number} for text, number in tops]
    texts = [('{"side": "', []), ("B", top), ('", "confidence": 80}', [])]
    content = [{"token": text, "logprob": -0.5, "top_logprobs": likely} for text, likely in texts]
    told["output"]["choices"][0]["logprobs"] = {"content": content}
    found = read_inspect(told, is_greedy=True).log_odds
    assert found == pytest.approx(-1.5, abs=1e-3), "two tokens of one text are added up"
    top[0]["logprob"], top[1]["logprob"], content[1]["logprob"] = -0.5, -2.0, -2.0
    assert read_inspect(told, is_greedy=True).unused == "contradicts"
    assert read_inspect(told).log_odds == pytest.approx(1.5, abs=1e-3)
    content[0]["top_logprobs"] = 3
    assert read_inspect(told).log_odds is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3, "metadata is not a JSON object"),
        (inspected(metadata={"item": "m1"}), "metadata.order is missing"),
        (inspected(metadata={"item": "m1", "order": "C"}), "metadata.order is not one of"),
        (inspected(epoch=0), "sample is not a whole number"),
        (inspected(output=None), "output is not a JSON object"),
    ],
)
def test_a_sample_of_another_task_is_refused(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_inspect(value)
