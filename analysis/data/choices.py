"""Models that took the test by choosing: of each one run, its answers, and what they come to for each test case."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.data.items import read_columns
from analysis.data.runs import Chosen
from scoring.domain.choosing.outcomes import Reply, outcome
from scoring.domain.generating import Finish
from scoring.domain.perplexity import NEAR_TIE_NATS
from scoring.models import ModelChoice
from scoring.models.choices import IS_READ, UNPARSED

COLUMNS = ["run", "model", "of_source", "item", "original_side", "sample", "side", "is_read", "state", "confidence", "log_odds", "seconds", "form"]  # fmt: skip
SCORES = ["run", "of_source", "item", "unit", "margin_nats", "p_original", "stated", "points", "is_near_tie", "original_side", "model", "condition", "seed"]  # fmt: skip


def read_answers(chosen: Chosen, numbers: Mapping[int, int]) -> pd.DataFrame:
    """COLUMNS, with `item` a primary key; `numbers`: language model -> number. The run is negative: scoring runs have their own."""
    rows = ModelChoice.objects.filter(run__in={run.pk for run, _ in chosen}).order_by()
    rows = rows.annotate(can_be_read=IS_READ)
    answers = read_columns(
        rows,
        {
            "run": ("run_id", np.int64),
            "item": ("item_id", np.int64),
            "of_source": ("item__source", object),
            "original_side": ("original_side", object),
            "sample": ("sample", np.int64),
            "side": ("side", object),
            "is_read": ("can_be_read", bool),
            "confidence": ("confidence", float),
            "log_odds": ("log_odds", float),
            "finish": ("finish", object),
            "seconds": ("seconds", float),
        },
    )
    about = pd.DataFrame(
        [(r.pk, source, numbers[r.language_model_id], r.form) for r, source in chosen],
        columns=["run", "of_source", "model", "form"],
    ).astype({"run": np.int64, "model": np.int64})
    answers = answers.merge(about, on=["run", "of_source"], how="inner")
    whole = answers["finish"] == Finish.STOP.value
    answers["state"] = answers["finish"].where(~whole | answers["is_read"], UNPARSED)
    answers["run"] = -answers["run"]
    # 0 is stored where nothing was said of it, as in an import
    answers["seconds"] = answers["seconds"].replace(0.0, np.nan)
    order = ["model", "item", "original_side", "sample"]
    return answers.sort_values(order, ignore_index=True)[COLUMNS]


def decisions(answers: pd.DataFrame) -> pd.DataFrame:
    """SCORES: what the answers of each model about each item come to, where both orders can be read."""
    read = answers[answers["is_read"]]
    rows = []
    for (model, item), own in read.groupby(["model", "item"], sort=True):
        columns = (own[n] for n in ("original_side", "side", "confidence", "log_odds"))
        found = outcome(
            [Reply(a, b, _known(c), _known(d)) for a, b, c, d in zip(*columns, strict=True)]
        )
        if found is None:
            continue
        row = {
            "run": own["run"].iloc[0],
            "of_source": own["of_source"].iloc[0],
            "item": item,
            "unit": 0,
            "margin_nats": found.log_odds,
            "p_original": np.nan if found.p_original is None else found.p_original,
            "stated": np.nan if found.stated is None else found.stated,
            "points": found.points,
            "is_near_tie": abs(found.log_odds) < NEAR_TIE_NATS,
            "original_side": "",
            "model": model,
            "condition": "full",
            "seed": 0,
        }
        rows.append(row)
    whole = dict.fromkeys(("run", "item", "unit", "model", "seed"), np.int64)
    return pd.DataFrame(rows, columns=SCORES).astype(whole)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
