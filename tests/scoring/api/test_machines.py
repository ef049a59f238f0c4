"""Models, runs, scores and answers through the API, and runs that are started and stopped there."""

from typing import Any

import pytest

from experiment.models import AuditEvent, Study
from scoring.models import AnsweringRun, ItemScore, ModelSet, ScoringRun
from scoring.services import answering
from tests.analysis.data.choosing import choose, refuses_a
from tests.api_client import Program, named, problem
from tests.factories import make_study, make_user
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.lab.rows import ask, finish, published
from tests.scoring.services.answering.made import stored_run, study_with_questions

pytestmark = pytest.mark.django_db
ROOT = "studies/memory/"


@pytest.fixture
def ruth(study: Study) -> Program:  # type: ignore[override]
    return Program(make_user("ruth", study))


def test_models_are_those_that_scored_here_and_those_of_the_set(
    ruth: Program, study: Study
) -> None:
    run = published(study, "gpt2")
    of_set = ask(make_study("other"), "lab/listed").language_model
    ask(make_study("third"), "lab/elsewhere")
    ModelSet.objects.create(study=study, name="set").members.create(
        language_model=of_set, position=1
    )
    models = ruth.all_pages(ROOT + "models/")
    assert [row["model"] for row in models] == [run.language_model.name, of_set.name]


def test_runs_tell_how_far_they_are_and_what_they_came_to(ruth: Program, study: Study) -> None:
    finished, waiting = finish(ask(study, "lab/a"), right=9), ask(study, "lab/b")
    rows = {row["run"]: row for row in ruth.all_pages(ROOT + "runs/", limit=1)}
    assert rows[finished.pk]["accuracy"] == pytest.approx(9 / 12)
    assert (rows[finished.pk]["n_scored"], rows[finished.pk]["status"]) == (12, "finished")
    assert (rows[waiting.pk]["accuracy"], rows[waiting.pk]["n_scored"]) == (None, 0)
    assert ruth.get(f"{ROOT}runs/{finished.pk}/").json() == rows[finished.pk]
    assert [row["run"] for row in ruth.all_pages(ROOT + "runs/", status="waiting")] == [waiting.pk]
    assert problem(ruth.get(f"{ROOT}runs/{10**30}/")) == (404, "not_found")


def test_a_run_of_a_study_that_the_token_does_not_open_says_not_whose_it_is(
    ruth: Program, study: Study
) -> None:
    other = make_study("other")
    other.study_items.create(item=study.items.get(key="memory-human-1"))
    run = ask(other, "lab/a")
    ScoringRun.objects.update(error="No such file: /home/theirs")
    item = study.items.get(key="memory-human-1")
    ItemScore.objects.create(run=run, item=item, ppl_original=1.0, ppl_altered=2.0)

    def told() -> list[tuple[Any, Any]]:
        rows = [ruth.get(f"{ROOT}runs/{run.pk}/").json(), *ruth.all_pages(ROOT + "runs/")]
        return [(row["study"], row["error"]) for row in rows]

    assert told() == [(None, None)] * 2
    assert "theirs" not in ruth.get(ROOT + "runs/", format="jsonl").getvalue().decode()
    other.members.add(*study.members.all())
    assert told() == [("other", "No such file: /home/theirs")] * 2


def test_scores_are_of_what_the_study_shows(ruth: Program, study: Study) -> None:
    run = finish(ask(study, "lab/a"), right=9)
    finish(ask(make_study("other"), "lab/a"), right=1)
    rows = ruth.all_pages(ROOT + "scores/", limit=5)
    assert {row["run"] for row in rows} == {run.pk}
    assert (len(rows), sum(row["correct"] for row in rows)) == (12, 9)
    assert len(ruth.all_pages(ROOT + "scores/", source="machine", run=run.pk)) == 4
    assert ruth.get(ROOT + "scores/", format="csv").getvalue().count(b"\n") == 13


@pytest.mark.parametrize("name", ["models/", "runs/", "scores/", "choice-runs/", "choices/"])
def test_many_rows_cost_no_more_queries_than_one(
    ruth: Program, study: Study, name: str, django_assert_max_num_queries: Any
) -> None:
    finish(ask(study, "lab/0"), right=3)
    choose(study, "lab/0")
    ruth.get(ROOT + name)
    with django_assert_max_num_queries(8) as one:
        ruth.get(ROOT + name, limit=1)
    for n in range(1, 8):
        finish(ask(study, f"lab/{n}"), right=3)
        choose(study, f"lab/{n}")
    with django_assert_max_num_queries(8) as many:
        ruth.get(ROOT + name)
    assert len(one) == len(many)


