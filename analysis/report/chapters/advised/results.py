"""Decisions with advice: accuracy by arm, reliance, and real decisions beside those that a rule makes of the same answers.

Long: three results of one chapter, which are tested as one family, so that all of them are built here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from itertools import combinations, permutations
from typing import Annotated, TypeVar

import numpy as np
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import SourceData
from analysis.data.exclusions import undone
from analysis.report.chapter import Built
from analysis.report.chapters.advised.tables import (
    ANALYSES,
    ARMS,
    CALIBRATIONS,
    COMPARISONS,
    CONDITIONS,
    DECISIONS,
    EFFECTS,
    FINAL,
    FIRST,
    FLOW,
    MOST_ACCURATE,
    OVERCONFIDENCE,
    REALISED,
    RELIANCE,
    SWITCHING,
    TESTS,
    WEIGHT,
)
from analysis.stats import NotEnough, families
from analysis.stats.arrays import Bools, Floats, Interval
from analysis.stats.estimates import Proportion, proportion
from analysis.stats.reliance import measures
from analysis.stats.reliance.confidence import (
    BeforeAndAfter,
    Rated,
    Seconds,
    TimeRatio,
    before_and_after,
    time_ratio,
    typical_seconds,
)
from analysis.stats.reliance.measures import (
    SHARES,
    Detection,
    FlowCell,
    WeightOfAdvice,
    detection,
    flow,
    weight_of_advice,
)
from analysis.stats.reliance.moderators import (
    Effect,
    Moderators,
    accuracy_model,
    confident_model,
    switching_model,
)
from analysis.stats.reliance.realised import Realised, realised
from analysis.stats.reliance.trials import (
    NONE,
    PROCEDURES,
    AdvisedTrials,
    Estimate,
    change,
    difference,
    share,
)
from analysis.stats.verdicts import CHAPTER, HOLM, Concludes, Verdict, questions_of
from analysis.teams.domain.advised import ADVISER, evidence_of
from analysis.teams.domain.chance import near_chance
from analysis.teams.domain.evidence import HUMAN
from analysis.teams.domain.runs import Runs, method_named
from analysis.teams.results import Method
from experiment.domain import advice
from lib import formatting as f

NOBODY = (
    "No analysed trial had advice.",
    "Valid participants of an arm with advice are needed.",
)
NO_TESTS = (
    "Nothing is tested, because there are too few participants or test cases.",
    "Let more participants finish the study.",
)
SHARES_OF_ARMS = (
    "Shares of trials with a score interval, differences with Student's t; errors clustered by participants and test cases. The "
    "difference between two arms is that of their means over all of their trials; its error takes together what a test case adds to both. p_holm is corrected for all tests of the chapter. "
    "Where the adviser tied, its side was tossed; in accuracies elsewhere a tie counts half."
)
DECIDERS_COMPARED = (
    "The most accurate decisions are compared with the others on the same trials, with errors clustered by participants and test cases. p_holm "
    "is corrected for all tests of the chapter, with all pairs of deciders among them, because the most accurate one was chosen by the same data."
)
LEARNS_NOISE = (
    "On these trials, neither people's first answers nor the adviser's choices can be told from chance: no interval of their accuracies, "
    "with 95% for both together, excludes 50%. A team that is fitted to them would learn noise, which is negatively correlated with the "
    "test case that is held out; no computed team is shown."
)
MISSING = {
    Method.LOGISTIC: "There is no logistic team.",
    Method.BAYESIAN: "There is no Bayesian team.",
}
COMPUTED = tuple(MISSING)
SHOWN_AS_SHARES = ("agreement", "switching", "rair", "rsr", "overreliance", "underreliance")


Tested = TypeVar("Tested", bound="Contrast | WeightOfAdvice | BeforeAndAfter | PairOfDeciders")


@dataclass(frozen=True)
class Condition:
    """Trials of an arm under one procedure. before, change, seconds_before: where there are first answers."""

    name: str
    arm: str
    procedure: str
    n_participants: int
    n_trials: int
    before: Estimate | MissingResult
    after: Estimate
    change: Estimate | MissingResult
    seconds_before: Seconds | MissingResult
    seconds: Seconds | MissingResult


@dataclass(frozen=True)
class Contrast:
    """Final answers of a condition against those of the reference: difference of accuracies.

    p_holm: as one of the chapter's family; None before the correction, and where there is no p.
    """

    name: str
    reference: str
    accuracy: Estimate
    p_holm: float | None = None

    @property
    def verdict(
        self,
    ) -> Annotated[Verdict, Concludes("whether two arms differ in accuracy", CHAPTER, HOLM)]:
        return Verdict.of(self.accuracy.value, self.p_holm, self.accuracy.n_clusters or 0)


@dataclass(frozen=True)
class Comparison(Contrast):
    """And the ratio of times."""

    _: KW_ONLY
    time: TimeRatio | MissingResult


@dataclass(frozen=True)
class Analysis:
    """The comparisons of arms among other trials than the analysed ones; code and what: as analysis.data.exclusions.Undone.

    They repeat tests of the family, and are corrected as these are, with theirs in the place of the analysed trials'.
    ASSIGNED is intention to treat: everybody who was assigned, by what they answered.
    """

    code: str
    what: str
    n_participants: int
    n_trials: int
    comparisons: tuple[Contrast, ...]


@dataclass(frozen=True)
class AccuracyWithAdvice:
    """adviser: share of right advice, of the test cases that have any and were judged. other_analyses: none where nothing is left out."""

    adviser_name: str
    adviser: Proportion
    conditions: tuple[Condition, ...]
    comparisons: tuple[Comparison, ...]
    other_analyses: tuple[Analysis, ...]
    model: Moderators | MissingResult
    confidence_model: Moderators | MissingResult
    method: str = SHARES_OF_ARMS


@dataclass(frozen=True)
class ConditionReliance:
    """Without advice, how people's answers agree with what the adviser would have said."""

    name: str
    procedure: str
    agreement: Estimate | MissingResult
    switching: Estimate | MissingResult
    rair: Estimate | MissingResult
    rsr: Estimate | MissingResult
    overreliance: Estimate | MissingResult
    underreliance: Estimate | MissingResult
    weight: WeightOfAdvice | MissingResult
    detection: Detection | MissingResult
    detection_differ: Detection | MissingResult
    flow: tuple[FlowCell, ...] | MissingResult
    calibration: BeforeAndAfter | MissingResult

    @property
    def is_advised(self) -> bool:
        return self.procedure != NONE


