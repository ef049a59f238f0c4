"""The chapter on decisions with advice: what it computes, says and draws."""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from analysis.charts import save, style
from analysis.codec import MissingResult, present
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.advised import results
from analysis.report.chapters.advised.own_answers import own_answers
from analysis.report.chapters.advised.results import (
    AccuracyWithAdvice,
    Advised,
    RealAndComputed,
    Reliance,
    deciders_of,
    pairs_of,
    trials_of,
)
from analysis.report.chapters.advised.tables import DECIDERS, FINAL
from analysis.report.contents import chapter_named
from analysis.stats import NotEnough, families
from analysis.stats.reliance.trials import AFTER, BEFORE, NO_FIRST, NONE
from analysis.stats.verdicts import Verdict
from analysis.teams.domain.combination import HeldOut
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.results import Method
from tests.analysis.advised_made import ALONE, BESIDE, FIRST, with_advice
from tests.analysis.report.chapters.chapter_results import (
    built_of,
    figure_of,
    page_of,
    results_of,
)

ADVISED = chapter_named("advised")


@pytest.fixture(scope="module")
def data() -> SourceData:
    return with_advice()


@pytest.fixture(scope="module")
def built(data: SourceData) -> Built:
    return built_of(data, ADVISED)


def parts(built: Built) -> tuple[AccuracyWithAdvice, Reliance, RealAndComputed]:
    own: Advised = built.results
    return own.advised_accuracy, own.advised_reliance, own.advised_teams


def test_arms_are_compared_with_the_one_without_advice(data, built):
    accuracy = parts(built)[0]
    assert [one.name for one in accuracy.conditions] == [ALONE, FIRST, BESIDE]
    assert [(one.name, one.reference) for one in accuracy.comparisons] == [
        (FIRST, ALONE),
        (BESIDE, ALONE),
    ]
    table = data.advised
    means = table.groupby("arm")["right_after"].mean()
    for one in accuracy.comparisons:
        assert one.accuracy.value == pytest.approx(means[one.name] - means[ALONE])
        assert one.p_holm >= one.accuracy.p
    first = accuracy.conditions[1]
    assert first.change.value == pytest.approx(first.after.value - first.before.value)
    assert isinstance(accuracy.conditions[0].change, MissingResult)
    assert isinstance(accuracy.conditions[2].change, MissingResult)


def test_each_arm_has_the_measures_that_its_procedure_allows(built):
    reliance = parts(built)[1]
    alone, first, beside = reliance.conditions
    for name in ("rair", "rsr", "switching", "detection_differ", "flow", "calibration"):
        assert not isinstance(getattr(first, name), MissingResult), name
        # Of no number of participants would these arms have it
        assert getattr(alone, name) == MissingResult(*NO_FIRST), name
        assert getattr(beside, name) == MissingResult(*NO_FIRST), name
    assert isinstance(alone.weight, MissingResult)
    assert isinstance(beside.weight, MissingResult)
    for one in (alone, first, beside):
        assert 0 < one.overreliance.value < 1
        assert one.detection.d_prime > 0 or one is alone
    assert alone.agreement.value < first.agreement.value


def test_real_decisions_are_beside_computed_ones_of_the_same_trials(data, built):
    teams = parts(built)[2]
    assert [one.code for one in teams.deciders] == list(DECIDERS)
    rows = data.advised[data.advised["procedure"] == AFTER]
    assert teams.n_trials == len(rows)
    by_code = {one.code: one for one in teams.deciders}
    assert by_code["adviser"].accuracy.value == pytest.approx(rows["advice_right"].mean())
    for team in teams.teams:
        own, final = team.realised, by_code[FINAL].accuracy.value
        computed = by_code[team.method.value].accuracy.value
        assert own.unused.value == pytest.approx(computed - final)
        if own.computed.value > 0:
            assert own.share == pytest.approx(own.real.value / own.computed.value)


def test_an_arm_with_some_advised_trials_is_two_conditions_of_the_same_people(data):
    table = data.advised.copy()
    own = (table["procedure"] == AFTER) & (table["position"] % 2 == 0)
    table.loc[own, "procedure"] = NONE
    table.loc[own, ["right_before", "confidence_before", "rt_before_ms", "p_shown"]] = np.nan
    table = table[table["arm"] == FIRST].reset_index(drop=True)
    accuracy = parts(built_of(replace(data, advised=table), ADVISED))[0]
    names = [one.name for one in accuracy.conditions]
    assert names == [f"{FIRST}, without advice", f"{FIRST}, advice after an answer"]
    assert [one.procedure for one in accuracy.conditions] == [NONE, AFTER]
    assert len({one.n_participants for one in accuracy.conditions}) == 1
    assert accuracy.comparisons[0].reference == names[0]


