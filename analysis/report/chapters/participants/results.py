"""Participants: answers about themselves, when and how long, over the whole study. Small groups are not named.

Long: four chapters of one theme, one after the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from enum import Enum

import numpy as np
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, try_estimate
from analysis.data.dataset import ArmCounts, Exclusion, Floats, FlowCounts, SourceData, TakingPart
from analysis.report.chapter import Built
from analysis.stats import NotEnough, attrition
from analysis.stats.arrays import Interval
from analysis.stats.attrition import Loss
from analysis.stats.distributions import Exposures, Spread, exposures, spread_of

# What fewer people answered is not reported by itself: it could tell who they are
SMALL = 5
ANSWERS = c.data("characteristic=0", "answer=1", "n=2", "share=3")
PARTICIPANTS_NOBODY = ("Nobody has taken part yet.", "Open the study to participants.")
ONLY_OTHERS = (
    "Only participants of other kinds have taken part so far: {others}.",
    "Open the study to participants.",
)
NO_ANALYSED = (
    "No participant has an analysed trial yet.",
    "Let participants finish the study.",
)
NOT_GIVEN = (
    "No participant in the analysis gave this information.",
    "The study's settings decide whether it asks for this.",
)
NOT_RECORDED = ("This was not recorded.", "It is only known for people who take part on this site.")
FEW = (
    f"Fewer than {SMALL} participants in the analysis gave this information.",
    f"At least {SMALL} people are needed, so that nobody can be recognised.",
)
PARTICIPANTS_METHOD = (
    "Participants with at least one analysed trial, over the whole study, on test cases of every source and on questions. "
    "Answers given by fewer than {small} people are counted together with missing answers, and numbers given by "
    "fewer than {small} are left out. Dates are those of consent, in the server's time zone. Minutes run from "
    "consent to the end, including pauses. The time per trial ends with Continue; it is that of test cases, or of questions "
    "if nobody judged a test case. Quartiles by linear interpolation, SD with n-1."
)

OF_ANALYSED = (
    "The other chapters of this report have all judged trials, also those of excluded or unfinished participants, because it was asked for with "
    "--trials all. This chapter is about the trials that are analysed without this option."
)


@dataclass(frozen=True)
class Group:
    """How many gave an answer, by its code."""

    answer: str
    n: int
    share: float


@dataclass(frozen=True)
class Answers:
    """The answers of at least SMALL people each, most frequent first; n_rest gave another one, or none.

    n_different: how many different answers there are, rare ones included.
    """

    n: int
    groups: tuple[Group, ...]
    n_rest: int
    n_different: int

    @property
    def share_rest(self) -> float:
        return self.n_rest / self.n


@dataclass(frozen=True)
class Count:
    """People by the code of something."""

    code: str
    n: int


@dataclass(frozen=True)
class People:
    """People of one kind; TakingPart says what the fields are. Each part says why where it is missing."""

    kind: str
    n_analysed: int
    first_day: date | None
    last_day: date | None
    routes: tuple[Count, ...]
    other_kinds: tuple[Count, ...]
    ethics_number: str
    ethics_body: str
    payment: tuple[str, ...]
    gender: Answers | MissingResult
    country: Answers | MissingResult
    position: Answers | MissingResult
    age: Spread | MissingResult
    experience_years: Spread | MissingResult
    minutes: Spread | MissingResult
    trial_s: Spread | MissingResult
    n_small: int
    method: str

    @property
    def answers(self) -> Mapping[str, Answers]:
        """By characteristic, where there are any."""
        found = {"gender": self.gender, "position": self.position, "country": self.country}
        return {name: one for name, one in found.items() if isinstance(one, Answers)}


@dataclass(frozen=True)
class Participants:
    people: People | MissingResult


def build_participants(data: SourceData) -> Built:
    """The results, and the table participants. Raises NotEnough where nobody of this kind took part."""
    own, flow = data.taking_part, data.flow
    n_consented = max(flow.recruited or 0, flow.consented or 0, flow.analysed) if flow else 0
    if own is None or not n_consented:
        if not own or not own.other_kinds:
            raise NotEnough(*PARTICIPANTS_NOBODY)
        others = ", ".join(f"{kind} ({n})" for kind, n in sorted(own.other_kinds.items()))
        raise NotEnough(ONLY_OTHERS[0].format(others=others), ONLY_OTHERS[1])
    table = own.people
    found = People(
        kind=own.kind,
        n_analysed=len(table),
        first_day=own.first_day,
        last_day=own.last_day,
        routes=_counts(own.routes),
        other_kinds=_counts(own.other_kinds),
        ethics_number=own.ethics_number,
        ethics_body=own.ethics_body,
        payment=own.payment,
        gender=try_estimate(_answers, table["gender"]),
        country=try_estimate(_answers, table["country"]),
        position=try_estimate(_answers, table["career"]),
        age=try_estimate(_spread, table["age"]),
        experience_years=try_estimate(_spread, table["experience_years"]),
        minutes=try_estimate(_spread, table["minutes"], NOT_RECORDED),
        trial_s=try_estimate(_trial_seconds, own),
        n_small=SMALL,
        method=PARTICIPANTS_METHOD.format(small=SMALL)
        + (f" {OF_ANALYSED}" if data.has_all_trials else ""),
    )
    rows = []
    for name, answers in found.answers.items():
        rows += [(name, group.answer, group.n, group.share) for group in answers.groups]
        if answers.n_rest:
            rows.append((name, "", answers.n_rest, answers.share_rest))
    return Built(Participants(found), {"participants": c.tidy(ANSWERS, rows)})


def _counts(found: Mapping[str, int]) -> tuple[Count, ...]:
    return tuple(Count(code, n) for code, n in sorted(found.items(), key=lambda x: (-x[1], x[0])))


def _answers(column: "pd.Series[str]") -> Answers:
    """Raises NotEnough with fewer than SMALL answers."""
    if column.empty:
        raise NotEnough(*NO_ANALYSED)
    given = column[column != ""].value_counts()
    need_several(int(given.sum()), NOT_GIVEN)
    n = len(column)
    several = ((str(a), int(k)) for a, k in given.items() if k >= SMALL)
    named = sorted(several, key=lambda group: (-group[1], group[0]))
    return Answers(
        n=n,
        groups=tuple(Group(answer, k, k / n) for answer, k in named),
        n_rest=n - sum(k for _, k in named),
        n_different=len(given),
    )


def _spread(values: "pd.Series[float]", none: tuple[str, str] = NOT_GIVEN) -> Spread:
    """Raises NotEnough with fewer than SMALL known values; `none`: what to say of none."""
    if values.empty:
        raise NotEnough(*NO_ANALYSED)
    known = values.dropna()
    need_several(len(known), none)
    return spread_of(known)


def need_several(n: int, none: tuple[str, str]) -> None:
    """Raises NotEnough with fewer than SMALL people; `none`: what to say of none."""
    if n == 0:
        raise NotEnough(*none)
    if n < SMALL:
        raise NotEnough(*FEW)


def _trial_seconds(own: TakingPart) -> Spread:
    known: Floats = own.rt_ms[np.isfinite(own.rt_ms)] / 1000
    if not len(known):
        raise NotEnough(*(NOT_RECORDED if len(own.rt_ms) else NO_ANALYSED))
    return spread_of(known)


# --- How many people and trials there were at each step, from the first visit to the analysis (as CONSORT has it).

FLOW_NOBODY = ("Nobody has taken part yet.", "Open the study to participants.")
STEPS = (
    *c.data("code", "reason"),
    c.text("Step", "label", "label"),
    c.count("People", "n", "n"),
)
ARM_STEPS = (
    *c.data("arm=0", "code=1.code", "reason=1.reason"),
    *c.data("label=1.label", "n=1.n"),
)
# Stages at which participants are lost: what readers call them
LEFT, NOT_ANALYSED = "left", "not_analysed"
LOST_AT = {LEFT: "did not finish", NOT_ANALYSED: "finished, but not analysed"}
LOSSES = (
    c.text("Arm", "arm", "arm"),
    c.text("Lost", lambda row: LOST_AT[row.stage]),
    *c.data("stage"),
    c.count("People", "n", "n"),
    c.count("of whom lost", "lost", "lost"),
    c.percent("Share", "share", "share"),
    c.percent("Share in other arms", "share_others", "share_others"),
    *c.data("n_others", "lost_others"),
    c.p_value("p", "p", "p"),
    c.p_value("p (Holm)", "p_holm", "p_holm"),
    *c.data("verdict"),
)
FLOW_METHOD = (
    "Counts of people over the whole study, on test cases of every source and on questions. Participants with several reasons "
    "for exclusion are counted under the first, so that the numbers add up. Analysed: finished, not excluded, and "
    "with at least one analysed trial."
)
AFTER_PUBLICATION = (
    "The published trials are those after exclusion. Gaps in their numbering show the excluded participants and "
    "trials; the files do not contain the reasons. Trials of excluded participants are not counted."
)


class Code(Enum):
    """Kinds of steps. WITHOUT_TRIALS: finished and not excluded, but without a single analysed trial.

    UNDER_WAY and ANSWERED (at least one trial) are counted by arm alone. JUDGED: trials.
    """

    RECRUITED = "recruited"
    CONSENTED = "consented"
    STARTED = "started"
    FINISHED = "finished"
    WITHDRAWN = "withdrawn"
    UNDER_WAY = "under_way"
    ANSWERED = "answered"
    EXCLUDED = "excluded"
    WITHOUT_TRIALS = "without_trials"
    ANALYSED = "analysed"
    JUDGED = "judged"


@dataclass(frozen=True)
class Step:
    """`reason`: the code of what excluded them, "" elsewhere; `label`: the step's or the reason's name."""

    code: Code
    reason: str
    label: str
    n: int


@dataclass(frozen=True)
class TrialFlow:
    """Judgments of test cases, or answers to questions."""

    judged: int
    excluded: tuple[Exclusion, ...]
    analysed: int

    @property
    def steps(self) -> tuple[Step, ...]:
        return (
            Step(Code.JUDGED, "", "Judged", self.judged),
            *(Step(Code.EXCLUDED, e.reason, e.label, e.n) for e in self.excluded),
            Step(Code.ANALYSED, "", "Analysed", self.analysed),
        )


@dataclass(frozen=True)
class ArmFlow:
    arm: str
    steps: tuple[Step, ...]

    def n_of(self, step: Step) -> int:
        """People of this arm at a step of another one."""
        same = ((own.code, own.reason, own.n) for own in self.steps)
        return next(
            (n for code, reason, n in same if (code, reason) == (step.code, step.reason)), 0
        )


@dataclass(frozen=True)
class ParticipantFlow:
    """`kind` of participants; `note`: what has to be said beside the counts.

    by_hand: everybody whom a person excluded, by reason; one whom a rule excludes too is counted under the rule in `steps`.
    arms: of a study that has any; losses: whether these lose different shares of their participants, at the stages of LOST_AT.
    """

    kind: str
    steps: tuple[Step, ...]
    n_excluded: int
    trials: TrialFlow
    arms: tuple[ArmFlow, ...]
    losses: tuple[Loss, ...]
    note: str
    losses_method: str = attrition.METHOD
    method: str = FLOW_METHOD
    answers: TrialFlow = TrialFlow(0, (), 0)
    by_hand: tuple[Exclusion, ...] = ()

    @property
    def is_after_publication(self) -> bool:
        """True if people are numbers of a published file, which are known of its finishers alone."""
        return self.steps[0].code is Code.RECRUITED and Code.CONSENTED not in self.first_counts

    @property
    def first_counts(self) -> Mapping[Code, int]:
        """By code; of several steps with one code, the first."""
        return {step.code: step.n for step in reversed(self.steps)}


@dataclass(frozen=True)
class Flow:
    flow: ParticipantFlow | MissingResult


def build_flow(data: SourceData) -> Built:
    """The flow, and the tables flow_steps, flow_trials and, of questions, flow_answers. Raises NotEnough where no one took part."""
    counts = data.flow
    if counts is None or not any(step.n for step in _progress(counts)):
        raise NotEnough(*FLOW_NOBODY)
    steps = tuple(_steps(counts))
    trials = TrialFlow(counts.trials_judged, counts.trials_excluded, counts.trials_analysed)
    written = counts.answers
    answers = TrialFlow(written.given, written.excluded, written.analysed)
    notes = (
        AFTER_PUBLICATION if counts.is_after_publication else "",
        OF_ANALYSED if data.has_all_trials else "",
    )
    # People who are still taking part have not left, and count at neither stage
    settled = [(one.consented - one.under_way, one.finished) for one in counts.arms]
    lost = {LEFT: [(n, n - stayed) for n, stayed in settled]}
    if counts.analysed:  # nobody is where no trial was analysed
        lost[NOT_ANALYSED] = [(one.finished, one.finished - one.analysed) for one in counts.arms]
    flow = ParticipantFlow(
        kind=counts.kind,
        steps=steps,
        n_excluded=sum(exclusion.n for exclusion in counts.excluded),
        trials=trials,
        arms=tuple(ArmFlow(one.arm, tuple(_arm_steps(counts, one))) for one in counts.arms),
        losses=attrition.losses([one.arm for one in counts.arms], lost),
        note=" ".join(note for note in notes if note),
        answers=answers,
        by_hand=counts.by_hand,
    )
    tables = {"flow_steps": c.tidy(STEPS, steps), "flow_trials": c.tidy(STEPS, trials.steps)}
    if answers.judged:
        tables["flow_answers"] = c.tidy(STEPS, answers.steps)
    if flow.arms:
        rows = [(one.arm, step) for one in flow.arms for step in one.steps]
        tables |= {"flow_arms": c.tidy(ARM_STEPS, rows), "flow_losses": c.tidy(LOSSES, flow.losses)}
    return Built(Flow(flow), tables)


def _arm_steps(counts: FlowCounts, arm: ArmCounts) -> Iterator[Step]:
    """As those of the study, and how many are still taking part, and answered anything."""
    known = {f.name: getattr(arm, f.name) for f in fields(ArmCounts)}
    under_way, answered, _arm = (known.pop(name) for name in ("under_way", "answered", "arm"))
    began = (
        "Completed at least one trial" if counts.answers.given else "Judged at least one test case"
    )
    for step in _steps(replace(counts, recruited=None, is_after_publication=False, **known)):
        if step.code is Code.FINISHED:
            yield Step(Code.UNDER_WAY, "", "Still taking part", under_way)
            yield Step(Code.ANSWERED, "", began, answered)
        yield step


def _steps(counts: FlowCounts) -> Iterator[Step]:
    yield from _progress(counts)
    for exclusion in counts.excluded:
        yield Step(Code.EXCLUDED, exclusion.reason, exclusion.label, exclusion.n)
    n_excluded = sum(exclusion.n for exclusion in counts.excluded)
    stayed = (counts.finished or 0) - counts.withdrawn_since
    left = stayed - n_excluded - counts.analysed
    if left > 0:
        yield Step(Code.WITHOUT_TRIALS, "", "Finished, but without a trial in the analysis", left)
    yield Step(Code.ANALYSED, "", "Analysed", counts.analysed)


def _progress(counts: FlowCounts) -> Iterator[Step]:
    """How far people came, as far as it is known."""
    first = "In the published numbering" if counts.is_after_publication else "Visited the study"
    for code, label, n in (
        (Code.RECRUITED, first, counts.recruited),
        (Code.CONSENTED, "Gave consent", counts.consented),
        (Code.STARTED, "Started the trials", counts.started),
        (Code.FINISHED, "Finished", counts.finished),
        (Code.WITHDRAWN, "withdrawn", counts.withdrawn or None),
    ):
        if n is not None:
            yield Step(code, "", label, n)


# --- How often each item was judged.


@dataclass(frozen=True)
class ItemExposures:
    exposures: Exposures | MissingResult


def build_exposures(data: SourceData) -> Built:
    """The counts described, and the table exposures_items (item, subfield, n_trials)."""
    data.need_trials()
    table = pd.DataFrame(
        {
            "item": data.items["key"].to_numpy(),
            "subfield": data.items["subfield"].to_numpy(),
            "n_trials": data.item_counts.astype("int64"),
        }
    )
    return Built(ItemExposures(exposures(data.item_counts)), {"exposures_items": table})


# --- How long people took over a trial.

BINS_PER_DECADE = 10
REACTION_TIMES_METHOD = (
    "Milliseconds from the page's appearance to the answer. Times that were not measured, or are not positive, are "
    "left out. Quantiles by linear interpolation; natural logarithms, SD with n-1; 95% interval of the median from "
    "order statistics. Ten bins per factor of ten, including their lower edge."
)


@dataclass(frozen=True)
class TimeBin:
    """`n` times in seconds, from `low_s` to below `high_s`."""

    low_s: float
    high_s: float
    n: int


@dataclass(frozen=True)
class AnswerTimes:
    """Median, quartiles and the median's interval in ms, of right or of wrong answers; None where there is none."""

    is_correct: bool
    n: int
    median: float | None = None
    q1: float | None = None
    q3: float | None = None
    ci95: Interval | None = None