@dataclass(frozen=True)
class Reliance:
    conditions: tuple[ConditionReliance, ...]
    switching: Moderators | MissingResult
    method: str = SHARES


@dataclass(frozen=True)
class Decider:
    """code: a key of DECIDERS. versus_final: accuracy of people after advice minus its own, None of these themselves.

    best_minus: accuracy of the most accurate decider minus its own, with p_holm, None of this one itself.
    """

    code: str
    accuracy: Estimate
    versus_final: Estimate | None
    best_minus: Estimate | None
    p_holm: float | None = None

    @property
    def verdict(
        self,
    ) -> Annotated[
        Verdict | None,
        Concludes("whether others decide less accurately than the most accurate", CHAPTER, HOLM),
    ]:
        """Verdict on the difference from the most accurate one: ABOVE 0, the difference is clear."""
        found = self.best_minus
        return Verdict.of(found.value, self.p_holm, found.n_clusters or 0) if found else None


@dataclass(frozen=True)
class PairOfDeciders:
    """difference: accuracy of the first minus that of the second, on the same trials; p_holm as of Contrast."""

    first: str
    second: str
    difference: Estimate
    p_holm: float | None = None

    @property
    def verdict(
        self,
    ) -> Annotated[Verdict, Concludes("whether two deciders differ", CHAPTER, HOLM)]:
        return Verdict.of(self.difference.value, self.p_holm, self.difference.n_clusters or 0)


@dataclass(frozen=True)
class ComputedTeam:
    """`realised`: real decisions against this team's; rule: how it was fitted."""

    method: Method
    realised: Realised
    rule: str


