"""People's accuracy by the position they hold."""

from dataclasses import dataclass

import numpy as np

from analysis.codec import MissingResult, flattened, tidy_table
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.stats.estimates import Proportion, proportion_of_counts

NOT_STATED = "not stated"
COLUMNS = ("position", "n_participants", "n_trials", "n_correct", "accuracy", "sem", "ci_low", "ci_high")  # fmt: skip


@dataclass(frozen=True)
class PositionAccuracy:
    position: str
    n_participants: int
    trials: Proportion = flattened(n="n_trials")


@dataclass(frozen=True)
class Positions:
    """In the questionnaire's order, then what it does not list, the unknown last."""

    positions: tuple[PositionAccuracy, ...] | MissingResult


def build(data: SourceData) -> Built:
    """Raises NotEnough without trials."""
    trials = data.need_trials()
    held = [str(career) or NOT_STATED for career in data.participants["career"]]
    order = [p for p in data.position_order if p in held]
    order += [*sorted(set(held) - {*order, NOT_STATED}), NOT_STATED]
    code = np.array([order.index(position) for position in held], dtype=np.int64)
    participant = trials["participant"].to_numpy()
    n = np.bincount(code[participant], minlength=len(order))
    right = trials["is_correct"].to_numpy(dtype=float)
    correct = np.bincount(code[participant], weights=right, minlength=len(order))
    people = np.bincount(code[np.unique(participant)], minlength=len(order))
    found = tuple(
        PositionAccuracy(position, int(people[k]), proportion_of_counts(int(correct[k]), int(n[k])))
        for k, position in enumerate(order)
        if n[k]
    )
    return Built(Positions(found), {"positions": tidy_table(found, COLUMNS)})
