"""The command `grade`: judges by their kinds, rubric and prompt from files, what is left with --resume."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from experiment.models import Study
from scoring.models import AnsweringRun, GradingRun
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.commands import called, json_of, refusal
from tests.scoring.services.grading.rows import make_answers, make_empty_study, make_written

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_empty_study()


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(lambda request: "3") as stub:
        yield stub


def grade(*arguments: object) -> dict[str, Any]:
    return json_of("grade", "--study", "genes", *arguments)


def told(*arguments: object) -> str:
    """On stderr."""
    return called("grade", "--study", "genes", *arguments)[1]


def refused(*arguments: object) -> str:
    return refusal("grade", "--study", "genes", *arguments)


def by_chat(stub: ChatStub) -> tuple[str, ...]:
    args = f"base_url={stub.url},model={MODEL},timeout=2,retry_seconds=1,tries=1,concurrency=1"
    return ("--judge", "chat", "--model_args", args)


def test_it_counts_what_became_of_each_model_s_answers(study: Study) -> None:
    make_answers(study, ["gene 1", "I do not know", ("", "filtered")])
    make_answers(study, ["Gene 7."], "lab/other")
    make_written(study, "Gene 1")

    found = grade("--judge", "exact", "--people")

    assert found["status"] == "finished"
    assert found["models"] == {
        "other": {"n": 1, "good": 0, "abstained": 0, "bad": 1, "unparsed": 0},
        "people": {"n": 1, "good": 1, "abstained": 0, "bad": 0, "unparsed": 0},
        "secret-model-9": {"n": 3, "good": 1, "abstained": 1, "bad": 0, "unparsed": 1},
    }


def test_it_says_before_it_starts_what_it_costs(study: Study, stub: ChatStub) -> None:
    make_answers(study, ["one", "two", ("", "filtered")])
    (told,) = grade(*by_chat(stub), "--count-tokens")["runs"]
    assert (told["requests"], told["n_counted"], len(stub.requests)) == (2, 2, 2)
    (told,) = grade("--judge", "exact", "--dry-run")["runs"]
    assert told["requests"] == 0
    assert not GradingRun.objects.exists()


def test_rubric_and_prompt_come_from_files(study: Study, stub: ChatStub, tmp_path: Path) -> None:
    make_answers(study, ["one"])
    rubric, prompt = tmp_path / "rubric.json", tmp_path / "prompt.txt"
    levels = [{"points": 10, "label": "right"}, {"points": 0, "label": "wrong"}]
    rubric.write_text(json.dumps({"name": "Ten", "levels": levels, "good_from": "1/2"}))
    prompt.write_text("Grade like a cook. {rubric} {braces}")

    found = grade(*by_chat(stub), "--rubric", rubric, "--prompt", prompt)

    assert found["models"]["secret-model-9"]["bad"] == 1  # 3 of 10
    told = stub.requests[0]["messages"][0]["content"]
    assert told.startswith("Grade like a cook.")
    assert "10.0: right" in told
    assert told.endswith("{braces}")


def test_resume_takes_in_the_answers_of_a_model_that_came_since(
    study: Study, stub: ChatStub
) -> None:
    make_answers(study, ["a", "b", "c"])
    make_answers(study, ["x", "y"], "lab/open", status="failed")
    AnsweringRun.objects.filter(fingerprint="lab/open").update(status="running")
    stub.script = ["", "401"]
    refused(*by_chat(stub))
    stub.script = []
    AnsweringRun.objects.filter(fingerprint="lab/open").update(status="finished")

    faster = [part.replace("concurrency=1", "concurrency=2") for part in by_chat(stub)]
    found = grade(*faster, "--resume")

    assert {name: counts["good"] for name, counts in found["models"].items()} == {
        "open": 2,
        "secret-model-9": 3,
    }
    assert len(stub.requests) == 2 + 4
    run = GradingRun.objects.get()
    assert (run.status, run.done, run.total) == ("finished", 5, 5)
    assert run.model_args["concurrency"] == "2"

    make_answers(study, ["z"], "lab/newest")
    make_written(study, "mine")
    assert grade(*by_chat(stub), "--people", "--resume")["models"]["people"]["good"] == 1
    assert GradingRun.objects.get().done == 7
    assert len(stub.requests) == 8


def test_resume_asks_nothing_that_another_run_of_the_judge_has_asked(
    study: Study, stub: ChatStub
) -> None:
    first, second = (make_answers(study, ["a", "b"], f"lab/model-{n}") for n in (1, 2))
    for number in (first.pk, second.pk):
        grade(*by_chat(stub), "--runs", number)
    third = make_answers(study, ["a"], "lab/model-3")

    grade(*by_chat(stub), "--resume")

    assert len(stub.requests) == 5
    assert [run.runs for run in GradingRun.objects.order_by("pk")] == [
        [first.pk],
        [second.pk, third.pk],
    ]
    make_answers(study, ["b"], "lab/model-1")
    grade(*by_chat(stub), "--of", "lab/model-1", "--resume")
    assert len(stub.requests) == 6
    assert len(GradingRun.objects.get(pk=GradingRun.objects.earliest("pk").pk).runs) == 2


def test_resume_without_a_run_says_so_and_begins_nothing_beside_one_that_is_left(
    study: Study, stub: ChatStub, tmp_path: Path
) -> None:
    make_answers(study, ["a", "b"])
    assert told(*by_chat(stub), "--resume").startswith("No earlier run has these settings")
    assert told(*by_chat(stub), "--resume") == ""
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Grade. {rubric}")
    stub.script = ["", "401"]
    other = (*by_chat(stub), "--prompt", str(prompt))
    refused(*other)
    another = tmp_path / "another.txt"
    another.write_text("Grade well. {rubric}")
    runs = ("--runs", AnsweringRun.objects.get().pk, "--prompt", another)
    said = refused(*by_chat(stub), *runs, "--resume")
    assert "with other settings has reached 1 of 2" in said
    assert GradingRun.objects.count() == 2
    assert "has stopped at 1 of 2; --resume would continue it" in told(*other)


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        (("--judge", "exact", "--runs", "first"), "--runs"),
        (("--judge", "exact", "--model_args", "a=b"), "argument"),
        (("--judge", "exact", "--rubric", "no-rubric.json"), "--rubric"),
    ],
)
def test_impossible_arguments_are_refused_in_one_sentence(
    study: Study, tmp_path: Path, arguments: tuple[str, ...], about: str
) -> None:
    make_answers(study, ["one"])
    (tmp_path / "no-rubric.json").write_text("{")
    named = [str(tmp_path / a) if a.endswith(".json") else a for a in arguments]

    said = refused(*named)

    assert about in said
    assert len(said.splitlines()) == 1


def test_the_exact_match_judge_does_not_grade_an_answer_twice(study: Study) -> None:
    make_answers(study, ["one"])
    run = grade("--judge", "exact")["run"]

    assert f"before, as run {run}" in refused("--judge", "exact")
    assert grade("--judge", "exact", "--resume")["run"] == run
    assert GradingRun.objects.count() == 1

    make_answers(study, ["two"], "lab/other")
    assert grade("--judge", "exact")["models"].keys() == {"other", "secret-model-9"}