def test_arms_are_compared_with_people_who_saw_no_advice_at_all(data):
    table = data.advised.copy()
    table["arm_number"] = table["arm"].map({FIRST: 1, BESIDE: 2, ALONE: 3})
    (missed,) = table.index[table["arm"] == FIRST][:1]
    table.loc[missed, "procedure"] = NONE
    table.loc[missed, ["right_before", "confidence_before", "rt_before_ms", "p_shown"]] = np.nan
    accuracy = parts(built_of(replace(data, advised=table), ADVISED))[0]
    assert accuracy.conditions[0].name == f"{FIRST}, without advice"
    assert {one.reference for one in accuracy.comparisons} == {ALONE}


def test_without_advice_that_anybody_saw_there_is_no_chapter(data):
    table = data.advised[data.advised["procedure"] == NONE].reset_index(drop=True)
    for advised in (table, table.iloc[:0]):
        found = built_of(replace(data, advised=advised), ADVISED).results
        for part in vars(found).values():
            assert isinstance(part, MissingResult)
            assert part.reason == "No analysed trial had advice."


def test_advice_beside_alone_has_no_computed_teams(data):
    table = data.advised[data.advised["procedure"] != AFTER].reset_index(drop=True)
    accuracy, reliance, teams = parts(built_of(replace(data, advised=table), ADVISED))
    assert [one.procedure for one in accuracy.conditions] == [NONE, BEFORE]
    assert isinstance(teams, MissingResult)
    why = reliance.switching
    assert isinstance(why, MissingResult)
    _page, words = page_of(ADVISED, results_of(replace(data, advised=table), ADVISED))
    assert "depends on is not estimated" in words
    assert f"family. {why.reason} {why.needed}" in words


def test_other_chapters_say_whose_answers_they_have_where_there_was_advice(data) -> None:
    advised = results_of(data, ADVISED)
    assert own_answers(advised).startswith("A trial with advice counts with its first answer")
    table = data.advised[data.advised["procedure"] == NONE].reset_index(drop=True)
    assert own_answers(results_of(replace(data, advised=table), ADVISED)) == ""


def test_the_page_says_what_was_found(data, built):
    page, words = page_of(ADVISED, results_of(data, ADVISED))
    for part in (
        "In the arm “Own answer first”, people were right in",
        "corrected",
        "shown to participants as “a language model”",
        "in all other chapters. A trial with advice counts with its first answer",
        "after equal first answers, final confidence differed by",
        "what a second look does without advice",
        "After advice minus before it, the change was",
    ):
        assert part in words, part
    for part in ("advice changed", "Advice added", "confidence moved"):
        assert part not in words, part
    captions = [table.caption for table in page.tables]
    assert len(captions) == len(set(captions))
    assert {table.csv for table in page.tables} <= set(built.tables)
    assert page.methods


def test_where_nobody_revises_nothing_is_known_to_be_nothing(data):
    table = data.advised.copy()
    after = table["procedure"] == AFTER
    table.loc[after, "right_after"] = table.loc[after, "right_before"]
    table.loc[after, "confidence_after"] = table.loc[after, "confidence_before"]
    changed = replace(data, advised=table)
    accuracy, reliance, _teams = parts(built_of(changed, ADVISED))
    change, own = accuracy.conditions[1].change, reliance.conditions[1]
    assert change.value == 0
    assert change.ci95[0] < -0.02 < 0.02 < change.ci95[1]
    assert (own.weight.slope.value, own.weight.slope.ci95) == (pytest.approx(0, abs=1e-9), None)
    assert own.calibration.change_brier.ci95 is None
    _page, words = page_of(ADVISED, results_of(changed, ADVISED))
    assert "changes of confidence to say whether advice had any weight" in words


def test_advice_that_is_always_followed_where_right_has_no_finite_effect():
    """The model of switching is penalised, says so by name, and concludes nothing."""
    data = with_advice(n_people=120, has_beside=False)
    table = data.advised.copy()
    follows = (table["procedure"] == AFTER) & (table["advice_right"] == 1)
    table.loc[follows, "right_after"] = 1.0
    changed = replace(data, advised=table)
    built = built_of(changed, ADVISED)
    rows = built.tables["advised_effects"]
    rows = rows[rows["model"] == "switching"].set_index("effect")
    assert rows.loc["advice_right", "separates"]
    assert not rows.loc["expertise", "separates"]
    assert rows[["ci_low", "ci_high", "p", "holm_p"]].isna().all(axis=None)
    assert (rows["estimate"].abs() < 15).all()
    _page, words = page_of(ADVISED, results_of(changed, ADVISED))
    assert "follows without exception from Right advice, against wrong" in words
    assert "People switched" not in words


