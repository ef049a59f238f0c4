"""A chat server that answers, declines, cuts off, stumbles or lies: each answer says how it ended, each end is a sentence."""

from typing import Any

import pytest

from scoring.backends.chat import ChatGenerator
from scoring.backends.http.client import Client
from scoring.backends.http.errors import GaveUpError
from scoring.backends.opening import open_generator
from scoring.backends.options import RetryPolicy
from scoring.domain.backend import NoAnswerError, ScoringError
from scoring.domain.generating import Finish, Generated, Message, Usage
from tests.scoring.backends.chat.stub import MODEL, ChatStub

HELLO = (Message("system", "Answer in a word."), Message("user", "Is it so?"))
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


def ask(stub: ChatStub, schema: Any = None, **args: str) -> Generated:
    known = {"base_url": stub.url, "model": MODEL, "timeout": "2", "retry_seconds": "4"}
    generator = open_generator("chat", known | args)
    try:
        return generator.generate(HELLO, schema)
    finally:
        generator.close()


def test_an_answer_comes_with_tokens_time_and_the_name_of_the_model(stub: ChatStub) -> None:
    answer = ask(stub, temperature="0.5", seed="7", max_tokens="99")
    assert (answer.text, answer.finish) == ("Yes.", Finish.STOP)
    assert answer.usage == Usage(7, 1)
    assert answer.seconds > 0
    assert answer.model == "writer-2026-01"
    sent = {"model": MODEL, "max_tokens": 99, "temperature": 0.5, "seed": 7}
    assert answer.request == sent
    assert answer.raw["choices"][0]["message"]["content"] == "Yes."
    turns = [{"role": m.role, "content": m.content} for m in HELLO]
    assert stub.requests == [{**sent, "messages": turns}]


@pytest.mark.parametrize(
    ("fault", "finish", "detail"),
    [
        ("refuses", Finish.REFUSED, "I cannot help with that."),
        ("filtered", Finish.FILTERED, ""),
        ("prompt filtered", Finish.FILTERED, "The response was filtered by the content management policy."),
        ("truncated", Finish.LENGTH, ""),
        ("silent", Finish.EMPTY, ""),
        ("window", Finish.TOO_LONG, "This model's maximum context length is 512 tokens."),
        ("in parts", Finish.STOP, ""),
    ],
)  # fmt: skip
def test_an_answer_says_how_it_ended(
    stub: ChatStub, fault: str, finish: Finish, detail: str
) -> None:
    stub.fault = fault
    answer = ask(stub)
    assert (answer.finish, answer.detail) == (finish, detail)
    assert len(stub.requests) == 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("no choices", "answered 200 with the error 502 (no such engine) (asked"),
        ("other service", "not a chat completion (an entry in `choices` is missing)"),
        ("no temperature", "refused: 400: temperature does not support 0.3."),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_used_ends_in_one_sentence(
    stub: ChatStub, fault: str, words: str
) -> None:
    stub.fault = fault
    with pytest.raises(ScoringError, match=r"\.$") as raised:
        ask(stub, timeout="0.3", retry_seconds="1")
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("temperature", "0", "Set temperature=none, which leaves it to the server. Answers are then drawn by chance"),
        ("top_p", "0.5", "Leave out top_p."),
        ("reasoning_effort", "low", "Leave out reasoning_effort"),
    ],
)  # fmt: skip
def test_an_argument_that_the_model_does_not_accept_ends_the_run_with_what_to_do(
    stub: ChatStub, name: str, value: str, told: str
) -> None:
    stub.fault = f"refuses {name}"
    with pytest.raises(ScoringError) as raised:
        ask(stub, **{name: value})
    assert not isinstance(raised.value, NoAnswerError), "the next requests would be refused, too"
    assert told in str(raised.value)
    assert len(stub.requests) == 1
    assert ask(stub).text == "Yes."


@pytest.mark.parametrize(
    ("fault", "text", "finish", "thought"),
    [
        ("thinks apart", "Yes.", Finish.STOP, "Is it?"),
        ("thinks in parts", "Yes.", Finish.STOP, "Is it?"),
        ("thinks aloud", "Yes.", Finish.STOP, "Is it?"),
        ("thinks too long", "", Finish.THINKING, "Is it"),
    ],
)
def test_a_thought_is_no_part_of_the_answer(
    stub: ChatStub, fault: str, text: str, finish: Finish, thought: str
) -> None:
    stub.fault = fault
    answer = ask(stub)
    assert (answer.text, answer.finish, answer.thought) == (text, finish, thought)


