"""lm-evaluation-harness's formats: its task folders, and its files of results and samples; and Inspect's task of choices.

What apps above this one know of a run's pairs of texts can be written with the samples: each names its function here, as
a dotted path, run -> {(key of the item's row, unit): fields}.
"""

ADDED_TO_SAMPLES: list[str] = []
