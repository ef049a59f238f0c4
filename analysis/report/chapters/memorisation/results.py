"""Memorisation: compressed length over perplexity of the items, of reference corpora and of an anchor known by heart."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, try_estimate
from analysis.data.dataset import Floats, ModelName, SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.memorisation.cutoffs import Cutoffs, cutoffs
from analysis.stats import NotEnough
from analysis.stats.distributions import Spread
from analysis.stats.memorisation import auc, describe, ratios

METHOD = (
    "Compressed length (zlib, bytes) over perplexity, text by text; high values are what memorised texts have. Items were "
    "compressed with their prompt, corpora were scored without one. Quartiles by linear interpolation, sd with n-1, 95% "
    "interval of the median from order statistics. n_ge_anchor: texts at or above the anchor's (median) ratio. "
    "auc_items_gt_source: probability that an original item's ratio is above that of a text of the source, ties half."
)
NOTHING = (
    "No language model's scores come with compressed lengths.",
    "Score a model on the test cases and on reference texts: see the Models page.",
)
# How the published results name their folders of reference texts
PUBLISHED_CORPORA = {
    "arxiv_abstracts_20210601_20211231": "arXiv, Jun to Dec 2021",
    "arxiv_abstracts_20230601_20231231": "arXiv, Jun to Dec 2023",
    "biorxiv_abstracts_2021-06-01_2021-12-01": "bioRxiv, Jun to Nov 2021",
    "biorxiv_abstracts_2023-06-01_2023-12-01": "bioRxiv, Jun to Nov 2023",
    "gettysburg_address": "Gettysburg Address",
    "j_of_neuro": "Journal of Neuroscience",
    "refinedweb": "RefinedWeb",
}


class TextKind(StrEnum):
    """What texts are: test cases, a corpus to compare them with, or a text that models know by heart."""

    ORIGINAL = "items-original"
    ALTERED = "items-altered"
    CORPUS = "corpus"
    ANCHOR = "anchor"

    @property
    def is_test_case(self) -> bool:
        return self in (TextKind.ORIGINAL, TextKind.ALTERED)


ITEMS = (
    (TextKind.ORIGINAL, "original", "Test cases, original"),
    (TextKind.ALTERED, "altered", "Test cases, altered"),
)


@dataclass(frozen=True)
class TextRatios:
    """Of one source of texts as one model reads them; `spread`: of the ratios, in bytes.

    in_training: whether a corpus is among the model's training data (known, likely, unknown, absent); None of test cases.
    n_ge_anchor: texts with a ratio at or above the anchor's. auc_items_gt_source: how often an original item's ratio is
    above a text's. None where there is nothing to compare with.
    """

    corpus: str
    label: str
    kind: TextKind
    ppl_median: float
    zlib_median: float
    in_training: str | None
    n_ge_anchor: int | None
    auc_items_gt_source: float | None
    spread: Spread = flattened()


@dataclass(frozen=True)
class ModelRatios(ModelName):
    sources: tuple[TextRatios, ...]

    def of(self, kind: TextKind) -> TextRatios | None:
        """The first source of this kind."""
        return next((s for s in self.sources if s.kind is kind), None)

    @property
    def has_references(self) -> bool:
        """Whether it read other texts than the test cases."""
        return any(not s.kind.is_test_case for s in self.sources)


@dataclass(frozen=True)
class Ratios:
    models: tuple[ModelRatios, ...]
    anchor_corpus: str | None
    anchor_label: str | None
    method: str


@dataclass(frozen=True)
class Memorisation:
    """`memorisation`: of every model with compressed lengths. `cutoffs`: of the study's set, by date of publication."""

    memorisation: Ratios | MissingResult
    cutoffs: Cutoffs | MissingResult


@dataclass(frozen=True)
class _Texts:
    """The texts of one source as one model reads them."""

    corpus: str
    label: str
    kind: TextKind
    zlib_bytes: Floats
    ppl: Floats
    in_training: str | None = None

    @property
    def ratios(self) -> Floats:
        return ratios(self.zlib_bytes, self.ppl)


