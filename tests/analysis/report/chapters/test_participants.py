"""The chapter on participants: who is described, what is left unsaid of few, and the paragraph of every kind of study."""

import re
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest

from analysis.codec import MissingResult
from analysis.data.dataset import Exclusion, FlowCounts, SourceData, TakingPart
from analysis.report.chapter import SourceResults
from analysis.report.chapters.participants.results import (
    SMALL,
    Participants,
    People,
    build_participants,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("participants")
FLOW = chapter_named("flow")

COUNTS = FlowCounts(
    kind="real",
    recruited=None,
    consented=26,
    started=25,
    finished=22,
    withdrawn=1,
    excluded=(Exclusion("missed_catch", "missed a catch trial", 2),),
    analysed=20,
    trials_judged=200,
    trials_excluded=(Exclusion("recognised", "recognised", 20),),
    trials_analysed=180,
)
PEOPLE = pd.DataFrame(
    {
        "gender": ["female"] * 9 + ["male"] * 7 + ["gender_variant"] * 1 + [""] * 3,
        "country": ["GB"] * 8 + ["DE"] * 6 + ["IS"] * 2 + ["FR"] * 4,
        "career": ["Doctoral student"] * 12 + ["Faculty or academic staff"] * 8,
        "age": [30.0] * 10 + [40.0] * 8 + [np.nan] * 2,
        "experience_years": [5.0] * 20,
        "minutes": np.arange(20.0, 40.0),
    }
)
REAL = TakingPart(
    kind="real",
    people=PEOPLE,
    rt_ms=np.array([30_000.0, 60_000.0, 90_000.0, np.nan]),
    first_day=date(2025, 3, 1),
    last_day=date(2025, 4, 2),
    routes={"prolific": 20, "": 6},
    other_kinds={"pilot": 3},
    ethics_number="EP/1",
    ethics_body="The Board",
)


def source_of(
    small: SourceData, own: TakingPart | None = REAL, counts: FlowCounts | None = COUNTS
) -> SourceResults:
    return results_of(replace(small, taking_part=own, flow=counts), CHAPTER, FLOW)


def people_of(source: SourceResults) -> People:
    found = source.of(Participants).people
    assert isinstance(found, People)
    return found


def paragraph(source: SourceResults) -> str:
    """What the copy button copies."""
    text = page_of(CHAPTER, source)[1]
    found = re.search(r'id="methods-text">(.*?)</p>', text, re.DOTALL)
    assert found
    return " ".join(found.group(1).split())


def test_answers_are_counted_most_frequent_first(small):
    own = people_of(source_of(small))
    assert [(g.answer, g.n) for g in own.gender.groups] == [("female", 9), ("male", 7)]
    assert [(g.answer, g.n) for g in own.country.groups] == [("GB", 8), ("DE", 6)]
    assert own.country.n_different == 4
    assert (own.age.n, own.age.mean, own.age.min, own.age.max) == (
        18,
        pytest.approx((300 + 320) / 18),
        30,
        40,
    )
    assert own.trial_s.median == 60
    assert own.minutes.median == 29.5


def test_what_few_answered_is_neither_in_the_results_nor_on_the_page(small):
    source = source_of(small)
    own = people_of(source)
    assert (own.gender.n_rest, own.country.n_rest, own.position.n_rest) == (4, 6, 0)
    page, text = page_of(CHAPTER, source)
    everything = str(own) + text + str(page.tables)
    for rare in ("gender_variant", "Gender variant", "IS", "Iceland", "FR", "France"):
        assert rare not in everything
    assert all(g.n >= SMALL for one in own.answers.values() for g in one.groups)


def test_numbers_that_fewer_than_five_gave_are_left_out(small):
    few = replace(REAL, people=PEOPLE.assign(age=[50.0] * 4 + [np.nan] * 16, minutes=np.nan))
    source = source_of(small, few)
    own = people_of(source)
    assert isinstance(own.age, MissingResult)
    assert isinstance(own.minutes, MissingResult)
    assert own.age.reason != own.minutes.reason
    assert "mean age" not in paragraph(source)
    text = page_of(CHAPTER, source)[1]
    assert "Not described: age. Fewer than 5" in text
    assert "50" not in paragraph(source)


def test_the_paragraph_of_a_study_says_who_came_who_stayed_and_when(small):
    text = paragraph(source_of(small))
    for fact in (
        "1 March 2025",
        "2 April 2025",
        "26 participants gave consent, 25 began to judge and 22 finished",
        "Prolific (20), a plain link (6)",
        "1 withdrew",
        "2 were excluded: missed a catch trial.",
        "20 participants, and 180 of 200 judged trials",
        "female (9, 45.0%), male (7, 35.0%), another one or none (4, 20.0%).",
        "34.4 years (SD = 5.1, range 30 to 40; n = 18)",
        "doctoral student (12, 60.0%), faculty or academic staff (8, 40.0%).",
        "5.0 years of experience",
        "4 countries: United Kingdom (8, 40.0%), Germany (6, 30.0%), elsewhere or not stated (6, 30.0%).",
        "60 s (quartiles 45 and 75 s)",
        "30 minutes (quartiles 25 and 34)",
        "The Board (number EP/1)",
    ):
        assert fact in text
    # Sentences end as sentences do: it is pasted into an article
    assert not re.search(r" [.,;:)]|\(\s|\.\.", text)


def test_other_kinds_are_named_but_not_described(small):
    text = page_of(CHAPTER, source_of(small))[1]
    assert "other kinds: pilot (3)." in text
    assert "pilot" not in paragraph(source_of(small))


def test_the_paragraph_of_simulated_participants_cannot_be_taken_for_people(small):
    simulated = replace(REAL, kind="simulated", other_kinds={})
    assert paragraph(source_of(small, simulated)).startswith("The participants were simulated")
    assert "no person took part" in paragraph(source_of(small, simulated))
    assert "2025" not in paragraph(source_of(small, simulated))


def test_an_import_says_what_was_left_out_before_it(small):
    counts = replace(
        COUNTS,
        kind="imported",
        recruited=23,
        consented=None,
        started=None,
        finished=None,
        withdrawn=0,
        excluded=(Exclusion("before_publication", "left out before publication", 3),),
        is_after_publication=True,
    )
    imported = replace(REAL, kind="imported", first_day=None, last_day=None, routes={})
    text = paragraph(source_of(small, imported, counts))
    assert "published before. 23 participants finished. 3 were left out before publication." in text
    assert "Data were collected" not in text


def test_nobody_in_the_analysis_leaves_the_course_of_the_study(small):
    begun = replace(
        COUNTS, started=3, finished=0, withdrawn=0, excluded=(), analysed=0, consented=4
    )
    source = source_of(small, replace(REAL, people=PEOPLE[:0], rt_ms=np.array([])), begun)
    own = people_of(source)
    assert own.n_analysed == 0
    assert isinstance(own.gender, MissingResult)
    assert "4 participants gave consent" in paragraph(source)
    assert "Nobody is in the analysis yet." in paragraph(source)
    assert page_of(CHAPTER, source)[0].tables == []


NOBODY = replace(COUNTS, recruited=None, consented=0, started=0, finished=0, analysed=0)


@pytest.mark.parametrize(
    ("others", "said"), [({}, "Nobody has taken part yet"), ({"pilot": 2}, r"pilot \(2\)")]
)
def test_a_study_of_nobody_or_of_pilots_alone_says_so(small, others, said):
    own = replace(REAL, people=PEOPLE[:0], other_kinds=others)
    with pytest.raises(NotEnough, match=said):
        build_participants(replace(small, taking_part=own, flow=NOBODY))
    with pytest.raises(NotEnough, match="Nobody"):
        build_participants(replace(small, taking_part=None, flow=None))


def test_answers_that_nobody_shares_leave_no_sentence_of_groups(small):
    alone = PEOPLE.assign(country=[f"X{n}" for n in range(20)], gender=["other"] * 3 + [""] * 17)
    source = source_of(small, replace(REAL, people=alone))
    assert "They lived in 20 countries." in paragraph(source)
    assert "gender identity" not in paragraph(source)


def test_the_table_behind_has_every_named_answer_and_the_rest(small):
    table = build_participants(replace(small, taking_part=REAL, flow=COUNTS)).tables["participants"]
    assert table.groupby("characteristic")["n"].sum().to_dict() == {
        "gender": 20,
        "position": 20,
        "country": 20,
    }
    assert table["share"].between(0, 1).all()
