"""Simulated studies with advice, whose reliance is known, as SourceData."""

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.data.dataset import SourceData
from analysis.stats.reliance.trials import AFTER, BEFORE, NONE
from tests.analysis import made
from tests.analysis.stats.reliance.planted import draw

ALONE, FIRST, BESIDE = "Alone", "Own answer first", "Advice beside"
ARMS = {NONE: (1, ALONE), AFTER: (2, FIRST), BEFORE: (3, BESIDE)}


def with_advice(
    *, n_people: int = 60, n_items: int = 40, each: int = 8, has_beside: bool = True, seed: int = 3
) -> SourceData:
    """Half of the people alone, the others with advice after a first answer; a half of these beside, if `has_beside`."""
    trials = draw(seed, n_people, n_items, each).trials
    table = pd.DataFrame({name: getattr(trials, name) for name in trials.__dataclass_fields__})
    if has_beside:
        beside = table["participant"] % 4 == 3
        table.loc[beside, "procedure"] = BEFORE
        table.loc[beside, ["right_before", "confidence_before", "rt_before_ms"]] = np.nan
    rng = np.random.default_rng(seed)
    table["arm_number"] = [ARMS[one][0] for one in table["procedure"]]
    table["arm"] = [ARMS[one][1] for one in table["procedure"]]
    table["original_side"] = np.where(rng.random(len(table)) < 0.5, "A", "B")
    data = made.make_data(n_participants=n_people, n_items=n_items, trials_each=each, seed=seed)
    return replace(data, advised=table, adviser_name="a language model", resamples=50)
