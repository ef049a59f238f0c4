"""`make trust` in short form; and what it looks for is found once it is there."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache

from benchmarks.trust import record
from benchmarks.trust.audit import out_of_step
from benchmarks.trust.faults import FAULTS
from benchmarks.trust.fuzz import journey, sending
from benchmarks.trust.fuzz.broken import Sent
from benchmarks.trust.fuzz.cases import Tally
from benchmarks.trust.fuzz.forms import People
from benchmarks.trust.fuzz.material import prepare
from benchmarks.trust.outcome import Figure, Outcome
from experiment.models import AuditEvent, ItemCount
from experiment.participant import views
from experiment.services import audit, taking_part
from tests.conftest import FORBID_SKIPS
from tests.factories import make_participant, make_study

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_the_site_survives_every_fault_in_short_form(database: str) -> None:
    command = [
        "-m",
        "benchmarks",
        "trust",
        "--short",
        "--seed",
        "1",
        "--json",
        "--database",
        database,
    ]
    done = subprocess.run(
        [sys.executable, *command], cwd=settings.BASE_DIR, capture_output=True, text=True
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    problems = {row["check"]: row for row in found["results"] if row["problems"]}
    assert not problems, json.dumps(problems, indent=1)
    assert done.returncode == 0, done.stderr
    assert not (found["skipped"] and FORBID_SKIPS), found["skipped"]


def test_the_page_in_docs_is_written_from_the_numbers_beside_it() -> None:
    kept = settings.BASE_DIR / "docs" / "trust.json"
    assert kept.with_suffix(".md").read_text() == record.page(record.read(kept), FAULTS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lost": 1},
        {"doubled": 1},
        {"errors": 1},
        {"problems": ("a drift",)},
        {"recovery_s": 31.0},
        {"figures": (Figure("wait", 3.0, "s", 2.0),)},
    ],
)
def test_an_outcome_is_red_for_each_thing_that_must_not_be(wrong: dict[str, Any]) -> None:
    green = Outcome(1, acknowledged=5, stored=5, unavailable=9, recovery_s=29.0)
    assert green.is_green
    assert not replace(green, **wrong).is_green


@pytest.mark.django_db
def test_counters_that_differ_from_the_rows_are_found() -> None:
    study = make_study()
    make_participant(study)
    assert list(out_of_step()) == []
    ItemCount.objects.filter(study=study).update(assigned=9)
    assert any(line.startswith("counter:") for line in out_of_step())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mistake", ["writes", "fails"])
def test_a_refused_form_that_wrote_something_and_one_that_fails_are_found(
    monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    def wrong(*args: Any, **kwargs: Any) -> Any:
        if mistake == "fails":
            raise KeyError("agree")
        audit.record(AuditEvent.Action.STUDY_CHANGED)
        return find(*args, **kwargs)

    find = views.returns.find_by_code
    people, tally = People(prepare().study), Tally()
    form = people.form("return")
    monkeypatch.setattr(views.returns, "find_by_code", wrong)
    sent = Sent(form.sent.path, [*form.sent.fields, ("code", "AAAA")], form.sent.cookies)
    sending._try(form, sent, people, tally)
    assert len(tally.problems) == 1
    assert tally.errors == (mistake == "fails")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_broken", [True, False])
def test_a_journey_finds_an_answer_that_is_told_and_not_stored(
    monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    """Without the mistake the same journeys find nothing."""
    if is_broken:
        monkeypatch.setattr(taking_part, "insert", lambda judgment: None)
    user = prepare().user
    cache.clear()
    tally = journey.run(user, 2, 3)
    assert bool(tally.problems) is is_broken, tally.problems
    assert tally.cases > 0
