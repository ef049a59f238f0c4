"""How many people and judgments there were at each step of a study, as counted. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Exclusion:
    """How many were left out for a reason: its code, and its name for readers."""

    reason: str
    label: str
    n: int


@dataclass(frozen=True)
class FlowCounts:
    """Over the whole study; None where it is not known. Whoever has several reasons is counted under the first.

    kind: of the participants. is_after_publication: people and trials were left out before the data were published;
    `recruited` and the exclusions are read from the gaps in their numbering.
    """

    kind: str
    recruited: int | None
    consented: int | None
    started: int | None
    finished: int | None
    withdrawn: int
    excluded: tuple[Exclusion, ...]
    analysed: int
    trials_judged: int
    trials_excluded: tuple[Exclusion, ...]
    trials_analysed: int
    is_after_publication: bool = False