def test_a_server_is_told_how_to_think_and_the_end_of_a_thought_is_ours(stub: ChatStub) -> None:
    stub.text_of = lambda request: "Is it?||Yes."
    args = {"enable_thinking": "False", "reasoning_effort": "low", "think_end_token": "||"}
    answer = ask(stub, **args)
    assert (answer.text, answer.thought) == ("Yes.", "Is it?")
    (sent,) = stub.requests
    assert sent["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert sent["reasoning_effort"] == "low"
    assert not sent.keys() & {"enable_thinking", "think_end_token"}
    generator = open_generator("chat", stub.args(**args))
    assert generator.identity()["enable_thinking"] is False
    generator.close()


@pytest.mark.parametrize(
    "fault",
    ["error inside", "error inside a choice", "overloaded inside", "no choice", "broken", "429 inside"],
)  # fmt: skip
def test_a_transient_error_in_an_answer_of_status_200_is_asked_again(
    stub: ChatStub, fault: str
) -> None:
    stub.script = [fault]
    assert ask(stub, tries="2", retry_seconds="9").text == "Yes."
    assert len(stub.requests) == 2
    stub.fault = fault
    with pytest.raises(ScoringError, match=r"\(asked (once|[2-9] times) in"):
        ask(stub, tries="1", retry_seconds="1")


@pytest.mark.parametrize(
    ("fault", "finish"),
    [("filter inside", Finish.FILTERED), ("window inside", Finish.TOO_LONG)],
)
def test_a_permanent_refusal_in_an_answer_of_status_200_is_asked_once(
    stub: ChatStub, fault: str, finish: Finish
) -> None:
    stub.fault = fault
    assert ask(stub).finish == finish
    assert len(stub.requests) == 1


def test_tries_count_what_the_server_failed_at_and_not_what_it_put_off(stub: ChatStub) -> None:
    stub.script = ["500", "429", "500"]
    assert ask(stub, tries="3", retry_seconds="9").text == "Yes."
    stub.fault = "500"
    n = len(stub.requests)
    with pytest.raises(NoAnswerError, match=r"asked 3 times"):
        ask(stub, tries="3", retry_seconds="60")
    assert len(stub.requests) - n == 3


@pytest.mark.parametrize(
    ("fault", "is_alone"),
    [("500", True), ("hangs", True), ("400", True), ("401", False), ],
)  # fmt: skip
def test_an_error_says_whether_other_questions_may_be_answered(
    stub: ChatStub, fault: str, is_alone: bool
) -> None:
    stub.fault = fault
    with pytest.raises(ScoringError) as raised:
        ask(stub, timeout="0.2", tries="1")
    assert isinstance(raised.value, NoAnswerError) == is_alone


class TestAServerThatHasNotAnsweredYet:
    def test_is_given_up_within_a_minute_before_anything_is_sent(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[tuple[str, float]] = []

        async def ask(self: Client, path: str, policy: RetryPolicy, *args: Any, **more: Any) -> Any:
            asked.append((path, policy.total_s))
            raise GaveUpError("The server took no connection.", 0)

        monkeypatch.setattr(Client, "ask", ask)
        args = {"base_url": "http://localhost:8000", "model": "m", "retry_seconds": "864000"}
        generator = ChatGenerator(args)
        with pytest.raises(ScoringError, match=r"Start it, or correct base_url.*continue the run"):
            generator.generate(HELLO)
        generator.close()
        assert [path for path, _ in asked] == ["/v1/models"]
        assert all(total_s <= 60 for _, total_s in asked)

    def test_has_one_attempt_or_a_minute_for_its_first_answer(
        self, stub: ChatStub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given: list[float] = []
        ask_really = Client.ask

        async def ask(self: Client, path: str, policy: RetryPolicy, *args: Any, **more: Any) -> Any:
            given.append(policy.total_s)
            return await ask_really(self, path, policy, *args, **more)

        monkeypatch.setattr(Client, "ask", ask)
        stub.names_itself = False  # which says that somebody is there, too
        generator = ChatGenerator(stub.args(timeout="90", retry_seconds="864000"))
        generator.generate(HELLO)
        generator.generate(HELLO)
        generator.close()
        assert given[1:] == [90, 864_000]


def test_characters_that_no_database_stores_are_left_out_of_the_raw_answer(stub: ChatStub) -> None:
    stub.text_of = lambda request: "a\x00b\ud800"
    answer = ask(stub)
    assert answer.text == "ab?"
    assert answer.raw["choices"][0]["message"]["content"] == "ab?"


class TestASchema:
    def test_is_sent_where_the_server_takes_it(self, stub: ChatStub) -> None:
        ask(stub, SCHEMA)
        sent = stub.requests[0]["response_format"]
        assert sent["type"] == "json_schema"
        assert sent["json_schema"]["schema"] == SCHEMA

    def test_and_the_name_of_the_limit_give_way_once_for_all_requests(self, stub: ChatStub) -> None:
        stub.fault = "wants other names"
        args = {"base_url": stub.url, "model": MODEL, "max_tokens": "50"}
        generator = ChatGenerator(args)
        first, second = generator.generate(HELLO, SCHEMA), generator.generate(HELLO, SCHEMA)
        generator.close()
        assert first.text == second.text == "Yes."
        assert first.request == second.request == {"model": MODEL, "max_completion_tokens": 50}
        assert len(stub.requests) == 4  # two refusals, once


@pytest.mark.parametrize(
    ("kind", "args", "words"),
    [
        ("chat", {"base_url": "http://192.0.2.7:8000", "model": "m"}, "may not be sent to 192.0.2.7"),
        ("chat", {"base_url": "http://localhost", "model": "m", "temperature": "hot"}, "expected a number from 0 to 2"),
        ("chat", {"base_url": "http://localhost", "model": "m", "think_end_token": "151668"}, "give the text that ends a thought"),
        ("hf", {"pretrained": "m", "enable_thinking": "no"}, "expected True or False"),
        ("hf", {"pretrained": "m", "base_url": "http://localhost"}, "base_url is not known"),
        ("hf", {"pretrained": "m", "max_length": "512"}, "max_length is not known"),
        ("typewriter", {}, "“typewriter” is not a generator"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_meant_are_refused_before_a_request(
    kind: str, args: dict[str, str], words: str
) -> None:
    with pytest.raises(ScoringError) as raised:
        open_generator(kind, args)
    assert words in str(raised.value)
