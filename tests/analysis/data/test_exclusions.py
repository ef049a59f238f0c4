"""Exclusions undone: all, and each reason alone, from what is stored and from the rules of another version."""

import numpy as np
import pandas as pd
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from analysis.data.exclusions import ASSIGNED, NO_RULES, RULES, undone
from analysis.report.chapters.uncertainty.results import Choice, Sensitivity
from analysis.report.contents import chapter_named
from experiment.models import Judgment, Study
from experiment.services.by_hand import exclude_by_hand
from tests.analysis.data.scored import read
from tests.analysis.report.chapters.chapter_results import results_of
from tests.factories import answers_open, make_participant, make_user

CODES = st.lists(st.sampled_from(sorted(RULES)), unique=True, max_size=2).map(" ".join)


def kept(rows: list[tuple[str, str]]) -> dict[str, list[bool]]:
    table = pd.DataFrame(rows, columns=["reasons", "person_reasons"])
    return {one.code: one.kept.tolist() for one in undone(table)}


def test_a_reason_that_is_undone_brings_back_what_has_no_other():
    rows = [
        ("", ""),
        ("too_fast", ""),
        ("too_fast recognised", ""),
        ("", "missed_catch"),
        ("too_fast", "missed_catch"),
        ("", "not_finished"),
    ]
    assert kept(rows) == {
        ASSIGNED: [True] * 6,
        NO_RULES: [True] * 5 + [False],
        "missed_catch": [True, False, False, True, False, False],
        "not_finished": [True, False, False, False, False, True],
        "recognised": [True, False, False, False, False, False],
        "too_fast": [True, True, False, False, False, False],
    }


def test_nothing_is_undone_where_nothing_is_left_out():
    assert kept([("", "")] * 3) == {}
    assert kept([]) == {}
    assert list(kept([("", ""), ("", "not_finished")])) == [ASSIGNED, "not_finished"]


@given(st.lists(st.tuples(CODES, CODES), min_size=1, max_size=8))
def test_no_analysis_leaves_out_what_is_analysed_and_none_has_more_than_all(rows):
    analysed = np.array([not any(row) for row in rows])
    for code, chosen in kept(rows).items():
        assert np.all(chosen >= analysed), code
        assert code != ASSIGNED or all(chosen)


def rows_of(study: Study) -> dict[str, Choice]:
    found = results_of(read(study), chapter_named("sensitivity")).of(Sensitivity).sensitivity
    return {one.name: one for one in found}


@pytest.mark.django_db
def test_the_accuracy_of_people_is_given_with_each_exclusion_undone(study: Study) -> None:
    make_participant(study)
    wrong = {"correct": False}
    make_participant(study, excluded_by="missed_catch", judgment=wrong)
    make_participant(study, excluded_by="missed_catch admitted_cheating", judgment=wrong)
    make_participant(study, judged=2, judgment=wrong)
    rows = rows_of(study)
    n = study.human_items
    human = {name: (row.humans.share.n, row.humans.share.n_correct) for name, row in rows.items() if "undone" in name}  # fmt: skip
    left = len(read(study, trials="all").trials) - 3 * n
    assert human == {
        f"undone: {ASSIGNED}": (3 * n + left, n),
        f"undone: {NO_RULES}": (3 * n, n),
        "undone: missed_catch": (2 * n, n),
        "undone: admitted_cheating": (n, n),
        **({"undone: not_finished": (n + left, n)} if left else {}),
    }
    assert rows["undone: missed_catch"].difference_humans == -0.5
    assert left


@pytest.mark.django_db
def test_those_excluded_by_hand_are_told_with_their_reasons_and_brought_back(study: Study) -> None:
    make_participant(study)
    by_hand = make_participant(study, judgment={"correct": False})
    exclude_by_hand(study, by_hand.public_id, "bot", "Too even.", timezone.now(), make_user("eva"))
    row = rows_of(study)["undone: by_hand"]
    assert row.what == "Those whom the researchers excluded by hand are included."
    assert row.difference_humans == -0.5
    flow = read(study).flow
    assert flow is not None
    assert [(one.reason, one.n) for one in flow.excluded] == [("by_hand", 1)]
    assert [(one.reason, one.label, one.n) for one in flow.by_hand] == [("bot", "a bot", 1)]


@pytest.mark.django_db
def test_without_exclusions_there_is_no_such_row(study: Study) -> None:
    make_participant(study)
    assert not any("undone" in name for name in rows_of(study))
    fast = Judgment.objects.filter(trial__stratum="human").order_by("pk")[:1]
    with answers_open():
        Judgment.objects.filter(pk__in=fast.values("pk")).update(excluded_by="too_fast")
    assert rows_of(study)["as analysed"].humans.share.n == study.human_items - 1
    assert rows_of(study)["undone: too_fast"].humans.share.n == study.human_items
