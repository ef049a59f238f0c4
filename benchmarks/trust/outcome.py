"""What a check found: one row of docs/trust.md."""

from dataclasses import dataclass

RECOVERS_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number that has a limit of its own, or none."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    of: str = ""  # what it belongs to, where several figures are one row

    @property
    def is_green(self) -> bool:
        return self.limit is None or self.value <= self.limit


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of one check on one database. An answer is acknowledged once the participant's browser was told that it is kept."""

    cases: int  # how often the fault struck, or what was sent
    acknowledged: int = 0
    stored: int = 0
    lost: int = 0  # acknowledged, and not stored as sent
    doubled: int = 0
    errors: int = 0  # answers with the status 500
    unavailable: int = 0  # answers with the status 503, asked again
    recovery_s: float | None = None  # from the fault's end to the next acknowledged answer
    figures: tuple[Figure, ...] = ()
    problems: tuple[str, ...] = ()  # what else must not be: a drift, a page out of turn

    @property
    def is_green(self) -> bool:
        counts = self.lost or self.doubled or self.errors or self.problems
        is_back = self.recovery_s is None or self.recovery_s <= RECOVERS_WITHIN_S
        return not counts and is_back and all(figure.is_green for figure in self.figures)