@pytest.mark.parametrize("name", [draw.__name__ for draw in ADVISED.figures])
def test_each_figure_draws_its_numbers(built, name):
    figure = figure_of(ADVISED, built, name)
    assert figure.title
    assert figure.caption
    assert figure.alt
    assert len(figure.table)
    assert figure.chart.to_dict()


@pytest.mark.parametrize("name", [draw.__name__ for draw in ADVISED.figures])
def test_long_names_of_arms_stay_within_the_page(data, name):
    long = {
        arm: f"{arm}, as long as a name of an arm of a study may be here {n}"
        for n, arm in enumerate((ALONE, FIRST, BESIDE))
    }
    table = data.advised.assign(arm=data.advised["arm"].map(long))
    figure = figure_of(ADVISED, built_of(replace(data, advised=table), ADVISED), name)
    drawn = ElementTree.fromstring(save.svg(save.specification(figure)))
    assert float(drawn.get("viewBox").split()[2]) <= style.FULL


def test_the_most_accurate_decider_is_compared_with_all_others_as_one_family(built):
    deciders = parts(built)[2].deciders
    (best,) = (one for one in deciders if one.best_minus is None)
    assert best.accuracy.value == max(one.accuracy.value for one in deciders)
    for one in deciders:
        if one is not best:
            assert one.best_minus.value == pytest.approx(best.accuracy.value - one.accuracy.value)
            assert one.best_minus.p <= one.p_holm <= 1
    # Over all ten pairs, not over the four with the most accurate
    teams = parts(built)[2]
    assert len(teams.pairs) == 10
    least = min(teams.pairs, key=lambda one: one.difference.p)
    assert least.p_holm > 10 * least.difference.p or least.p_holm == 1


def test_every_test_that_concludes_is_of_one_family_and_each_question_has_an_equal_share():
    built = built_of(with_advice(n_people=160), ADVISED)
    (accuracy, reliance, teams), tests = parts(built), built.results.advised_tests
    asked = {
        "arms": [(one.accuracy.p, one.p_holm) for one in accuracy.comparisons],
        "weight": [(one.weight.slope.p, one.weight.p_holm) for one in reliance.conditions if present(one.weight)],
        "overconfidence": [(one.calibration.change_overconfidence.p, one.calibration.p_holm) for one in reliance.conditions if present(one.calibration)],
        "switching": [(one.slope.p, one.holm_p) for one in reliance.switching.effects[1:]],
        "deciders": [(one.difference.p, one.p_holm) for one in teams.pairs],
    }  # fmt: skip
    every = [(p * len(of), p, after, 1 / len(of)) for of in asked.values() for p, after in of]
    every.sort()
    weights = [weight for *_, weight in every]
    most = 0.0
    for n, (_order, p, after, weight) in enumerate(every):
        most = max(most, min(1.0, sum(weights[n:]) * p / weight))
        assert after == pytest.approx(most)
    assert [(one.name, one.n_tests) for one in tests.questions] == [
        (name, len(of)) for name, of in asked.items()
    ]
    assert [one.smallest_p for one in tests.questions] == pytest.approx(
        [min(after for _p, after in of) for of in asked.values()]
    )
    # Both models of accuracy describe
    for model in (accuracy.model, accuracy.confidence_model):
        assert {(one.holm_p, one.verdict) for one in model.effects} == {(None, None)}


def test_the_family_stands_beside_the_tables(data):
    page, words = page_of(ADVISED, results_of(data, ADVISED))
    assert "Tests of this chapter, corrected together" in [table.caption for table in page.tables]
    assert any("each question of the chapter has an equal share" in one for one in page.methods)
    assert "after Holm" in words


def deciders_said(data: SourceData) -> str:
    words = page_of(ADVISED, results_of(data, ADVISED))[1]
    (sentence,) = (s for s in words.split(". ") if "On the same" in s)
    return sentence


