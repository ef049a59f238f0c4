"""Tables of what was tried on held-out trials: teams, who decides, and each prediction."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from analysis.codec import to_json
from analysis.stats.arrays import Ints
from analysis.teams.domain.deferral import Policies
from analysis.teams.domain.evidence import Names
from analysis.teams.domain.runs import Runs
from analysis.teams.results import ChosenPolicy, PolicyPoint, TeamResult

TEAM_COLUMNS = (
    "team=team.label", "display_name=team.display_name", "method", "n_humans", "n_models", "n_trials", "n_items", "n_participants", "n_correct", "n_ties",
    "accuracy", "accuracy_ci95", "log_loss=log_loss_nats", "log_loss_ci95=log_loss_nats_ci95", "brier", "brier_ci95", "calibration_error",
    "calibration_error_ci95", "best_member", "best_member_accuracy", "gain", "gain_ci95", "gain_p", "gain_p_holm",
    "gain_se", "selector_accuracy", "selector_ci95=selector_accuracy_ci95",
)  # fmt: skip
POLICY_COLUMNS = (
    "model=team.label", "display_name=team.display_name", "policy", "share", "share_asked", "threshold", "n_asked", "n_trials", "n_correct", "n_ties",
    "accuracy", "random_accuracy", "cost", "accuracy_ci95",
)  # fmt: skip
CHOSEN_COLUMNS = (
    "model=team.label", "display_name=team.display_name", "policy", "threshold", "share_asked", "n_asked", "n_trials", "n_correct", "n_ties", "accuracy",
    "cost", "folds", "accuracy_ci95", "gain", "gain_ci95", "gain_p", "gain_p_holm",
)  # fmt: skip
END = "_ci95"


def tables(
    runs: Runs,
    items: pd.DataFrame,
    results: Sequence[TeamResult],
    found: Policies,
    *,
    predicted: Sequence[Names] | None,
    prefix: str = "",
) -> dict[str, pd.DataFrame]:
    """One row per team and method, who decides, and the predictions of these teams (None: of all).

    `prefix` stands before the names of all tables but that of teams. Predictions have a row per team and trial; `trial` and
    `participant` are numbers from 1 in the study's order ("" where rows are items; several joined by +).
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
            fold=(held.folds or runs.folds).fold + 1,
            p_original=held.p_original,
            p_b=np.where(evidence.truth > 0, held.p_original, 1 - held.p_original),
            points=held.points,
        )
        for (names, method), held in runs.held.items()
        if predicted is None or names in predicted
    ]
    return {
        "teams": _table(results, TEAM_COLUMNS),
        f"{prefix}policies": _table(found.points, POLICY_COLUMNS),
        f"{prefix}policies_chosen": _table(found.chosen, CHOSEN_COLUMNS),
        f"{prefix}predictions": pd.concat(parts, ignore_index=True) if parts else common.iloc[:0],
    }


def _table(
    rows: Sequence[TeamResult | PolicyPoint | ChosenPolicy], names: Sequence[str]
) -> pd.DataFrame:
    """The fields of these names; `name=path` stands under another."""
    found: dict[str, list[Any]] = {}
    for name in names:
        column, _, path = name.rpartition("=")
        column, values = column or name, [to_json(attrgetter(path)(row)) for row in rows]
        if name.endswith(END):
            stem = column.removesuffix(END)
            pairs = [value or (None, None) for value in values]
            found |= {
                f"{stem}_{end}": [pair[k] for pair in pairs]
                for k, end in enumerate(("low", "high"))
            }
        else:
            found[column] = values
    return pd.DataFrame(found)


def _joined(numbers: Ints) -> list[str]:
    return ["+".join(str(n) for n in row) for row in (numbers + 1).tolist()]