def test_a_run_is_started_and_stopped_and_both_are_in_the_trail(
    ruth: Program, study: Study
) -> None:
    asked = {"model": "hf", "model_args": {"pretrained": "lab/tiny"}, "conditions": ["full"]}
    response = ruth.post(ROOT + "runs/start/", asked)
    assert response.status_code == 202
    run = ScoringRun.objects.get()
    assert [row["run"] for row in response.json()["started"]] == [run.pk]
    assert (run.created_by.username, run.study, run.status) == ("ruth", study, "waiting")
    again = ruth.post(ROOT + "runs/start/", asked).json()
    assert (again["started"], [row["run"] for row in again["known"]]) == ([], [run.pk])
    stopped = ruth.post(f"{ROOT}runs/{run.pk}/stop/")
    assert (stopped.status_code, stopped.json()["status"]) == (200, "cancelled")
    events = AuditEvent.objects.filter(action__startswith="work").values_list("actor", "action")
    assert list(events) == [("ruth", "work_started"), ("ruth", "work_stopped")]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"conditions": ["sideways"]}, "conditions.0"),
        ({"model_args": {"trust_remote_code": "True"}}, "model_args"),
        ({"model_args": {"pretrained": "/etc"}}, "model_args"),
        ({"limit": 0}, "limit"),
        ({"shell": "rm"}, "shell"),
    ],
)
def test_a_run_that_cannot_be_meant_is_refused_by_its_field(
    ruth: Program, change: dict[str, Any], name: str
) -> None:
    asked = {"model": "hf", "model_args": {"pretrained": "lab/tiny"}}
    assert named(ruth.post(ROOT + "runs/start/", asked | change)) == [name]
    assert not ScoringRun.objects.exists()


def test_a_run_of_an_import_cannot_be_stopped(ruth: Program, study: Study) -> None:
    run = published(study)
    assert problem(ruth.post(f"{ROOT}runs/{run.pk}/stop/")) == (404, "not_found")


class TestAnswers:
    @pytest.fixture
    def study(self) -> Study:
        return study_with_questions(3)

    @pytest.fixture
    def run(self, stub: ChatStub, study: Study) -> AnsweringRun:
        stub.script = ["", "refuses", ""]
        return answering.run(stored_run(stub, study))

    def test_answers_come_with_how_they_ended_and_what_they_took(
        self, ruth: Program, run: AnsweringRun
    ) -> None:
        rows = ruth.all_pages(ROOT + "answers/", limit=2)
        assert [(row["item_key"], row["text"], row["finish"]) for row in rows] == [
            ("memory-q001", "Yes.", "stop"),
            ("memory-q002", "", "refused"),
            ("memory-q003", "Yes.", "stop"),
        ]
        assert rows[0]["prompt_tokens"] == run.answers.get(item__key="memory-q001").prompt_tokens
        (refused,) = ruth.all_pages(ROOT + "answers/", finish="refused", run=run.pk)
        assert refused["detail"] == "I cannot help with that."
        assert ruth.all_pages(ROOT + "answers/", model="another") == []

    def test_runs_tell_how_far_they_are_and_what_the_model_was_told(
        self, ruth: Program, run: AnsweringRun, study: Study
    ) -> None:
        elsewhere = study_with_questions(1, "sleep")
        AnsweringRun.objects.create(study=elsewhere, language_model=run.language_model)
        (row,) = ruth.all_pages(ROOT + "answering-runs/", model=MODEL)
        assert (row["run"], row["done"], row["total"]) == (run.pk, 3, 3)
        assert row["instructions"] == run.instructions
        assert ruth.all_pages(ROOT + "answering-runs/", status="waiting") == []


class TestChoices:
    def test_choices_come_with_the_order_that_was_shown(self, ruth: Program, study: Study) -> None:
        run = choose(study, "lab/a", refuses_a)
        choose(make_study("other"), "lab/a")
        rows = ruth.all_pages(ROOT + "choices/", limit=5)
        assert {row["run"] for row in rows} == {run.pk}
        assert len(rows) == run.choices.count()
        assert {(row["original_side"], row["side"], row["finish"]) for row in rows} == {
            ("A", "", "refused"),
            ("B", "B", "stop"),
        }
        named = {"finish": "refused", "source": "human", "run": run.pk, "model": "lab/a"}
        assert len(ruth.all_pages(ROOT + "choices/", **named)) == 8

    def test_runs_say_how_the_model_was_asked(self, ruth: Program, study: Study) -> None:
        run = choose(study, "lab/a", samples=2)
        choose(make_study("other"), "lab/b")
        (row,) = ruth.all_pages(ROOT + "choice-runs/")
        assert (row["run"], row["model"], row["samples"]) == (run.pk, "lab/a", 2)
        assert row["prompt_sha256"] == run.prompt_sha256
        assert ruth.all_pages(ROOT + "choice-runs/", form="likelihood") == []
        assert [row["model"] for row in ruth.all_pages(ROOT + "models/")] == ["lab/a"]