def test_decisions_that_others_equal_are_not_said_to_be_the_most_accurate(data):
    table = data.advised.copy()
    # People end where they began, but for one trial
    final = table["right_before"].copy()
    (changed,) = table.index[table["right_before"] == 0][:1]
    final[changed] = 1.0
    table["right_after"] = final.where(final.notna(), table["right_after"])
    # The adviser guesses
    table["advice_right"] = table["item"] % 2.0
    found = replace(data, advised=table)
    said = deciders_said(found)
    assert "the most accurate decisions were those of" not in said
    assert "which is not clearly different from that of" in said
    for name in ("people before advice", "people after advice"):
        assert name in said


@dataclass(frozen=True)
class Impossible:
    """A combination that cannot be fitted."""

    name: Method

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        raise NotEnough("Why not.", "What it needs.")


def test_a_team_that_cannot_be_computed_is_named_before_its_reason(data, monkeypatch):
    monkeypatch.setattr(results, "method_named", lambda method, seed: Impossible(method))
    assert parts(built_of(data, ADVISED))[2].not_possible == (
        "There is no logistic team. Why not.",
        "There is no Bayesian team. Why not.",
    )


def test_decisions_that_all_others_miss_are_said_to_be_the_most_accurate():
    data = with_advice(n_people=240, n_items=80, has_beside=False)
    table = data.advised.copy()
    table["right_after"] = table["right_after"].where(table["right_before"].isna(), 1.0)
    found = replace(data, advised=table)
    said = deciders_said(found)
    assert "the most accurate decisions were those of people after advice: 100.0%" in said


def test_among_deciders_who_guess_hardly_ever_one_is_better_than_another(data):
    rng = np.random.default_rng(4)
    own = trials_of(data.advised)
    own = own.of(own.has_both)
    n_clear = 0
    for _ in range(200):
        right = {code: (rng.random(len(own)) < 0.6).astype(float) for code in DECIDERS}
        deciders = tuple(deciders_of(own, right))
        p = families.together({"deciders": [one.difference.p for one in pairs_of(own, right)]})
        n_clear += min(p["deciders"]) < 0.05
        assert sum(one.best_minus is None for one in deciders) == 1
    assert n_clear <= 16


def with_assigned(data: SourceData, *, wrong: bool) -> SourceData:
    """Each person of the arms with advice came with three others, who were excluded; they are all wrong, or as that person."""
    own = data.advised.assign(reasons="", person_reasons="")
    others = own[own["arm"] != ALONE]
    left_out = [
        others.assign(
            participant=others["participant"] + 1000 * n,
            person_reasons="missed_catch",
            right_after=0.0 if wrong else others["right_after"],
        )
        for n in (1, 2, 3)
    ]
    return replace(data, assigned=pd.concat([own, *left_out], ignore_index=True))


def test_arms_are_also_compared_by_intention_to_treat_and_without_each_rule(data):
    found = with_assigned(data, wrong=True)
    built = built_of(found, ADVISED)
    accuracy = parts(built)[0]
    assert [one.code for one in accuracy.other_analyses] == [
        "assigned",
        "no_rules",
        "missed_catch",
    ]
    means = found.assigned.groupby("arm")["right_after"].mean()
    assigned = accuracy.other_analyses[0]
    assert assigned.n_participants == found.assigned["participant"].nunique()
    for one in assigned.comparisons:
        # A comparison has the numbers of its two arms, of three
        pair = found.assigned[found.assigned["arm"].isin([one.name, ALONE])]
        row = built.tables["advised_analyses"].set_index("condition").loc[one.name].iloc[0]
        assert (row["n_trials"], row["n_participants"]) == (
            len(pair),
            pair["participant"].nunique(),
        )
        assert one.reference == ALONE
        assert one.accuracy.value == pytest.approx(means[one.name] - means[ALONE])
        assert one.p_holm >= one.accuracy.p
        assert one.verdict is Verdict.BELOW
    page, words = page_of(ADVISED, results_of(found, ADVISED))
    assert "By intention to treat, with all answers of" in words
    assert f"“{FIRST}” and “{ALONE}” differ" in words
    assert f"The conclusion on “{FIRST}” changes in this analysis: Nothing is excluded as" in words
    assert "Arms compared in other analyses" in [table.caption for table in page.tables]


def test_intention_to_treat_that_changes_nothing_is_said_so(data):
    words = page_of(ADVISED, results_of(with_assigned(data, wrong=False), ADVISED))[1]
    assert "gives the same conclusion" in words


def test_without_exclusions_arms_have_no_other_analyses(data, built):
    assert parts(built)[0].other_analyses == ()
    assert "ntention to treat" not in page_of(ADVISED, results_of(data, ADVISED))[1]
