"""The chapter on the flow of participants: steps, exclusions by reason, and imports that know only some of them."""

from dataclasses import replace

import pytest

from analysis.data.dataset import Exclusion, FlowCounts, SourceData
from analysis.report.chapter import SourceResults
from analysis.report.chapters.participants.results import Code, Flow, build_flow
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CHAPTER = chapter_named("flow")

COUNTS = FlowCounts(
    kind="simulated",
    recruited=50,
    consented=46,
    started=45,
    finished=40,
    withdrawn=2,
    excluded=(
        Exclusion("missed_catch", "missed a catch trial", 3),
        Exclusion("untouched_sliders", "never moved a slider", 1),
    ),
    analysed=35,
    trials_judged=330,
    trials_excluded=(Exclusion("recognised", "recognised", 20),),
    trials_analysed=280,
)
IMPORTED = replace(
    COUNTS,
    kind="imported",
    recruited=202,
    consented=None,
    started=None,
    finished=None,
    withdrawn=0,
    excluded=(Exclusion("before_publication", "left out before publication", 31),),
    analysed=171,
    is_after_publication=True,
)


def source_of(small: SourceData, counts: FlowCounts) -> SourceResults:
    return results_of(replace(small, flow=counts), CHAPTER)


def test_steps_lead_from_the_visitors_to_the_analysed(small):
    flow = source_of(small, COUNTS).of(Flow).flow
    assert [(s.code, s.reason, s.n) for s in flow.steps] == [
        (Code.RECRUITED, "", 50),
        (Code.CONSENTED, "", 46),
        (Code.STARTED, "", 45),
        (Code.FINISHED, "", 40),
        (Code.WITHDRAWN, "", 2),
        (Code.EXCLUDED, "missed_catch", 3),
        (Code.EXCLUDED, "untouched_sliders", 1),
        (Code.WITHOUT_TRIALS, "", 1),
        (Code.ANALYSED, "", 35),
    ]
    assert flow.n_excluded == 4
    assert flow.trials.excluded == COUNTS.trials_excluded
    tables = build_flow(replace(small, flow=COUNTS)).tables
    assert tables["flow_steps"].shape == (9, 4)
    assert tables["flow_trials"]["n"].tolist() == [330, 20, 280]


def test_the_page_lists_every_step_and_every_reason(small):
    page, text = page_of(CHAPTER, source_of(small, COUNTS))
    people, trials = page.tables
    assert len(people.rows) == 9
    assert ("missed a catch trial", "3") in people.rows
    assert trials.rows == (("recognised", "20"),)
    assert "35 of 50 participants" in text


def test_the_figure_names_reasons_and_counts(small):
    figure = CHAPTER.figure_builders()["flow"](source_of(small, COUNTS), {})
    drawn = str(figure.chart.to_dict()["datasets"])
    for label in ("Not analysed: 5", "missed a catch trial: 3", "Did not go on: 4", "n = 280"):
        assert label in drawn
    assert figure.caption.startswith("n = 50 people")
    assert len(figure.table) == 9 + 3


def test_an_import_with_gaps_counts_those_left_out_before_it(small):
    source = source_of(small, IMPORTED)
    flow = source.of(Flow).flow
    assert [(s.code, s.n) for s in flow.steps] == [
        (Code.RECRUITED, 202),
        (Code.EXCLUDED, 31),
        (Code.ANALYSED, 171),
    ]
    assert flow.note
    assert flow.note in page_of(CHAPTER, source)[1]
    assert flow.note in CHAPTER.figure_builders()["flow"](source, {}).caption


def test_an_import_without_gaps_has_neither_visitors_nor_exclusions(small):
    known = dict.fromkeys(("consented", "started", "finished", "analysed"), 171)
    counts = replace(IMPORTED, recruited=None, excluded=(), is_after_publication=False, **known)
    source = source_of(small, counts)
    flow = source.of(Flow).flow
    assert [s.code.value for s in flow.steps] == ["consented", "started", "finished", "analysed"]
    assert (flow.note, flow.n_excluded) == ("", 0)
    assert "The analysis holds 171 participants" in page_of(CHAPTER, source)[1]


NOBODY = replace(COUNTS, recruited=0, consented=0, started=0, finished=0, withdrawn=0)


@pytest.mark.parametrize("counts", [None, NOBODY])
def test_a_study_nobody_visited_has_no_flow(small, counts):
    with pytest.raises(NotEnough, match="Nobody"):
        build_flow(replace(small, flow=counts))
