"""The chapter on participants: who is described, what is left unsaid of few, and the paragraph of every kind of study."""

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.codec import MissingResult
from analysis.data.dataset import (
    AnswerCounts,
    ArmCounts,
    Exclusion,
    FlowCounts,
    SourceData,
    TakingPart,
)
from analysis.report.chapter import SourceResults
from analysis.report.chapters.participants.results import (
    SMALL,
    Participants,
    People,
    build_participants,
)
from analysis.report.chapters.participants.results.flow import Code, Flow, build_flow
from analysis.report.chapters.participants.results.trials import (
    AnswerTimes,
    ReactionTimes,
    Times,
    build_reaction_times,
)
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import page_of, results_of

FLOW = chapter_named("flow")
PARTICIPANTS = chapter_named("participants")
REACTION_TIMES = chapter_named("reaction_times")


COUNTS = FlowCounts(
    kind="real",
    recruited=50,
    consented=26,
    started=25,
    finished=23,
    withdrawn=1,
    excluded=(
        Exclusion("missed_catch", "missed a catch trial", 1),
        Exclusion("untouched_sliders", "never moved a slider", 1),
    ),
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
    payment=("Participants who finish are paid 2.00 GBP.",),
)


def participants_source_of(
    small: SourceData,
    own: TakingPart | None = REAL,
    counts: FlowCounts | None = COUNTS,
) -> SourceResults:
    return results_of(replace(small, taking_part=own, flow=counts), PARTICIPANTS, FLOW)


def people_of(source: SourceResults) -> People:
    found = source.of(Participants).people
    assert isinstance(found, People)
    return found


def paragraph(source: SourceResults) -> str:
    """The text that the copy button copies."""
    text = page_of(PARTICIPANTS, source)[1]
    found = re.search(r'id="methods-text">(.*?)</p>', text, re.DOTALL)
    assert found
    return " ".join(found.group(1).split())


def test_answers_are_counted_most_frequent_first(small):
    own = people_of(participants_source_of(small))
    assert [(g.answer, g.n) for g in own.gender.groups] == [("female", 9), ("male", 7)]
    assert [(g.answer, g.n) for g in own.country.groups] == [("GB", 8), ("DE", 6)]
    assert own.country.n_different == 4
    assert (own.age.n, own.age.min, own.age.max) == (18, 30, 40)
    assert own.age.mean == pytest.approx((300 + 320) / 18)
    assert own.trial_s.median == 60
    assert own.minutes.median == 29.5


def test_rare_answers_are_neither_in_the_results_nor_on_the_page(small):
    source = participants_source_of(small)
    own = people_of(source)
    assert (own.gender.n_rest, own.country.n_rest, own.position.n_rest) == (4, 6, 0)
    page, text = page_of(PARTICIPANTS, source)
    everything = str(own) + text + str(page.tables)
    for rare in ("gender_variant", "Gender variant", "IS", "Iceland", "FR", "France"):
        assert rare not in everything
    assert all(g.n >= SMALL for one in own.answers.values() for g in one.groups)


def test_numbers_that_fewer_than_five_gave_are_left_out(small):
    few = replace(REAL, people=PEOPLE.assign(age=[50.0] * 4 + [np.nan] * 16, minutes=np.nan))
    source = participants_source_of(small, few)
    own = people_of(source)
    assert isinstance(own.age, MissingResult)
    assert isinstance(own.minutes, MissingResult)
    assert own.age.reason != own.minutes.reason
    assert "50" not in paragraph(source)


def test_the_paragraph_of_a_study_says_who_came_who_stayed_and_when(small):
    text = paragraph(participants_source_of(small))
    assert "Participants who finish are paid 2.00 GBP." in text
    for fact in (
        "1 March 2025",
        "26 participants gave consent, 25 started the trials and 23 finished",
        "20 participants, and 180 of 200 judged trials",
        "female (9, 45.0%), male (7, 35.0%), another one, or not stated (4, 20.0%).",
        "34.4 years (SD = 5.1, range 30 to 40; n = 18)",
        "60 s (quartiles 45 and 75 s)",
        "The Board (number EP/1)",
    ):
        assert fact in text
    # Sentences end as sentences do: it is pasted into an article
    assert not re.search(r" [.,;:)]|\(\s|\.\.", text)


def test_the_paragraph_names_those_excluded_by_hand_and_why(small):
    counts = replace(
        COUNTS, by_hand=(Exclusion("bot", "a bot", 2), Exclusion("other", "another reason", 1))
    )
    said = "The researchers excluded 3 participants by hand: a bot (2), another reason (1)."
    assert said in paragraph(participants_source_of(small, counts=counts))


def test_the_paragraph_of_simulated_participants_cannot_be_taken_for_people(small):
    simulated = replace(REAL, kind="simulated", other_kinds={})
    text = paragraph(participants_source_of(small, simulated))
    assert text.startswith("The participants were simulated")
    assert "2025" not in text


