"""Token log-probabilities of a model's run on full texts, with the places where sentences end."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analysis.data.dataset import Tokens
from experiment.domain import markup
from experiment.models import Item
from scoring.domain.conditions import sentences
from scoring.models import ScoringRun
from scoring.services import token_store

COLUMNS = [
    "item",
    "unit",
    "version",
    "position",
    "token",
    "start",
    "end",
    "logprob",
    "in_text",
    "in_alternation",
]


def read(runs: Mapping[int, int], items: Mapping[int, int], model: int) -> Tokens | None:
    """The tokens of the model's run on these items (number -> primary key); None where none were stored."""
    run = ScoringRun.objects.filter(
        pk=runs.get(model, 0), status=ScoringRun.Status.FINISHED
    ).first()
    return read_run(run, items) if run else None


def read_run(run: ScoringRun, items: Mapping[int, int]) -> Tokens | None:
    """The tokens of a run on these items (number -> primary key); None where none were stored."""
    if run.backend == ScoringRun.Backend.IMPORTED:
        return None
    table = token_store.read_tokens(run)
    if not table.num_rows:
        return None
    rows = Item.objects.in_bulk(items.values())
    numbers = {(rows[pk].key, rows[pk].version): n for n, pk in items.items()}
    tokens: pd.DataFrame = table.to_pandas()
    names = pd.MultiIndex.from_frame(tokens[["item", "item_version"]])
    number = pd.Series(numbers).reindex(names).to_numpy(dtype=float)
    known = ~np.isnan(number)
    tokens = tokens.assign(item=number)[known].astype({"item": np.int64})[COLUMNS]
    tokens = tokens.assign(counted=tokens["in_text"] | (run.mode == "paper"))
    tokens = tokens.reset_index(drop=True)
    # Characters at which the sentences of each version end
    sentence_ends = {}
    for number in np.unique(tokens["item"]).tolist():
        ends: dict[str, list[int]] = {"original": [], "altered": []}
        starts = {"original": 0, "altered": 0}
        for sentence in sentences(markup.parse(rows[items[number]].markup)):
            for version in ends:
                starts[version] += len(getattr(sentence, version).text)
                ends[version].append(starts[version])
                starts[version] += len(sentence.after)
        sentence_ends[number] = ends
    return Tokens(tokens, sentence_ends)
