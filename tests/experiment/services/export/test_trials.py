"""Each filter holds exactly the rows that the columns of the whole export say, and as many as are counted."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from experiment.domain.exclusion import Rules
from experiment.domain.trial_query import QueryError, TrialQuery, parse
from experiment.models import Judgment, Study
from experiment.services.export import trials as trial_rows
from experiment.services.export.files import export_trials
from experiment.services.export.trials import (
    After,
    completed,
    count,
    data_state,
    first_rows,
    is_quickly_counted,
)
from experiment.services.recounting import recount
from experiment.services.study_versions import revise
from tests.experiment import people
from tests.factories import NOW, answers_open, make_participant, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.drifts]
Rows = list[dict[str, Any]]


@pytest.fixture
def study() -> Study:
    """People in all states, with every reason to exclude."""
    study = make_study(recruitment="open")
    make_participant(study, external_source="prolific")
    make_participant(study, excluded_by="missed_catch admitted_cheating")
    make_participant(study, excluded_by="untouched_sliders", judgment={"recognised": None})
    make_participant(study, judged=4)
    later = make_participant(study, external_source="sona")
    of_later = Judgment.objects.filter(trial__participant=later)
    with answers_open():
        of_later.update(received_at=NOW + timedelta(days=9))
        of_later.filter(trial__position=2).update(
            excluded_by="recognised too_fast", recognised=True
        )
        of_later.filter(trial__position=3).update(excluded_by="too_fast")
        of_later.filter(trial__position=4).update(received_at=None)
    study.items.filter(key__endswith="2").update(subfield="Systems/Circuits")
    recount(study, "real")
    return study


def rows(study: Study, query: TrialQuery) -> Rows:
    return first_rows(study, completed(study, query), 10_000)


def codes(row: dict[str, Any]) -> set[str]:
    return set((row["excluded_by"] or "").split())


def by(column: str, *values: Any) -> Callable[[dict[str, Any]], bool]:
    return lambda row: row[column] in values


def day(row: dict[str, Any]) -> str:
    return "" if row["received_at"] is None else str(row["received_at"])


SYSTEMS, ITEMS = "Systems/Circuits", ("memory-human-1", "memory-catch-1")
FILTERS: dict[str, tuple[dict[str, list[str]], Callable[[dict[str, Any]], bool]]] = {
    "set": ({"set": ["analysis"]}, by("included", True)),
    "status": ({"status": ["trial"]}, by("stage", "trial")),
    "channel": (
        {"channel": ["sona", "prolific"]},
        by("recruitment_source", "sona", "prolific"),
    ),
    "source": ({"source": ["machine"]}, by("item_source", "machine")),
    "subfield": ({"subfield": [SYSTEMS]}, by("subfield", SYSTEMS)),
    "item": ({"item": list(ITEMS)}, by("item_key", *ITEMS)),
    "from": ({"from": ["2026-03-03"]}, lambda row: day(row) >= "2026-03-03"),
    "to": ({"to": ["2026-03-02"]}, lambda row: "" < day(row) < "2026-03-03"),
    "recognised": ({"recognised": ["true"]}, by("recognised", True)),
    "not asked": ({"recognised": ["unknown", "false"]}, by("recognised", None, False)),
    "several": (
        {"set": ["analysis"], "source": ["human"], "subfield": [SYSTEMS]},
        lambda row: (
            row["included"] and row["item_source"] == "human" and row["subfield"] == SYSTEMS
        ),
    ),
} | {
    reason: ({"reason": [reason]}, lambda row, reason=reason: reason in codes(row))  # type: ignore[misc]
    for reason in (
        *("missed_catch", "untouched_sliders", "admitted_cheating", "not_finished"),
        *("recognised", "too_fast", "catch_trial"),
    )
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_holds_the_rows_that_their_columns_say(study: Study, name: str) -> None:
    values, is_meant = FILTERS[name]
    query = parse(values)
    expected = [row for row in rows(study, TrialQuery()) if is_meant(row)]
    assert rows(study, query) == expected != []
    assert count(study, completed(study, query)) == len(expected)


def test_participants_are_chosen_by_pseudonym(study: Study) -> None:
    person = str(study.participants.order_by("pk")[1].public_id)
    query = parse({"participant": [person.upper()]})
    found = rows(study, query)
    assert [row["participant"] for row in found] == [person] * 11
    assert count(study, completed(study, query)) == 11


@pytest.mark.parametrize("name", ["set", "source", "several", "too_fast", "missed_catch"])
def test_filters_hold_under_other_rules_too(name: str) -> None:
    study = make_study(recruitment="open")
    people.finish(study)
    make_participant(study, judgment={"rt_ms": 300_000})
    make_participant(study, judged=2)
    study.refresh_from_db()
    study.items.filter(key__endswith="2").update(subfield="Systems/Circuits")
    revise(study, rules=Rules(min_rt_ms=90_000), reason="Nobody reads so fast.")
    revise(study, rules=Rules(min_rt_ms=0), reason="Somebody does.")
    values, is_meant = FILTERS[name]
    query = parse(values | {"rules": ["2"]})
    everything = rows(study, TrialQuery(rules=2))
    assert {row["rules_version"] for row in everything} == {2}
    expected = [row for row in everything if is_meant(row)]
    assert rows(study, query) == expected
    assert count(study, completed(study, query)) == len(expected)


@pytest.mark.parametrize("name", ["subfield", "item", "channel", "participant", "rules"])
def test_values_that_the_study_does_not_have_are_refused(study: Study, name: str) -> None:
    values = {"participant": "0b3b1c6e-3b44-4a43-8df4-5d8f4e4f2a11", "rules": "1"}
    query = parse({name: [values.get(name, "nothing")]})
    with pytest.raises(QueryError) as caught:
        completed(study, query)
    assert [problem.name for problem in caught.value.problems] == [name]


def test_reading_goes_on_after_any_row(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial_rows, "ROWS", 5)
    query = completed(study, TrialQuery())
    everything = first_rows(study, query, 10_000)
    read: Rows = []
    while page := first_rows(
        study, query, 7, After(read[-1]["participant"], read[-1]["position"]) if read else None
    ):
        read += page
    assert read == everything


def test_no_rows_of_settled_participants_are_read_to_count_or_to_tell_the_state_of_the_data() -> (
    None
):
    study = make_study(recruitment="open")
    make_participant(study)
    people.answer(people.start(study), until=4)
    humans = replace(completed(study, parse({"source": ["human"]})), set="analysis")
    for ask in (
        lambda: count(study, TrialQuery("all", "real")),
        lambda: count(study, humans),
        lambda: data_state(study, TrialQuery("all", "real")),
        lambda: data_state(study, TrialQuery("analysis", "real")),
    ):
        with CaptureQueriesContext(connection) as seen:
            ask()
        for sql in (query["sql"] for query in seen.captured_queries):
            if "experiment_participant" in sql or "experiment_judgment" in sql:
                # Those under way, and then their rows by key
                assert re.search(r'"left_at" IS NULL|"(participant_)?id" IN \(', sql), sql


def test_many_decisions_are_not_made_for_a_page(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    people.finish(study)
    study.refresh_from_db()
    revise(study, rules=Rules(min_rt_ms=90_000), reason="Nobody reads so fast.")
    old = completed(study, TrialQuery(rules=1))
    assert is_quickly_counted(study, old)
    monkeypatch.setattr(trial_rows, "MOST_DECIDED", 30)
    assert not is_quickly_counted(study, old)
    assert is_quickly_counted(study, completed(study, TrialQuery(rules=2)))


def test_a_manifest_counts_what_the_file_holds(study: Study) -> None:
    query = parse({"source": ["human"], "reason": ["too_fast", "missed_catch"]})
    held = rows(study, query)
    made = export_trials(study, query, io.BytesIO())
    assert made.rows == len(held)
    assert made.participants == len({row["participant"] for row in held}) == 2
    assert made.items == len({row["item_key"] for row in held})
    assert made.query == {
        "set": "all",
        "kind": "real",
        "source": ["human"],
        "reason": ["missed_catch", "too_fast"],
    }
