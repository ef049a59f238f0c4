"""A model answers a study's questions: each is asked once, each state is an answer, and an error of one ends nothing."""

from collections.abc import Iterator

import pytest

from experiment.models import Item, StudyItem
from lib.jobs import leases
from scoring.backends.chat import ChatGenerator
from scoring.domain.backend import ScoringError
from scoring.models import Answer, AnsweringRun, LanguageModel
from scoring.services import answering
from scoring.services.asking.settings import Asked, Unread, newest_same
from tests.factories import make_study
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.services.answering.made import make_question, stored_run, study_with_questions

pytestmark = pytest.mark.django_db


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(lambda request: f"It is {request['messages'][-1]['content'][:20]}") as stub:
        yield stub


def finishes(run: AnsweringRun) -> list[str]:
    return list(run.answers.order_by("item__key").values_list("finish", flat=True))


class TestARun:
    def test_asks_each_accepted_question_of_the_study_once_and_keeps_what_came(
        self, stub: ChatStub
    ) -> None:
        study = study_with_questions(3, field="genetics")
        run = answering.run(stored_run(stub, study))
        assert (run.status, run.done, run.total, run.error) == ("finished", 3, 3, "")
        asked = [request["messages"] for request in stub.requests]
        assert [turns[-1]["content"] for turns in asked] == [
            f"Which gene is behind memory-q00{n}?" for n in (1, 2, 3)
        ]
        assert {turns[0]["content"] for turns in asked} == {run.instructions}
        assert "expert in genetics" in run.instructions
        assert "do not know" in run.instructions
        assert (stub.requests[0]["temperature"], stub.requests[0]["max_tokens"]) == (0, 1024)
        answer = run.answers.get(item__key="memory-q002")
        assert answer.text == "It is Which gene is behind"[: len(answer.text)]
        assert answer.raw["choices"][0]["message"]["content"] == answer.text
        assert answer.prompt_tokens == answer.raw["usage"]["prompt_tokens"]
        assert answer.seconds > 0
        assert run.identity["model"] == MODEL

    @pytest.mark.parametrize(("said", "confidence"), [("85%", 85), ("Quite sure.", None)])
    def test_asks_how_confident_the_model_is_where_that_is_wanted(
        self, stub: ChatStub, said: str, confidence: float | None
    ) -> None:
        stub.text_of = lambda request: said if len(request["messages"]) > 2 else "Gene X."
        run = answering.run(stored_run(stub, study_with_questions(2), asks_confidence=True))
        assert (run.status, run.done, len(stub.requests)) == ("finished", 2, 4)
        kept = list(run.answers.values_list("text", "confidence"))
        assert kept == [("Gene X.", confidence)] * 2
        read = sum(sum(len(m["content"].split()) for m in r["messages"]) for r in stub.requests)
        assert answering.spent(run).usage.prompt_tokens == read

    def test_asks_for_the_confidence_of_what_was_answered_before_a_stop(
        self, stub: ChatStub
    ) -> None:
        stub.text_of = lambda request: "60" if len(request["messages"]) > 2 else "Gene X."
        stub.script = ["", "401"]
        run = answering.run(stored_run(stub, study_with_questions(1), asks_confidence=True))
        assert (run.status, run.answers.get().confidence) == ("failed", None)
        run = answering.run(ask_again(run))
        assert (run.status, run.answers.get().confidence, len(stub.requests)) == ("finished", 60, 3)

    def test_asks_what_the_study_may_still_show_and_no_test_cases(self, stub: ChatStub) -> None:
        study = study_with_questions(4)
        Item.objects.filter(key="memory-q001").update(status="retired")
        StudyItem.objects.filter(item__key="memory-q002").update(paused_at="2026-01-01T00:00Z")
        make_question("elsewhere")
        run = stored_run(stub, study)
        assert [Item.objects.get(pk=pk).key for pk in run.items] == ["memory-q003", "memory-q004"]
        assert stored_run(stub, study, limit=1).total == 1

    def test_goes_on_after_an_answer_that_is_none_whose_state_is_kept(self, stub: ChatStub) -> None:
        said = {
            "refuses": "refused", "filtered": "filtered", "prompt filtered": "filtered", "flagged": "filtered",
            "against policy": "filtered", "inspected": "filtered", "forbidden": "failed", "broken": "failed",
            "truncated": "length", "silent": "empty", "window": "too_long", "500": "failed", "hangs": "failed",
            "garbage": "failed", "400": "failed",
        }  # fmt: skip
        stub.script = ["", *said, ""]
        n = len(stub.script)
        run = answering.run(stored_run(stub, study_with_questions(n), args={"timeout": "0.3"}))
        assert finishes(run) == ["stop", *said.values(), "stop"]
        assert (run.status, run.done) == ("finished", n)

    def test_ends_where_the_server_answers_none(self, stub: ChatStub) -> None:
        stub.fault = "500"
        run = answering.run(stored_run(stub, study_with_questions(14)))
        assert run.status == "failed"
        assert "answered 500" in run.error
        assert "10 questions in a row" in run.error
        assert len(stub.requests) == 10
        stub.fault = ""
        run = answering.run(ask_again(run))
        assert (run.status, finishes(run)) == ("finished", ["stop"] * 14)

    def test_keeps_a_thought_apart_and_one_without_an_end_is_no_answer(
        self, stub: ChatStub
    ) -> None:
        stub.script = ["thinks apart", "thinks too long", ""]
        run = answering.run(stored_run(stub, study_with_questions(3)))
        kept = run.answers.order_by("item__key").values_list("text", "thought", "finish")
        assert list(kept)[:2] == [("Yes.", "Is it?", "stop"), ("", "Is it", "thinking")]
        assert run.status == "finished"
        assert answering.unread(run) == Unread(1, 3)
        assert answering.unread(run).is_much

    def test_stops_where_none_of_the_first_answers_can_be_read_and_says_what_came(
        self, stub: ChatStub
    ) -> None:
        stub.fault = "thinks too long"
        run = answering.run(stored_run(stub, study_with_questions(22)))
        assert (run.status, run.done) == ("failed", 20)
        assert "None of the first 20 texts can be read" in run.error
        assert "“…Is it”" in run.error
        assert "enable_thinking=False" in run.error
        run = answering.run(ask_again(run))
        assert run.status == "finished", "a person has looked"

    def test_a_question_that_a_filter_keeps_back_stops_nothing_when_it_goes_on(
        self, stub: ChatStub
    ) -> None:
        stub.script = ["flagged", "forbidden", "", "401"]
        run = answering.run(stored_run(stub, study_with_questions(4)))
        assert (run.status, finishes(run)) == ("failed", ["filtered", "failed", "stop"])
        stub.script = ["forbidden"]
        run = answering.run(ask_again(run))
        assert (run.status, finishes(run)) == ("finished", ["filtered", "failed", "stop", "stop"])
        assert len(stub.requests) == 4 + 2

    def test_on_a_study_without_questions_is_refused(self, stub: ChatStub) -> None:
        with pytest.raises(ScoringError, match="does not have an accepted question"):
            stored_run(stub, make_study())
        assert not LanguageModel.objects.exists()


