"""A report under any version of the study's rules, and the version that it names."""

import pytest
from django.core.management import CommandError, call_command

from analysis.data import read as data_reader
from analysis.data.filters import ReportOptions, UnknownChoiceError
from analysis.report.services.make import make_report
from experiment.domain.exclusion import Rules
from experiment.models import Study
from experiment.services.study_versions import revise
from tests.experiment import people
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.django_db
BEFORE, AFTER = Rules(), Rules(min_rt_ms=90_000, untouched_sliders="either")


@pytest.fixture
def study() -> Study:
    """Version 2 leaves out all that took 60 s, and whoever moved one slider only; somebody left early."""
    study = make_study(recruitment="open")
    people.finish(study)
    for changes in ({"rt_ms": 300_000}, {"rt_ms": 300_000, "expertise_moved": False}):
        make_participant(study, judgment=changes)
    make_participant(study, judged=4)
    revise(study, rules=AFTER, reason="Nobody reads so fast.")
    return study


def read(study: Study, rules: int | None, trials: str = "analysed"):
    return data_reader.read(study, ReportOptions(rules=rules, trials=trials))["human"]


def test_a_version_decides_which_trials_are_analysed(study: Study) -> None:
    assert len(read(study, 1).trials) == 3 * 6
    assert len(read(study, 2).trials) == 6
    assert len(read(study, 1, trials="all").trials) == len(read(study, None, trials="all").trials)


@pytest.mark.parametrize(("number", "rules"), [(1, BEFORE), (2, AFTER)])
def test_rules_that_are_only_applied_count_like_rules_that_are_stored(
    study: Study, number: int, rules: Rules
) -> None:
    applied = read(study, number)
    revise(study, rules=rules, reason="To compare.")
    stored = read(study, None)
    assert applied.flow == stored.flow
    assert applied.trials.equals(stored.trials)


@pytest.fixture
def _headers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.report.services.make.chapters_about", lambda *parts: [])


@pytest.mark.usefixtures("_headers_alone")
def test_the_report_names_the_version_of_rules_and_a_new_one_makes_it_old(study: Study) -> None:
    now, then = (make_report(study, ReportOptions(rules=rules)).header for rules in (None, 1))
    assert (now.participants.rules_version, then.participants.rules_version) == (2, 1)
    assert then.options.rules == 1
    revise(study, consent="Another text.", reason="The board asked for it.")
    after = make_report(study, ReportOptions()).header
    assert after.data_version != now.data_version
    assert after.participants.rules_version == 3


def test_rules_that_never_held_are_refused(study: Study) -> None:
    with pytest.raises(CommandError, match="rules: memory does not have version 9 of its rules"):
        call_command("report", study.slug, "--json", "--rules", "9")
    make_participant(study, kind="imported")
    with pytest.raises(UnknownChoiceError, match="Imported participants keep"):
        data_reader.read(study, ReportOptions(participants="imported", rules=1))