@dataclass(frozen=True)
class RealAndComputed:
    """On the trials with a first answer, advice and a final answer. not_possible: reasons of teams that could not be fitted."""

    n_trials: int
    n_participants: int
    n_items: int
    deciders: tuple[Decider, ...]
    pairs: tuple[PairOfDeciders, ...]
    teams: tuple[ComputedTeam, ...]
    not_possible: tuple[str, ...]
    method: str = DECIDERS_COMPARED


@dataclass(frozen=True)
class Advised:
    advised_accuracy: AccuracyWithAdvice | MissingResult
    advised_reliance: Reliance | MissingResult
    advised_teams: RealAndComputed | MissingResult
    advised_tests: families.Questions | MissingResult


def build_advised(data: SourceData) -> Built:
    """Raises NotEnough where no trial has advice."""
    trials = trials_of(data.advised)
    if not trials.is_advised.any():
        raise NotEnough(*NOBODY)
    groups = conditions_of(data.advised)
    found = Advised(
        try_estimate(_accuracy, data, trials, groups),
        try_estimate(_reliance, data, trials, groups),
        try_estimate(_computed, data, trials),
        MissingResult(*NO_TESTS),
    )
    found = corrected(found)

    accuracy, reliance = present(found.advised_accuracy), present(found.advised_reliance)
    teams, tests = present(found.advised_teams), present(found.advised_tests)
    cells = [
        (one.name, cell)
        for one in (reliance.conditions if reliance else ())
        for cell in present(one.flow) or ()
    ]
    tables = {
        "advised": c.tidy(CONDITIONS, accuracy.conditions if accuracy else ()),
        "advised_arms": c.tidy(COMPARISONS, accuracy.comparisons if accuracy else ()),
        "advised_analyses": c.tidy(ANALYSES, analyses_of(accuracy) if accuracy else ()),
        "advised_reliance": c.tidy(RELIANCE, measures_of(reliance) if reliance else ()),
        "advised_flow": c.tidy(FLOW, cells),
        "advised_calibration": c.tidy(CALIBRATIONS, calibrations_of(reliance) if reliance else ()),
        "advised_effects": c.tidy(EFFECTS, effects_of(accuracy, reliance)),
        "advised_deciders": c.tidy(DECISIONS, teams.deciders if teams else ()),
        "advised_tests": c.tidy(TESTS, tests.questions if tests else ()),
        "advised_realised": c.tidy(REALISED, teams.teams if teams else ()),
    }
    return Built(found, tables)


def trials_of(table: pd.DataFrame) -> AdvisedTrials:
    """table: `advised` or `assigned` of SourceData."""
    names = [field.name for field in fields(AdvisedTrials)]
    if table.empty:
        raise NotEnough(*NOBODY)
    return AdvisedTrials(**{name: table[name].to_numpy() for name in names})


def conditions_of(table: pd.DataFrame) -> dict[str, Bools]:
    """Name of a condition -> its trials (n,): arms in their order, one with and without advice as two."""
    order = table["procedure"].map({name: n for n, name in enumerate(PROCEDURES)})
    kinds = sorted({*zip(table["arm_number"], order, table["arm"], strict=True)})
    arms = [arm for *_, arm in kinds]
    found = {}
    for _number, place, arm in kinds:
        procedure = PROCEDURES[place]
        name = arm if arms.count(arm) == 1 else f"{arm}, {advice.CONDITIONS[procedure]}"
        found[name] = ((table["arm"] == arm) & (table["procedure"] == procedure)).to_numpy()
    return found


# --- Accuracy before and after advice, and between arms.


