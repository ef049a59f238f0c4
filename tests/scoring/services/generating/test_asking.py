"""Questions to a model, several at a time: an error waits for what is paid for, a stop waits for nothing."""

import time
from collections.abc import Iterator

import pytest

from lib.jobs.leases import CancelledError
from scoring.backends.chat.generator import ChatGenerator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Generated, Message
from scoring.services.generating.asking import Question, ask_all
from scoring.services.generating.spending import Spending
from tests.scoring.backends.chat.stub import MODEL, ChatStub


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub() as stub:
        yield stub


def opened(stub: ChatStub, concurrency: int) -> ChatGenerator:
    args = {"base_url": stub.url, "model": MODEL, "timeout": "60", "retry_seconds": "60"}
    return ChatGenerator(args | {"concurrency": str(concurrency)})


def questions(n: int) -> list[Question]:
    return [Question(row, [Message("user", f"Is it {row}?")], 1) for row in range(n)]


def test_a_stop_does_not_wait_for_a_server_that_hangs(stub: ChatStub) -> None:
    stub.fault = "hangs"
    began = time.monotonic()

    def check() -> None:
        if stub.requests:
            raise CancelledError

    with pytest.raises(CancelledError):
        ask_all(opened(stub, 2), questions(3), lambda q, a: None, Spending(), check)
    assert time.monotonic() - began < 10  # a busy machine
    assert len(stub.requests) <= 2


def test_what_is_under_way_when_one_fails_is_stored_and_nothing_more_is_asked(
    stub: ChatStub,
) -> None:
    stub.script = ["401"]
    stub.delay_s = 0.3
    kept: list[int] = []

    def keep(question: Question, answer: Generated) -> None:
        kept.append(question.row)

    generator = opened(stub, 3)
    with pytest.raises(ScoringError, match="asks for a key"):
        ask_all(generator, questions(9), keep, Spending(), lambda: None)
    generator.close()
    assert len(stub.requests) < 9
    assert len(kept) == len(stub.requests) - 1


def test_a_budget_counts_what_is_under_way(stub: ChatStub) -> None:
    stub.delay_s = 0.2
    generator = opened(stub, 4)
    generator.max_tokens = 10
    spending = Spending(budget_tokens=30)  # for two at a time, of 13 tokens at most each
    ask_all(
        generator,
        questions(4),
        lambda q, a: spending.add(a.usage, a.seconds),
        spending,
        lambda: None,
    )
    generator.close()
    assert stub.most_at_once == 2
    assert spending.usage.total == 4 * 4
