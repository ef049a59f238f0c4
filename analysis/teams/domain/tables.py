"""Tables of teams, of policies and of held-out predictions: one row each, an interval's ends in two columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.codec import to_json
from analysis.stats.arrays import Ints
from analysis.teams.domain.evidence import Names
from analysis.teams.domain.folds import Folds
from analysis.teams.domain.runs import Runs
from analysis.teams.results import ChosenPolicy, PolicyPoint, TeamResult

TEAM_COLUMNS = (
    "team", "display_name", "method", "n_humans", "n_models", "n_trials", "n_items", "n_participants", "n_correct",
    "accuracy", "accuracy_ci95", "log_loss", "log_loss_ci95", "brier", "brier_ci95", "calibration_error",
    "calibration_error_ci95", "best_member", "best_member_accuracy", "gain", "gain_ci95", "gain_p", "gain_p_holm",
    "gain_two_way_se", "gain_two_way_ci95", "selector_accuracy", "selector_ci95",
)  # fmt: skip
POLICY_COLUMNS = (
    "model", "display_name", "policy", "share", "share_asked", "threshold", "n_asked", "n_trials", "n_correct",
    "accuracy", "random_accuracy", "cost", "accuracy_ci95",
)  # fmt: skip
CHOSEN_COLUMNS = (
    "model", "display_name", "policy", "threshold", "share_asked", "n_asked", "n_trials", "n_correct", "accuracy",
    "cost", "folds", "accuracy_ci95", "gain", "gain_ci95",
)  # fmt: skip
END = "_ci95"


def team_table(rows: Sequence[TeamResult]) -> pd.DataFrame:
    """One row per team and method."""
    return _table(rows, TEAM_COLUMNS)


def policy_table(rows: Sequence[PolicyPoint]) -> pd.DataFrame:
    return _table(rows, POLICY_COLUMNS)


def chosen_policy_table(rows: Sequence[ChosenPolicy]) -> pd.DataFrame:
    return _table(rows, CHOSEN_COLUMNS)


def _table(
    rows: Sequence[TeamResult | PolicyPoint | ChosenPolicy], names: Sequence[str]
) -> pd.DataFrame:
    """The fields of these names, as JSON has them."""
    columns = [part for name in names for part in _parts(name)]
    return pd.DataFrame([_cells(to_json(row), names) for row in rows], columns=columns)


def _parts(name: str) -> list[str]:
    stem = name.removesuffix(END)
    return [f"{stem}_low", f"{stem}_high"] if name.endswith(END) else [name]


def _cells(values: dict[str, Any], names: Sequence[str]) -> list[Any]:
    cells: list[Any] = []
    for name in names:
        cells += values[name] or (None, None) if name.endswith(END) else (values[name],)
    return cells


def prediction_table(
    runs: Runs, folds: Folds, items: pd.DataFrame, only: Sequence[Names] | None = None
) -> pd.DataFrame:
    """One row per team and trial: what was held out together, who judged, the probability of the original, right or not.

    `trial` and `participant` are numbers from 1 in the study's order ("" where rows are items; several joined by +).
    """
    evidence = runs.evidence
    common = pd.DataFrame(
        {
            "trial": _joined(evidence.trial),
            "participant": _joined(evidence.participant),
            "item": items["key"].to_numpy()[evidence.item],
            "original_side": np.where(evidence.truth > 0, "B", "A"),
        }
    )
    parts = [
        common.assign(
            team=evidence.of(names).team.label,
            method=method.value,
            fold=(held.folds or folds).fold + 1,
            p_original=held.p_original,
            p_b=np.where(evidence.truth > 0, held.p_original, 1 - held.p_original),
            is_right=held.is_right,
        )
        for (names, method), held in runs.held.items()
        if only is None or names in only
    ]
    if not parts:
        return common.iloc[:0]
    return pd.concat(parts, ignore_index=True)


def _joined(numbers: Ints) -> list[str]:
    return ["+".join(str(n) for n in row) for row in (numbers + 1).tolist()]
