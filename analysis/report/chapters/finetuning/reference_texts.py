"""What tuning cost or brought on other texts: the reference corpora that both models were scored on."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from analysis.codec import MissingResult, flattened, try_estimate
from analysis.data.dataset import SourceData
from analysis.report.chapters.finetuning.pairs import Pair
from analysis.report.chapters.memorisation.results import corpus_label
from analysis.stats import NotEnough
from analysis.stats.finetuning import TextsChange, compare_texts

METHOD = (
    "Reference texts: mean log perplexity over texts, in nats per token, each text counting alike; paired t test of before "
    "minus after. A rise on general texts is what the model forgot."
)
NOTHING = (
    "No reference corpus was scored with both models, so it is not known what tuning cost on other texts.",
    "Score general texts with both: manage.py score_corpus.",
)
OTHER_PROMPT = (
    "The two models were given these texts with different prompts.",
    "Score the corpus with both models and one prompt.",
)
OTHER_TEXTS = (
    "The two models' texts under this name differ.",
    "Score the same file with both models.",
)


@dataclass(frozen=True)
class CorpusChange:
    """`in_training`: whether the corpus is among the tuned model's training data (known, likely, unknown, absent)."""

    corpus: str
    label: str
    in_training: str
    n_texts: int
    change: TextsChange | MissingResult = flattened()


def corpus_changes(data: SourceData, pair: Pair) -> tuple[CorpusChange, ...]:
    """By name; the text that models know by heart is left out. Raises NotEnough where there is none."""
    found = tuple(_changes(data.corpora[~data.corpora["is_anchor"].astype(bool)], pair))
    if not found:
        raise NotEnough(*NOTHING)
    return found


def _changes(corpora: pd.DataFrame, pair: Pair) -> Iterator[CorpusChange]:
    before, after = (corpora[corpora["model"] == model] for model in (pair.base, pair.tuned))
    for name in sorted(set(before["corpus"]) & set(after["corpus"])):
        first, second = (texts[texts["corpus"] == name] for texts in (before, after))
        both = first.merge(second, on="row", suffixes=("_before", "_after"))
        yield CorpusChange(
            corpus=name,
            label=corpus_label(name),
            in_training=str(second["in_training"].iloc[0]),
            n_texts=len(both),
            change=try_estimate(_change, both),
        )


def _change(both: pd.DataFrame) -> TextsChange:
    if (both["prompt_before"] != both["prompt_after"]).any():
        raise NotEnough(*OTHER_PROMPT)
    # The same text has the same compressed length under every model
    if (both["zlib_bytes_before"] != both["zlib_bytes_after"]).any():
        raise NotEnough(*OTHER_TEXTS)
    return compare_texts(both["ppl_before"], both["ppl_after"])