@pytest.mark.parametrize(
    ("others", "said"), [({}, "Nobody has taken part yet"), ({"pilot": 2}, r"pilot \(2\)")]
)
def test_a_study_of_nobody_or_of_pilots_alone_says_so(small, others, said):
    own = replace(REAL, people=PEOPLE[:0], other_kinds=others)
    nobody = replace(COUNTS, recruited=None, consented=0, started=0, finished=0, analysed=0)
    with pytest.raises(NotEnough, match=said):
        build_participants(replace(small, taking_part=own, flow=nobody))
    with pytest.raises(NotEnough, match="Nobody"):
        build_participants(replace(small, taking_part=None, flow=None))


# --- The chapter on the flow of participants: steps, exclusions by reason, and imports that know only some of them.


IMPORTED = replace(
    COUNTS,
    kind="imported",
    recruited=202,
    consented=None,
    started=None,
    finished=None,
    withdrawn=0,
    excluded=(Exclusion("before_publication", "excluded before publication", 31),),
    analysed=171,
    is_after_publication=True,
)


def flow_source_of(small: SourceData, counts: FlowCounts) -> SourceResults:
    return results_of(replace(small, flow=counts), FLOW)


def test_steps_lead_from_the_visitors_to_the_analysed(small):
    flow = flow_source_of(small, COUNTS).of(Flow).flow
    assert [(s.code, s.reason, s.n) for s in flow.steps] == [
        (Code.RECRUITED, "", 50),
        (Code.CONSENTED, "", 26),
        (Code.STARTED, "", 25),
        (Code.FINISHED, "", 23),
        (Code.WITHDRAWN, "", 1),
        (Code.EXCLUDED, "missed_catch", 1),
        (Code.EXCLUDED, "untouched_sliders", 1),
        (Code.WITHOUT_TRIALS, "", 1),
        (Code.ANALYSED, "", 20),
    ]
    assert flow.n_excluded == 2
    assert flow.trials.excluded == COUNTS.trials_excluded
    tables = build_flow(replace(small, flow=COUNTS)).tables
    assert tables["flow_steps"].shape == (9, 4)
    assert tables["flow_trials"]["n"].tolist() == [200, 20, 180]


def test_the_figure_names_those_who_withdrew_after_finishing(small):
    """Its boxes went from 4 who finished to 2 analysed, with one exclusion between."""
    drawn = FLOW.figures[0](flow_source_of(small, replace(COUNTS, withdrawn_since=1)), {})
    words = json.dumps(drawn.chart.to_dict())
    assert "Not analysed: 3" in words
    assert "withdrew after finishing: 1" in words
    assert "withdrew" not in json.dumps(
        FLOW.figures[0](flow_source_of(small, COUNTS), {}).chart.to_dict()
    )


def armed(lost: int) -> FlowCounts:
    """Two arms of 60; in the second, `lost` more leave. One of the first is still taking part."""
    none = ArmCounts(
        "alone", 60, 59, 1, 50, 0, 55, (Exclusion("missed_catch", "missed a catch trial", 4),), 46
    )
    second = replace(none, arm="advised", under_way=0, finished=50 - lost, analysed=45 - lost, excluded=(Exclusion("missed_catch", "missed a catch trial", 5),))  # fmt: skip
    return replace(COUNTS, consented=120, started=118, finished=100 - lost, arms=(none, second))


def test_each_arm_has_its_own_flow_from_consent_to_the_analysis(small):
    source = flow_source_of(small, armed(lost=20))
    flow = source.of(Flow).flow
    alone, _advised = flow.arms
    assert [(s.code, s.n) for s in alone.steps] == [
        (Code.CONSENTED, 60),
        (Code.STARTED, 59),
        (Code.UNDER_WAY, 1),
        (Code.ANSWERED, 55),
        (Code.FINISHED, 50),
        (Code.EXCLUDED, 4),
        (Code.ANALYSED, 46),
    ]
    assert [(one.stage, one.arm, one.n, one.lost) for one in flow.losses] == [
        ("left", "advised", 60, 30),
        ("not_analysed", "advised", 30, 5),
    ]
    # Who is still taking part has not left
    assert (flow.losses[0].n_others, flow.losses[0].lost_others) == (59, 9)
    page, words = page_of(FLOW, source)
    assert "In the arm “advised”, a larger share of participants left before finishing" in words
    assert "50.0% against 15.3%" in words
    (table,) = (t for t in page.tables if t.caption == "Participants by arm")
    assert [column.label for column in table.columns] == ["Step", "alone", "advised"]
    assert ("Analysed", "46", "25") in table.rows


def test_arms_that_lose_about_as_many_are_said_not_to_differ_clearly(small):
    words = page_of(FLOW, flow_source_of(small, armed(lost=2)))[1]
    assert "who left before finishing, or who finished and are not analysed (smallest p" in words
    nobody = replace(armed(lost=2), analysed=0)
    words = page_of(FLOW, flow_source_of(small, nobody))[1]
    assert (
        "Arms do not clearly differ in the share of participants who left before finishing ("
        in words
    )