def _accuracy(
    data: SourceData, trials: AdvisedTrials, groups: dict[str, Bools]
) -> AccuracyWithAdvice:
    conditions = tuple(_condition(name, trials.of(of)) for name, of in groups.items())
    # The first arm without any advice, or else the first condition without it: those people have seen advice before
    advised = {one.arm for one in conditions if one.procedure != NONE}
    reference = min(conditions, key=lambda one: (one.procedure != NONE, one.arm in advised))
    others = [one for one in conditions if one is not reference]
    names = np.empty(len(trials), dtype=object)
    for name, of in groups.items():
        names[of] = name
    comparisons = []
    for one in _contrasts(trials, groups, reference.name, [other.name for other in others]):
        pair = groups[reference.name] | groups[one.name]
        own, second = trials.of(pair), groups[one.name][pair]
        time = try_estimate(time_ratio, own, own.rt_ms, second)
        comparisons.append(Comparison(one.name, one.reference, one.accuracy, time=time))
    analyses = []
    for analysis in undone(data.assigned):
        table = data.assigned[analysis.kept]
        own, arms = trials_of(table), conditions_of(table)
        rest = [name for name in arms if name != reference.name]
        # Nothing is compared where nobody is in the reference, or in another condition
        if reference.name in arms and rest:
            compared = Analysis(
                code=analysis.code,
                what=analysis.what,
                n_participants=len(np.unique(own.participant)),
                n_trials=len(own),
                comparisons=tuple(_contrasts(own, arms, reference.name, rest)),
            )
            analyses.append(compared)
    # The adviser counts once on each test case
    known = np.isfinite(trials.advice_right)
    first = np.unique(trials.item[known], return_index=True)[1]
    return AccuracyWithAdvice(
        adviser_name=data.adviser_name,
        adviser=proportion(trials.advice_right[known][first]),
        conditions=conditions,
        comparisons=tuple(comparisons),
        other_analyses=tuple(analyses),
        model=try_estimate(accuracy_model, trials, names.tolist(), reference.name),
        confidence_model=try_estimate(confident_model, trials),
    )


def _condition(name: str, own: AdvisedTrials) -> Condition:
    # Before advice, only trials with both answers tell something
    both = try_estimate(own.with_both)
    before: Estimate | MissingResult
    moved: Estimate | MissingResult
    seconds_before: Seconds | MissingResult
    if isinstance(both, MissingResult):
        before = moved = seconds_before = both
    else:
        before = try_estimate(share, both, both.right_before)
        moved = try_estimate(change, both, both.right_after - both.right_before)
        seconds_before = try_estimate(typical_seconds, both, both.rt_before_ms)
    return Condition(
        name=name,
        arm=str(own.arm[0]),
        procedure=str(own.procedure[0]),
        n_participants=len(np.unique(own.participant)),
        n_trials=len(own),
        before=before,
        after=share(own, own.right_after),
        change=moved,
        seconds_before=seconds_before,
        seconds=try_estimate(typical_seconds, own, own.rt_ms),
    )


def _contrasts(
    trials: AdvisedTrials, groups: dict[str, Bools], reference: str, others: Sequence[str]
) -> Iterator[Contrast]:
    for name in others:
        pair = groups[reference] | groups[name]
        own = trials.of(pair)
        yield Contrast(name, reference, difference(own, own.right_after, groups[name][pair]))


# --- Reliance by condition.


def _reliance(data: SourceData, trials: AdvisedTrials, groups: dict[str, Bools]) -> Reliance:
    conditions = [
        ConditionReliance(
            name=name,
            procedure=str(own.procedure[0]),
            agreement=try_estimate(measures.agreement, own),
            switching=try_estimate(measures.switching, own),
            rair=try_estimate(measures.relative_ai_reliance, own),
            rsr=try_estimate(measures.relative_self_reliance, own),
            overreliance=try_estimate(measures.overreliance, own),
            underreliance=try_estimate(measures.underreliance, own),
            weight=try_estimate(weight_of_advice, own),
            detection=try_estimate(detection, own),
            detection_differ=try_estimate(measures.detection_where_answers_differ, own),
            flow=try_estimate(flow, own),
            calibration=try_estimate(before_and_after, own, data.seed),
        )
        for name, of in groups.items()
        for own in [trials.of(of)]
    ]
    return Reliance(tuple(conditions), try_estimate(switching_model, trials))


# --- Real decisions beside computed teams of the same answers.