def build(data: SourceData) -> Built:
    """Both results, each by itself, and the table memorisation_ratios (one row per text)."""
    tables: list[pd.DataFrame] = []
    found = try_estimate(_ratios, data, tables)
    return Built(
        Memorisation(found, try_estimate(cutoffs, data)),
        {"memorisation_ratios": pd.concat(tables, ignore_index=True)} if tables else {},
    )


def _ratios(data: SourceData, tables: list[pd.DataFrame]) -> Ratios:
    """Adds each source's ratios to the tables."""
    full = data.full[data.full["zlib_original_bytes"].notna()]
    corpora = data.corpora.dropna(subset=["ppl", "zlib_bytes"])
    found = []
    for model in np.union1d(full["model"], corpora["model"]).astype(int).tolist():
        names = data.model_name(model)
        sources = [
            *_items(full[full["model"] == model]),
            *_corpora(corpora[corpora["model"] == model]),
        ]
        found.append(ModelRatios(**names, sources=_described(sources)))
        tables += [_table(names["name"], names["display_name"], texts) for texts in sources]
    if not found:
        raise NotEnough(*NOTHING)
    anchors = data.corpora.loc[data.corpora["is_anchor"].astype(bool), "corpus"]
    anchor = str(anchors.iloc[0]) if len(anchors) else None
    return Ratios(tuple(found), anchor, anchor and corpus_label(anchor), METHOD)


def _items(rows: pd.DataFrame) -> list[_Texts]:
    rows = rows[rows["zlib_altered_bytes"].notna()]
    return [
        _Texts("items", label, kind, _floats(rows[f"zlib_{v}_bytes"]), _floats(rows[f"ppl_{v}"]))
        for kind, v, label in ITEMS
        if len(rows)
    ]


def _corpora(rows: pd.DataFrame) -> list[_Texts]:
    return [
        _Texts(
            str(corpus),
            corpus_label(str(corpus)),
            TextKind.ANCHOR if is_anchor else TextKind.CORPUS,
            _floats(texts["zlib_bytes"]),
            _floats(texts["ppl"]),
            str(texts["in_training"].iloc[0]),
        )
        for (is_anchor, corpus), texts in rows.groupby(["is_anchor", "corpus"])
    ]


def corpus_label(name: str) -> str:
    """A corpus' name for people: the published folders' in words, others without underscores.

    >>> corpus_label("gettysburg_address"), corpus_label("my_corpus")
    ('Gettysburg Address', 'my corpus')
    """
    return PUBLISHED_CORPORA.get(name) or name.replace("_", " ")


def _described(sources: Sequence[_Texts]) -> tuple[TextRatios, ...]:
    anchors = [texts.ratios for texts in sources if texts.kind is TextKind.ANCHOR]
    height = float(np.median(np.concatenate(anchors))) if anchors else None
    originals = [texts.ratios for texts in sources if texts.kind is TextKind.ORIGINAL]
    return tuple(_row(texts, height, originals[0] if originals else None) for texts in sources)


def _row(texts: _Texts, height: float | None, original: Floats | None) -> TextRatios:
    """`height`: the anchor's ratio; `original`: those of the original items."""
    about = describe(texts.zlib_bytes, texts.ppl)
    is_anchor, is_original = texts.kind is TextKind.ANCHOR, texts.kind is TextKind.ORIGINAL
    return TextRatios(
        texts.corpus,
        texts.label,
        texts.kind,
        about.ppl_median,
        about.zlib_median,
        texts.in_training,
        None if height is None or is_anchor else int(np.count_nonzero(texts.ratios >= height)),
        None if original is None or is_original else auc(original, texts.ratios),
        about.spread,
    )


def _table(name: str, display_name: str, texts: _Texts) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": name,
            "display_name": display_name,
            "corpus": texts.corpus,
            "label": texts.label,
            "kind": texts.kind.value,
            "ratio": texts.ratios,
        }
    )


def _floats(column: "pd.Series[float]") -> Floats:
    return np.asarray(column, dtype=np.float64)
