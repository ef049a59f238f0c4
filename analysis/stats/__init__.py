"""Estimators: numbers in, numbers out, never rounded. They know neither Django nor where the numbers come from.

A docstring states formula, shapes, units, errors and source; tests/analysis/stats names the tool that each was checked
against.
"""

from dataclasses import dataclass


class NotEnough(ValueError):
    """The data cannot support an estimate: `reason` says why, `needed` what would be enough. Both are sentences."""

    def __init__(self, reason: str, needed: str) -> None:
        self.reason, self.needed = reason, needed
        super().__init__(f"{reason} {needed}")


@dataclass(frozen=True, slots=True)
class MissingResult:
    """Stands where the data could not support a result: why, and what would be enough. Both are sentences."""

    reason: str
    needed: str = ""

    @classmethod
    def of(cls, error: NotEnough) -> "MissingResult":
        return cls(error.reason, error.needed)