def _computed(data: SourceData, trials: AdvisedTrials) -> RealAndComputed:
    own = trials.with_both()
    sides = data.advised["original_side"].to_numpy()[trials.has_both]
    truth = np.where(sides == "B", 1.0, -1.0)
    evidence = evidence_of(own, truth, data.adviser_name)
    runs = Runs.of(evidence, data)
    is_noise = near_chance(evidence)
    for method in () if is_noise else COMPUTED:
        runs.add([(HUMAN, ADVISER)], method_named(method, data.seed))
    right: dict[str, Floats] = {
        FIRST: own.right_before,
        ADVISER: own.advice_right,
        FINAL: own.right_after,
    }
    teams = []
    for method in COMPUTED:
        held = runs.get((HUMAN, ADVISER), method)
        if held is None:
            continue
        right[method.value] = held.points
        real = realised(own, own.right_before, own.right_after, right[method.value])
        teams.append(ComputedTeam(method, real, held.about.rule))
    return RealAndComputed(
        n_trials=len(own),
        n_participants=len(np.unique(own.participant)),
        n_items=len(np.unique(own.item)),
        deciders=tuple(deciders_of(own, right)),
        pairs=tuple(pairs_of(own, right)),
        teams=tuple(teams),
        not_possible=(LEARNS_NOISE,)
        if is_noise
        else tuple(f"{MISSING[one.method]} {one.reason}" for one in runs.not_possible),
    )


def pairs_of(own: AdvisedTrials, right: dict[str, Floats]) -> Iterator[PairOfDeciders]:
    """right: as in `deciders_of`."""
    for one, other in combinations(right, 2):
        yield PairOfDeciders(one, other, change(own, right[one] - right[other]))


def deciders_of(own: AdvisedTrials, right: dict[str, Floats]) -> Iterator[Decider]:
    """right: code -> (trials,) points."""
    pairs = {
        (one, other): change(own, right[one] - right[other])
        for one, other in permutations(right, 2)
    }
    best = max(right, key=lambda code: float(right[code].mean()))
    for code, values in right.items():
        yield Decider(
            code,
            share(own, values),
            pairs.get((FINAL, code)),
            pairs.get((best, code)),
        )


# --- The chapter's tests as one family.


def corrected(found: Advised) -> Advised:
    """With the p values, and so the verdicts, of all tests as one family."""
    accuracy, reliance = present(found.advised_accuracy), present(found.advised_reliance)
    teams = present(found.advised_teams)
    switching = present(reliance.switching) if reliance else None
    # In the order of the results; [] where a question is not asked
    p: dict[str, list[float | None]] = {
        ARMS: [one.accuracy.p for one in accuracy.comparisons] if accuracy else [],
        WEIGHT: [one.slope.p for one in _weights(reliance)],
        OVERCONFIDENCE: [one.change_overconfidence.p for one in _rated(reliance)],
        SWITCHING: switching.tests if switching else [],
        MOST_ACCURATE: [one.difference.p for one in teams.pairs] if teams else [],
    }
    after = families.together(p)
    if accuracy:
        others = []
        for one in accuracy.other_analyses:
            # With its p in the place of the analysed trials'
            own = families.together({**p, ARMS: [two.accuracy.p for two in one.comparisons]})
            others.append(replace(one, comparisons=_with_p(one.comparisons, own[ARMS])))
        accuracy = replace(
            accuracy,
            comparisons=_with_p(accuracy.comparisons, after[ARMS]),
            other_analyses=tuple(others),
        )
    if reliance:
        reliance = _reliance_corrected(reliance, after)
    if teams:
        pairs = _with_p(teams.pairs, after[MOST_ACCURATE])
        by_pair = {frozenset((one.first, one.second)): one.p_holm for one in pairs}
        best = next(one.code for one in teams.deciders if one.best_minus is None)
        deciders = tuple(
            replace(one, p_holm=by_pair.get(frozenset((best, one.code)))) for one in teams.deciders
        )
        teams = replace(teams, deciders=deciders, pairs=pairs)
    return Advised(
        accuracy or found.advised_accuracy,
        reliance or found.advised_reliance,
        teams or found.advised_teams,
        questions_of(after, _verdicts(accuracy, reliance, teams)) or found.advised_tests,
    )


