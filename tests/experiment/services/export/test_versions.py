"""Exports by a version of the rules, and two versions beside each other."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError

from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Study
from experiment.services.export import trials as trial_rows
from experiment.services.recounting import recount
from experiment.services.study_versions import compare_versions, revise
from tests.experiment import people
from tests.experiment.lab_client import run
from tests.experiment.services.export.command import export
from tests.factories import answers_open, make_item, make_participant, make_study

pytestmark = pytest.mark.django_db


def frozen_study() -> tuple[Study, str]:
    """A study under two versions of its rules, with two finishers; the second answered in 60 s as people.finish does."""
    study = make_study(recruitment="open")
    first = people.finish(study)
    make_participant(study, judgment={"rt_ms": 300_000})
    revise(study, rules=Rules(min_rt_ms=90_000), reason="Nobody reads so fast.")
    return study, str(first.public_id)


@pytest.mark.parametrize("rows_in_a_block", [4, 2_000])
def test_an_export_follows_the_version_of_the_rules_that_is_asked_for(
    path: Path, rows_in_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_rows, "ROWS", rows_in_a_block)
    study, fast = frozen_study()
    now = export(study, path=path)
    assert {row["rules_version"] for row in now} == {"2"}
    assert {row["trial_excluded_by"] for row in now if row["participant"] == fast} == {
        "too_fast",
        "too_fast catch_trial",
    }
    then = export(study, "--rules", "1", path=path)
    assert {row["rules_version"] for row in then} == {"1"}
    assert sum(row["included"] == "true" for row in then) == 18
    analysed = export(study, "--rules", "1", path=path, set_name="analysis")
    assert analysed == [row for row in then if row["included"] == "true"]
    assert export(study, "--rules", "2", path=path) == now
    assert len(export(study, path=path, set_name="analysis")) == 9


def test_rules_that_never_held_are_refused(path: Path) -> None:
    study, _ = frozen_study()
    with pytest.raises(CommandError, match="does not have version 7 of its rules"):
        export(study, "--rules", "7", path=path)
    assert not path.exists()
    make_participant(study, kind="imported")
    assert {row["rules_version"] for row in export(study, "--kind", "imported", path=path)} == {""}


def test_two_versions_are_compared_by_what_they_leave_out(path: Path) -> None:
    study, fast = frozen_study()
    found = json.loads(run("study_versions", study.slug, "--compare", "1", "2", "--json"))
    assert found["rules"] == [{"rule": "min_rt_ms", "before": 5_000, "after": 90_000}]
    assert found["participants"] == [
        {"participant": fast, "before": "", "after": "mostly_too_fast"}
    ]
    assert len(found["trials"]) == 9
    assert {(t["participant"], t["before"], t["after"]) for t in found["trials"]} == {
        (fast, "", "too_fast")
    }
    outcomes = found["before"], found["after"]
    assert [(o["participants"], o["trials"], o["accuracy"]) for o in outcomes] == [
        (2, 18, 1.0),
        (1, 9, 1.0),
    ]
    lines = run("study_versions", study.slug).splitlines()
    assert len(lines) == 3
    assert "first real participant" in lines[1]
    assert "Nobody reads so fast." in lines[2]
    # What is counted is what is exported
    for number, outcome in zip((1, 2), outcomes, strict=True):
        rows = export(study, "--rules", str(number), path=path, set_name="analysis")
        assert len(rows) == outcome["trials"]


def test_a_comparison_names_participants_and_test_cases_that_changed() -> None:
    study = make_study(recruitment="open")
    person = people.finish(study)
    judgments = Judgment.objects.filter(trial__participant=person)
    with answers_open():
        judgments.update(expertise_moved=False)
    recount(study, "real")  # behind the services' back
    extra = make_item("extra")
    revise(
        study,
        rules=Rules(untouched_sliders="either"),
        items=[*study.items.all(), extra],
        reason="The other reading.",
    )
    found = compare_versions(study, "real", 1, 2)
    assert [(p.participant, p.before, p.after) for p in found.decisions.participants] == [
        (str(person.public_id), "", "untouched_sliders")
    ]
    assert (list(found.items_added), list(found.items_removed)) == (["extra v1"], [])
    assert found.decisions.trials == []
    before, after = found.decisions.before, found.decisions.after
    assert (before.trials, after.trials, after.accuracy) == (9, 0, None)
    back = compare_versions(study, "real", 2, 1)
    assert (back.decisions.before, back.decisions.after) == (after, before)