@dataclass(frozen=True)
class Times:
    """In `unit`, the histogram in seconds; logarithms are natural. n_missing: trials without a time."""

    n: int
    n_missing: int
    unit: str
    mean: float
    quartiles: tuple[float, float, float]
    q01: float
    q05: float
    q95: float
    q99: float
    min: float
    max: float
    mean_log: float
    sd_log: float | None
    median_ci95: Interval | None
    histogram: tuple[TimeBin, ...]
    by_correct: tuple[AnswerTimes, ...]
    method: str = REACTION_TIMES_METHOD


@dataclass(frozen=True)
class ReactionTimes:
    reaction_times: Times | MissingResult


def build_reaction_times(data: SourceData) -> Built:
    """The times described, and the table reaction_times_histogram."""
    trials = data.need_trials()
    times: Floats = trials["rt_ms"].to_numpy(dtype=np.float64)
    is_known = times > 0
    if not is_known.any():
        raise NotEnough(
            "No trial has a measured reaction time.",
            "Import or collect trials with reaction times.",
        )
    times, right = times[is_known], trials["is_correct"].to_numpy(dtype=bool)[is_known]
    spread, logs, bins = spread_of(times), np.log(times), _histogram(times / 1000)
    by_correct = []
    for is_correct in (True, False):
        if len(own := times[right == is_correct]):
            of = spread_of(own)
            by_correct.append(AnswerTimes(is_correct, of.n, of.median, of.q1, of.q3, of.ci95))
        else:
            by_correct.append(AnswerTimes(is_correct, 0))
    q01, q05, q95, q99 = (float(np.quantile(times, p)) for p in (0.01, 0.05, 0.95, 0.99))
    found = Times(
        n=len(times),
        n_missing=int((~is_known).sum()),
        unit="ms",
        mean=spread.mean,
        quartiles=(spread.q1, spread.median, spread.q3),
        q01=q01,
        q05=q05,
        q95=q95,
        q99=q99,
        min=spread.min,
        max=spread.max,
        mean_log=float(logs.mean()),
        sd_log=float(logs.std(ddof=1)) if len(logs) > 1 else None,
        median_ci95=spread.ci95,
        histogram=bins,
        by_correct=tuple(by_correct),
    )
    return Built(ReactionTimes(found), {"reaction_times_histogram": pd.DataFrame(bins)})


def _histogram(seconds: Floats) -> tuple[TimeBin, ...]:
    """Counts in bins with edges at tenths of powers of ten, from the smallest to the largest value."""
    first = int(np.floor(np.log10(seconds.min()) * BINS_PER_DECADE))
    last = int(np.floor(np.log10(seconds.max()) * BINS_PER_DECADE)) + 1
    edges = 10.0 ** (np.arange(first, last + 1) / BINS_PER_DECADE)
    # An extreme value may lie a rounding beyond its edge
    inside = np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, len(edges) - 2)
    n = np.bincount(inside, minlength=len(edges) - 1)
    return tuple(
        TimeBin(*row)
        for row in zip(edges[:-1].tolist(), edges[1:].tolist(), n.tolist(), strict=True)
    )
