"""Facts of a model in a study: as published or as an administrator wrote, else as runs that count there found."""

from pathlib import Path
from typing import Any

import pytest

from analysis.data.version import data_version
from experiment.models import Study
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import Answer, GradingRun, LanguageModel
from scoring.services.answering_cost import costs
from scoring.services.asking.settings import Asked
from scoring.services.choosing import runs as choosing
from scoring.services.execute import execute
from scoring.services.grading.plans import summary
from scoring.services.model_facts import known_in
from scoring.services.open_model import ensure_language_model, language_model
from scoring.services.runs import create_run
from tests.analysis.data.choosing import choose
from tests.analysis.data.scored import read, score
from tests.factories import make_other_study, make_study, make_user
from tests.scoring.services.grading.rows import make_answers
from tests.scoring.tiny_models import save_gpt2

pytestmark = pytest.mark.django_db
NAME = "lab/secret-9b"


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def other(study: Study) -> Study:
    return make_other_study(study)


def facts(study: Study, name: str = NAME) -> tuple[int | None, bool]:
    return known_in(LanguageModel.objects.filter(name=name), study).values_list("size", "chat")[0]


def test_facts_that_a_run_finds_are_not_written_into_the_shared_row(
    study: Study, tmp_path: Path
) -> None:
    row = ensure_language_model(NAME)
    args = {"pretrained": str(save_gpt2(tmp_path / "tiny"))}
    scored = create_run(
        study=study, language_model=row, backend="transformers", model_args=args, limit=1
    )
    assert execute(scored).status == "finished"
    chosen = choosing.start(
        choosing.choice_run(study, Asked("hf", args), name=NAME, limit=1), make_user("ruth", study)
    )
    assert choosing.run(chosen).error == ""
    language_model("chat", "lab/served")
    row.refresh_from_db()
    assert row.n_parameters is None
    size = scored.identity["n_parameters"]
    assert size > 0
    assert facts(study) == (size, False)


def test_a_study_takes_facts_of_a_model_from_the_runs_that_count_in_it(
    study: Study, other: Study
) -> None:
    score(study, NAME)
    before = data_version(study)
    mallory = make_user("mallory", other)
    score(other, NAME, identity={"n_parameters": 1}, created_by=mallory)
    choose(other, NAME, created_by=mallory)
    assert (facts(study), facts(other)) == ((None, False), (1, True))
    assert data_version(study) == before
    score(study, NAME, identity={"n_parameters": 9})
    score(other, NAME, identity={"n_parameters": 2}, is_site_wide=True)
    choose(study, NAME)
    assert facts(study) == (9, True)
    models = read(study).models.set_index("method")
    assert models.loc["perplexity", ["n_parameters", "is_chat"]].tolist() == [9.0, True]


@pytest.mark.parametrize("found", [{"n_parameters": None}, {}])
def test_published_facts_go_first_and_missing_ones_are_unknown(
    study: Study, found: dict[str, Any]
) -> None:
    ensure_language_model("gpt2")
    score(study, "gpt2", identity={"n_parameters": 1})
    choose(study, "gpt2")
    assert facts(study, "gpt2") == (124_000_000, False)
    score(study, NAME, identity=found)
    assert facts(study) == (None, False)


def test_two_models_of_one_last_part_have_their_whole_names_in_tables(study: Study) -> None:
    """In any table of a study that has both; another lab's models change nothing."""
    names = ("lab/secret-9b", "evil/Secret-9b", "lab/small")
    for name in names:
        assert ensure_language_model(name).display_name == name.partition("/")[2]
        score(study, name)
    assert set(read(study).models["display_name"]) == {*names[:2], "small"}
    answered = [make_answers(study, ["one"] * (n + 1), name) for n, name in enumerate(names)]
    assert {cost.display_name for cost in costs(study)} == {*names[:2], "small"}
    run = GradingRun.objects.create(study=study, rubric=BIOSCORE.to_json(), runs=[])
    for answer in Answer.objects.filter(run__in=answered):
        run.grades.create(answer=answer, points=2, seconds=1)
    assert {name: found["n"] for name, found in summary(run).items()} == {
        "lab/secret-9b": 1, "evil/Secret-9b": 2, "small": 3,
    }  # fmt: skip


def test_a_model_that_is_not_published_is_not_shown_as_a_published_one() -> None:
    shown = {ensure_language_model(name).display_name for name in ("evil/Llama-2-7B", "evil/new")}
    assert shown == {"evil/Llama-2-7B", "new"}
