"""lm-evaluation-harness's formats: its task folders, and its files of results and samples; and Inspect's task of choices."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.models import ScoringRun

# What apps above this one know of a run's pairs of texts, by key of the item's row and unit: fields that are written with
# the samples. Filled by these apps as they start, since imports run one way
ADDED_TO_SAMPLES: "list[Callable[[ScoringRun], Mapping[tuple[int, int], Mapping[str, Any]]]]" = []
