"""How many people and trials there were at each step, from the first visit to the analysis (as CONSORT has it)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum

from analysis import columns as c
from analysis.codec import MissingResult
from analysis.data.dataset import ArmCounts, Exclusion, FlowCounts, SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.participants.results import OF_ANALYSED
from analysis.stats import NotEnough, attrition
from analysis.stats.attrition import Loss

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
