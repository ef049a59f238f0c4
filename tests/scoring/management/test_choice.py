"""`score --method choice`: a model chooses from a terminal; options of one method are refused with the other."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiment.models import Study
from scoring.models import ChoiceRun, LanguageModel
from tests.factories import make_study
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.commands import called, json_of, refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(lambda request: '{"side": "A", "confidence": 75}') as stub:
        yield stub


@pytest.fixture
def study() -> Study:
    return make_study(human=2, machine=1)


def asked(stub: ChatStub, study: Study, *more: str) -> list[str]:
    args = ",".join(f"{name}={value}" for name, value in stub.args().items())
    return [
        "--model",
        "chat",
        "--model_args",
        args,
        "--study",
        study.slug,
        "--method",
        "choice",
        *more,
    ]


def test_a_chat_model_chooses_and_the_table_says_what_came_of_it(
    stub: ChatStub, study: Study
) -> None:
    told, _, error = called("score", *asked(stub, study))
    assert error is None
    assert "50.0%" in told
    assert "100.0%" in told, "of the answers that chose A"
    run = ChoiceRun.objects.get()
    assert (run.status, run.done) == ("finished", 6)
    again = json_of("score", *asked(stub, study, "--resume"))
    (data,) = again["runs"]
    assert (data["run"], data["accuracy"], data["share_a"], data["ties"]) == (run.pk, 0.5, 1, 3)
    assert len(stub.requests) == 6


def test_requests_that_failed_make_the_command_fail_and_resume_repeats_them(
    stub: ChatStub, study: Study
) -> None:
    stub.script = ["", "error inside", "no choice"]
    out, _, error = called("score", *asked(stub, study), "--json")
    assert error is not None
    assert error.returncode != 0
    assert "2 of 6 requests of run" in str(error)
    assert str(error).endswith("The same command with --resume repeats the requests that failed.")
    assert json.loads(out)["runs"][0]["states"] == {"read": 4, "failed": 2}
    assert json_of("score", *asked(stub, study, "--resume"))["runs"][0]["judged"] == 3


def test_the_demonstration_model_is_asked_by_likelihood(study: Study) -> None:
    told = json_of("score", "--model", "embedded", "--method", "choice", "--study", study.slug)
    assert told["runs"][0]["form"] == "likelihood"
    assert told["runs"][0]["test_cases"] == 3


def test_a_dry_run_asks_nothing(stub: ChatStub, study: Study, tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("Which is true?\n{versions}")
    more = ("--dry-run", "--samples", "2", "--prompt_file", str(prompt))
    prices = ("--prompt_price", "1", "--completion_price", "2")
    told = json_of("score", *asked(stub, study, *more, *prices))
    assert told["runs"][0]["requests"] == 12
    assert told["runs"][0]["cost"] > 0
    assert stub.requests == []
    assert not ChoiceRun.objects.exists()
    assert not LanguageModel.objects.exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--method", "choice", "--conditions", "swapped"], "--conditions needs"),
        (["--method", "choice", "--workers", "2"], "--workers needs"),
        (["--samples", "3"], "--samples needs --method choice"),
        (["--dry-run"], "needs --method choice"),
        ([], "Use --method choice"),
    ],
)
def test_options_of_the_other_method_are_refused(
    stub: ChatStub, study: Study, more: list[str], why: str
) -> None:
    words = [word for word in asked(stub, study) if word not in ("--method", "choice")]
    assert why in refusal("score", *words, *more)


def test_runs_are_listed_and_removed(stub: ChatStub, study: Study) -> None:
    called("score", *asked(stub, study))
    run = ChoiceRun.objects.get()
    listed = json_of("score", "ls", "--method", "choice")
    assert [row["run"] for row in listed["runs"]] == [run.pk]
    assert "there is no run 99" in refusal("score", "rm", 99, "--method", "choice")
    called("score", "rm", run.pk, "--method", "choice")
    assert not ChoiceRun.objects.exists()
