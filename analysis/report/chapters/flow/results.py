"""How many people and trials there were at each step, from the first visit to the analysis (as CONSORT has it)."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from analysis.codec import MissingResult, tidy_table
from analysis.data.dataset import Exclusion, FlowCounts, SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough

NOBODY = ("Nobody has taken part yet.", "Open the study to participants.")
COLUMNS = ("code", "reason", "label", "n")
METHOD = (
    "Counts of people over the whole study, whichever source the report is of. Who has several reasons is counted under "
    "the first of them, so that the excluded add up. Analysed: finished, not excluded, with at least one analysed trial."
)
AFTER_PUBLICATION = (
    "The published trials are those after exclusion; who and what was left out is read from the gaps in their numbering, "
    "the reasons are not published."
)


class Code(Enum):
    """What a step counts. WITHOUT_TRIALS: finished and not excluded, but without a single analysed trial."""

    RECRUITED = "recruited"
    CONSENTED = "consented"
    STARTED = "started"
    FINISHED = "finished"
    WITHDRAWN = "withdrawn"
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
class ParticipantFlow:
    """`kind` of participants; `note`: what has to be said beside the counts."""

    kind: str
    steps: tuple[Step, ...]
    n_excluded: int
    trials: TrialFlow
    note: str
    method: str = METHOD


@dataclass(frozen=True)
class Flow:
    flow: ParticipantFlow | MissingResult


def build(data: SourceData) -> Built:
    """The flow, and the tables flow_steps and flow_trials. Raises NotEnough where no one took part."""
    counts = data.flow
    if counts is None or not any(step.n for step in _progress(counts)):
        raise NotEnough(*NOBODY)
    steps = tuple(_steps(counts))
    trials = TrialFlow(counts.trials_judged, counts.trials_excluded, counts.trials_analysed)
    flow = ParticipantFlow(
        kind=counts.kind,
        steps=steps,
        n_excluded=sum(exclusion.n for exclusion in counts.excluded),
        trials=trials,
        note=AFTER_PUBLICATION if counts.is_after_publication else "",
    )
    tables = {
        "flow_steps": tidy_table(steps, COLUMNS),
        "flow_trials": tidy_table(trials.steps, COLUMNS),
    }
    return Built(Flow(flow), tables)


def _steps(counts: FlowCounts) -> Iterator[Step]:
    yield from _progress(counts)
    for exclusion in counts.excluded:
        yield Step(Code.EXCLUDED, exclusion.reason, exclusion.label, exclusion.n)
    n_excluded = sum(exclusion.n for exclusion in counts.excluded)
    left = (counts.finished or 0) - n_excluded - counts.analysed
    if left > 0:
        yield Step(Code.WITHOUT_TRIALS, "", "Finished, but without a trial in the analysis", left)
    yield Step(Code.ANALYSED, "", "Analysed", counts.analysed)


def _progress(counts: FlowCounts) -> Iterator[Step]:
    """How far people came, as far as it is known."""
    first = "In the published numbering" if counts.is_after_publication else "Visited the study"
    for code, label, n in (
        (Code.RECRUITED, first, counts.recruited),
        (Code.CONSENTED, "Gave consent", counts.consented),
        (Code.STARTED, "Began to judge", counts.started),
        (Code.FINISHED, "Finished", counts.finished),
        (Code.WITHDRAWN, "withdrawn", counts.withdrawn or None),
    ):
        if n is not None:
            yield Step(code, "", label, n)
