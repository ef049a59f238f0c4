"""How often each item was judged."""

from dataclasses import dataclass

import pandas as pd

from analysis.codec import MissingResult
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.stats.exposures import Exposures, exposures


@dataclass(frozen=True)
class ItemExposures:
    exposures: Exposures | MissingResult


def build(data: SourceData) -> Built:
    """The counts described, and the table exposures_items (item, subfield, n_trials)."""
    data.need_trials()
    table = pd.DataFrame(
        {
            "item": data.items["key"].to_numpy(),
            "subfield": data.items["subfield"].to_numpy(),
            "n_trials": data.item_counts.astype("int64"),
        }
    )
    return Built(ItemExposures(exposures(data.item_counts)), {"exposures_items": table})