def ask_again(run: AnsweringRun) -> AnsweringRun:
    return leases.reopen(run, also_finished=True)


class TestResumed:
    def test_asks_what_failed_again_and_nothing_that_was_answered(self, stub: ChatStub) -> None:
        stub.script = ["", "500", "refuses"]
        run = answering.run(stored_run(stub, study_with_questions(3)))
        rows = set(run.answers.values_list("pk", flat=True))
        assert answering.can_resume(run)
        assert newest_same(run) == run
        run = answering.run(ask_again(run))
        assert set(run.answers.values_list("pk", flat=True)) == rows, "grades are of these"
        assert len(stub.requests) == 4
        assert finishes(run) == ["stop", "stop", "refused"]
        assert (run.done, run.answers.count()) == (3, 3)
        assert not answering.can_resume(run)

    def test_does_not_go_on_as_another_model(self, stub: ChatStub) -> None:
        stub.script = ["", "401"]
        run = answering.run(stored_run(stub, study_with_questions(3)))
        AnsweringRun.objects.update(identity=run.identity | {"revision": "0" * 40, "model": "m"})
        run = answering.run(ask_again(run))
        assert (run.status, run.done, len(stub.requests)) == ("failed", 1, 2)
        assert run.error == (
            "The model has changed since this run began (model, revision). Start another run."
        )
        run.answers.all().delete()
        assert answering.run(ask_again(run)).status == "finished", "nothing is mixed"

    def test_does_not_go_on_as_one_of_which_more_is_said(
        self, stub: ChatStub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stub.script = ["", "500"]
        run = answering.run(stored_run(stub, study_with_questions(3)))
        now = run.identity | {"tokenizer_sha256": "1", "machine": "another"}
        monkeypatch.setattr(ChatGenerator, "identity", lambda _: now)
        run = answering.run(ask_again(run))
        assert run.status == "failed"
        assert "(tokenizer_sha256)" in run.error

    def test_goes_on_after_a_budget_with_more(self, stub: ChatStub) -> None:
        stub.text_of = lambda request: "word " * 200
        run = answering.run(stored_run(stub, study_with_questions(4), budget_tokens=1800))
        assert (run.status, 0 < run.done < 4) == ("cancelled", True)
        assert f"Questions left: {4 - run.done}." in run.error
        assert answering.spent(run).usage.total <= 1800
        AnsweringRun.objects.update(budget_tokens=100_000)
        run = answering.run(leases.reopen(run))
        assert (run.status, run.done, len(stub.requests)) == ("finished", 4, 4)

    def test_is_the_newest_of_the_same_settings_whatever_it_may_cost(self, stub: ChatStub) -> None:
        study = study_with_questions(2)
        run = stored_run(stub, study)
        same = stored_run(stub, study, budget_tokens=10**6)
        assert newest_same(run) == same
        other = stored_run(stub, study, instructions="Be brief.")
        assert other.fingerprint != run.fingerprint
        assert stored_run(stub, study, limit=1).fingerprint != run.fingerprint


def test_the_embedded_model_answers_in_batches() -> None:
    study = study_with_questions(3)
    run = answering.answering_run(study, Asked("embedded", {"max_tokens": "4"}))
    run.save()
    run = answering.run(run)
    assert (run.status, Answer.objects.count()) == ("finished", 3)
    assert run.language_model.is_demo
    assert run.model_name == "embedded"