def test_a_study_without_arms_has_no_flow_by_arm(small):
    source = flow_source_of(small, COUNTS)
    assert source.of(Flow).flow.arms == ()
    assert "arm" not in page_of(FLOW, source)[1]


QUIZ = replace(
    COUNTS,
    trials_judged=0,
    trials_excluded=(),
    trials_analysed=0,
    answers=AnswerCounts(80, (Exclusion("too_fast", "answered too fast", 8),), 72),
)


def test_a_study_of_questions_counts_the_people_whose_answers_are_analysed(small):
    source = participants_source_of(small, counts=replace(QUIZ, recruited=None))
    page, words = page_of(FLOW, source)
    assert "The analysis includes 20 of 26 participants." in words
    assert "Of 80 answers to questions in the whole study, 72 are analysed." in words
    assert "test case" not in " ".join(paragraph.text for paragraph in page.text)
    assert [table.caption for table in page.tables][1:] == ["Answers that are not analysed"]
    assert "20 participants, and 72 of 80 answers to questions." in paragraph(source)
    figure = FLOW.figures[0](source, {})
    assert "Answers to questions: 80, analysed 72." in figure.alt
    assert figure.table[figure.table["of"] == "answers"]["n"].tolist() == [80, 8, 72]


def test_a_study_of_both_counts_judgments_and_answers_apart(small):
    both = replace(COUNTS, recruited=None, answers=QUIZ.answers)
    source = participants_source_of(small, counts=both)
    assert "180 of 200 judged trials and 72 of 80 answers to questions." in paragraph(source)
    alt = FLOW.figures[0](source, {}).alt
    assert "Judgments: 200, analysed 180. Answers to questions: 80, analysed 72." in alt


def test_an_import_with_gaps_counts_those_left_out_before_it(small):
    source = flow_source_of(small, IMPORTED)
    flow = source.of(Flow).flow
    assert [(s.code, s.n) for s in flow.steps] == [
        (Code.RECRUITED, 202),
        (Code.EXCLUDED, 31),
        (Code.ANALYSED, 171),
    ]
    assert flow.note in FLOW.figures[0](source, {}).caption
    # The file has numbers of people, and trials of those who were kept
    words = page_of(FLOW, source)[1]
    assert "171 of 202 participants in the published numbering" in words
    assert "Of 200 judged trials of the analysed participants" in words
    assert "finished" not in paragraph(participants_source_of(small, counts=IMPORTED))


# --- The chapter on reaction times: the published values, NumPy and pandas, and times that were not measured.


EXACT = 1e-9


def times_of(data: SourceData) -> Times:
    return results_of(data, REACTION_TIMES).of(ReactionTimes).reaction_times


@pytest.fixture(scope="module")
def people(shared_dir: Path) -> pd.DataFrame:
    return pd.read_csv(shared_dir / "brainbench_results/human_results/data/participant_data.csv")


def test_reaction_times_of_both_published_sources_are_those_published(published, reference, people):
    trials = pd.DataFrame(
        {"rt_ms": people["rt"].astype(float), "is_correct": people["correct"] == 1}
    )
    found = times_of(replace(published, trials=trials))
    known = reference["human_data"]
    quantiles = (found.q01, found.q05, *found.quartiles, found.q95, found.q99)
    shares = ("1%", "5%", "25%", "50%", "75%", "95%", "99%")
    assert quantiles == pytest.approx(tuple(known["rt_ms"][s] for s in shares), rel=EXACT)
    assert found.mean == pytest.approx(known["rt_ms"]["mean"], rel=EXACT)
    assert found.mean_log == pytest.approx(known["log_rt_mean"], rel=EXACT)
    assert found.sd_log == pytest.approx(known["log_rt_sd"], rel=EXACT)


@given(st.lists(st.floats(1, 1e8), min_size=1, max_size=30))
def test_each_time_lies_in_its_bin(small, times):
    trials = pd.DataFrame({"rt_ms": times, "is_correct": True})
    bins = build_reaction_times(replace(small, trials=trials)).results.reaction_times.histogram
    seconds = np.array(times) / 1000
    for row in bins:
        inside = (seconds >= row.low_s) & (seconds < row.high_s)
        near = np.isclose(seconds, row.low_s, rtol=1e-9) | np.isclose(
            seconds, row.high_s, rtol=1e-9
        )
        assert abs(row.n - inside.sum()) <= near.sum()
    assert sum(row.n for row in bins) == len(times)


def test_times_that_were_not_measured_are_counted_apart(small):
    times = small.trials["rt_ms"].copy()
    times.iloc[:3] = [np.nan, 0, -5]
    trials = small.trials.assign(rt_ms=times, is_correct=True)
    source = results_of(replace(small, trials=trials), REACTION_TIMES)
    found = source.of(ReactionTimes).reaction_times
    assert (found.n, found.n_missing) == (len(trials) - 3, 3)
    assert found.by_correct[1] == AnswerTimes(is_correct=False, n=0)
    with pytest.raises(NotEnough, match="measured"):
        build_reaction_times(replace(small, trials=trials.assign(rt_ms=np.nan)))
