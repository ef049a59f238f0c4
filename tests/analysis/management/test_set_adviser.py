"""A study's adviser, set and frozen by a command."""

import pytest
from django.core.management import CommandError

from experiment.models import Advice, Adviser, Study
from tests.analysis.data.choosing import choose
from tests.experiment.lab_client import run, run_json
from tests.factories import make_arms, make_study, make_user

pytestmark = pytest.mark.django_db
NAMED = ("--name", "a language model")


@pytest.fixture
def study() -> Study:
    study = make_study(human=20, machine=10)
    make_arms(study, {}, {"advice": "after"})
    return study


def test_a_model_is_set_and_frozen_and_the_study_can_be_tried(study: Study) -> None:
    choose(study, "org/a")
    rita = make_user("rita", study)
    told = run_json(
        "set_adviser", study.slug, "--models", "org/a (asked)", *NAMED, "--by", rita.username
    )
    adviser = Adviser.objects.get()
    assert (adviser.kind, adviser.source, Advice.objects.count()) == ("model", "org/a (asked)", 30)
    assert told["frozen"] == adviser.version
    assert told["frozen"]["test_cases"] == 30
    run("simulate_participants", study.slug, "--finish", "2", "--dropout", "0")


def test_an_impossible_adviser_is_refused_with_the_possible_ones(study: Study) -> None:
    choose(study, "org/a")
    for given, said in (
        (("--models", "org/b"), r"no model “org/b”\. Choose from org/a \(asked\)"),
        (("--people", "real"), "No real participants"),
        (("--planted", "40"), "greater than or equal to 0.5"),
        (("--models", "org/a (asked)", "--by", make_user("otto").username), "not a researcher"),
    ):
        with pytest.raises(CommandError, match=said):
            run("set_adviser", study.slug, *given, *NAMED)
    assert not Adviser.objects.exists()


def test_without_an_arm_that_has_advice_nothing_is_frozen() -> None:
    study = make_study()
    shown = run("set_adviser", study.slug, "--planted", "70", *NAMED)
    assert "nothing was frozen" in shown
    assert Adviser.objects.get().frozen_at is None


def test_a_study_without_test_cases_is_said_to_have_no_advice() -> None:
    study = make_study(human=0, machine=0)
    make_arms(study, {}, {"advice": "after"})
    assert "no test cases yet" in run("set_adviser", study.slug, "--planted", "70", *NAMED)