def _verdicts(
    accuracy: AccuracyWithAdvice | None, reliance: Reliance | None, teams: RealAndComputed | None
) -> dict[str, list[Verdict | None]]:
    """Verdicts of the tests of each of QUESTIONS."""
    switching = present(reliance.switching) if reliance else None
    return {
        ARMS: [one.verdict for one in accuracy.comparisons] if accuracy else [],
        WEIGHT: [one.verdict for one in _weights(reliance)],
        OVERCONFIDENCE: [one.verdict for one in _rated(reliance)],
        SWITCHING: [one.verdict for one in switching.effects[1:]] if switching else [],
        MOST_ACCURATE: [one.verdict for one in teams.pairs] if teams else [],
    }


def _weights(own: Reliance | None) -> list[WeightOfAdvice]:
    return [found for one in (own.conditions if own else ()) if (found := present(one.weight))]


def _rated(own: Reliance | None) -> list[BeforeAndAfter]:
    return [found for one in (own.conditions if own else ()) if (found := present(one.calibration))]


def _with_p(found: Sequence[Tested], p: Sequence[float | None]) -> tuple[Tested, ...]:
    return tuple(replace(one, p_holm=after) for one, after in zip(found, p, strict=True))


def _reliance_corrected(own: Reliance, after: dict[str, list[float | None]]) -> Reliance:
    weights = iter(_with_p(_weights(own), after[WEIGHT]))
    rated = iter(_with_p(_rated(own), after[OVERCONFIDENCE]))
    conditions = tuple(
        replace(
            one,
            weight=next(weights) if present(one.weight) else one.weight,
            calibration=next(rated) if present(one.calibration) else one.calibration,
        )
        for one in own.conditions
    )
    switching = present(own.switching)
    return Reliance(
        conditions, switching.corrected(after[SWITCHING]) if switching else own.switching
    )


# --- Rows of the tables.


@dataclass(frozen=True)
class Measure:
    """One measure of reliance in one condition."""

    code: str
    n: int
    value: float
    ci95: Interval | None
    p_holm: float | None = None

    @property
    def shown(self) -> str:
        return f.percent(self.value) if self.code in SHOWN_AS_SHARES else f.number(self.value)

    @property
    def shown_interval(self) -> str:
        write = f.share_interval if self.code in SHOWN_AS_SHARES else f.interval
        return write(self.ci95)


def measures_of(own: Reliance) -> Iterator[tuple[str, Measure]]:
    """(condition, measure), those that there are."""
    for one in own.conditions:
        found: list[Measure] = []
        for code in SHOWN_AS_SHARES:
            value: Estimate | None = present(getattr(one, code))
            if value:
                found.append(Measure(code, value.n, value.value, value.ci95))
        if weight := present(one.weight):
            slope, limited = weight.slope, weight.limited
            found.append(Measure("slope", slope.n, slope.value, slope.ci95, weight.p_holm))
            found.append(Measure("limited", limited.n, limited.value, limited.ci95))
        for of, signal in (("", one.detection), ("_differ", one.detection_differ)):
            if shown := present(signal):
                n = shown.n_right + shown.n_wrong
                d_prime, criterion = shown.d_prime, shown.criterion
                found.append(Measure(f"d_prime{of}", n, d_prime, shown.d_prime_ci95))
                found.append(Measure(f"criterion{of}", n, criterion, shown.criterion_ci95))
        yield from ((one.name, measure) for measure in found)


def analyses_of(own: AccuracyWithAdvice) -> Iterator[tuple[Analysis, Contrast]]:
    for analysis in own.other_analyses:
        for one in analysis.comparisons:
            yield analysis, one


def calibrations_of(own: Reliance) -> Iterator[tuple[str, str, Rated, float | None]]:
    for one in own.conditions:
        if found := present(one.calibration):
            yield one.name, FIRST, found.before, None
            yield one.name, FINAL, found.after, found.p_holm


def effects_of(
    accuracy: AccuracyWithAdvice | None, reliance: Reliance | None
) -> Iterator[tuple[str, Effect]]:
    models = (
        ("accuracy", accuracy and present(accuracy.model)),
        ("accuracy_after_advice", accuracy and present(accuracy.confidence_model)),
        ("switching", reliance and present(reliance.switching)),
    )
    for name, model in models:
        for one in model.effects if model else ():
            yield name, one
