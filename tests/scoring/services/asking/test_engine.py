"""Questions to a model, several at a time: an error waits for what is paid for, a stop waits for nothing."""

from collections.abc import Sequence

import pytest

from lib.jobs.leases import CancelledError
from scoring.backends.chat import ChatGenerator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Generated, Message, Usage
from scoring.services.asking.engine import Question, ask_all
from scoring.services.asking.settings import Spending
from tests.scoring.backends.chat.stub import ChatStub


def opened(stub: ChatStub, concurrency: int) -> ChatGenerator:
    patient = {"timeout": "60", "retry_seconds": "60", "concurrency": str(concurrency)}
    return ChatGenerator(stub.args(**patient))


def questions(n: int) -> list[Question]:
    return [Question(row, [Message("user", f"Is it {row}?")], 1) for row in range(n)]


def test_a_stop_stores_what_comes_and_does_not_wait_for_a_server_that_hangs(
    stub: ChatStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoring.services.asking.engine.PATIENCE_S", 3.0)
    stub.script = ["hangs", ""]
    kept: list[int] = []

    def check() -> None:
        if len(stub.requests) >= 2:
            raise CancelledError

    with pytest.raises(CancelledError):
        ask_all(opened(stub, 2), questions(3), lambda q, a: kept.append(q.row), Spending(), check)
    assert len(stub.requests) <= 3
    assert len(kept) == len(stub.requests) - 1


def test_answers_under_way_at_a_failure_are_stored_and_nothing_more_is_asked(
    stub: ChatStub,
) -> None:
    stub.script = ["401"]
    stub.delay_s = 0.3
    kept: list[int] = []

    def keep(question: Question, answer: Generated) -> None:
        kept.append(question.row)

    generator = opened(stub, 3)
    with pytest.raises(ScoringError, match="needs a key"):
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


def test_a_follow_up_question_is_asked_before_the_rest(stub: ChatStub) -> None:
    def follow(question: Question, answer: Generated) -> Question | None:
        first = question.row == 0 and len(question.messages) == 1
        return Question(0, [*question.messages, Message("user", "Sure?")], 1) if first else None

    generator = opened(stub, 1)
    ask_all(generator, iter(questions(2)), follow, Spending(), lambda: None)
    generator.close()
    assert stub.last_words == ["Is it 0?", "Sure?", "Is it 1?"]


def test_a_generator_of_batches_is_asked_as_many_at_once_as_the_budget_allows() -> None:
    asked: list[int] = []

    class Batches:
        kind, concurrency, max_tokens, batch = "hf", 1, 10, 4

        def identity(self) -> dict[str, str]:
            return {}

        def generate(self, messages: object, schema: object = None, **_: object) -> Generated:
            asked.append(1)
            return Generated("Yes.", Finish.STOP, Usage(4, 1), 0.1)

        def generate_many(self, conversations: Sequence[object]) -> list[Generated]:
            asked.append(len(conversations))
            return [Generated("Yes.", Finish.STOP, Usage(4, 1), 0.1) for _ in conversations]

        def close(self) -> None:
            pass

    kept: list[int] = []
    spending = Spending(budget_tokens=3 * 13)  # three at first, of 13 tokens at most each

    def keep(question: Question, answer: Generated) -> None:
        kept.append(question.row)
        spending.add(answer.usage, answer.seconds)

    ask_all(Batches(), questions(5), keep, spending, lambda: None)
    assert asked == [3, 1, 1]
    assert kept == list(range(5))
    asked.clear()
    ask_all(Batches(), questions(5), lambda q, a: None, Spending(), lambda: None)
    assert asked == [4, 1]
