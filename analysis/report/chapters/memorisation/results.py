"""Accuracy of models on what was published before their training data end, and on what came after.

Long: two chapters of one theme, one after the other.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import Bools, Floats, ModelName, SourceData
from analysis.data.filters import CHOICE
from analysis.report.chapter import Built
from analysis.stats import NotEnough, families
from analysis.stats.distributions import Spread, spread_of
from analysis.stats.estimates import Proportion, defined, proportion
from analysis.stats.families import Family, family
from analysis.stats.memorisation import auc, by_cutoff, ratios
from analysis.stats.publication_date import (
    DateCorrelation,
    DateDirection,
    date_correlation,
    date_influence,
)
from analysis.stats.trial_slope import TrialSlope, trial_slope
from analysis.stats.verdicts import CHAPTER, HOLM, OF_ITEMS, Concludes, Verdict, clear_of

CUTOFFS_METHOD = (
    "A test case is before a model's cut-off if its article was published on that date or earlier. Articles may "
    "have been online as preprints before their publication. If only the month of a cut-off is known, its last day "
    "is used. Models without a known cut-off are listed without numbers, and test cases without a date are counted "
    "separately. Shares have binomial 95% intervals; ratio_median is the median of the original texts' compressed "
    "length over perplexity."
)
UNKNOWN = (
    "The last date of the training data is not known for any model.",
    "Enter the cut-off under Language models in the administration.",
)
CUTOFFS_NO_DATES = (
    "No test case has a publication date.",
    "Add the publication dates of the test cases.",
)


@dataclass(frozen=True)
class CutoffPart:
    """The test cases of one side of the cut-off; ratio_median None without compressed lengths."""

    items: Proportion
    ratio_median: float | None = None


@dataclass(frozen=True)
class ModelCutoff(ModelName):
    """`cutoff`, `released`: days, None unknown; before, after: None where there is no such test case."""

    cutoff: str | None
    released: str | None
    before: CutoffPart | None
    after: CutoffPart | None
    n_undated: int


@dataclass(frozen=True)
class Cutoffs:
    """Results of the models of the study's set that scored full texts."""

    models: tuple[ModelCutoff, ...]
    method: str = CUTOFFS_METHOD

    @property
    def known(self) -> list[ModelCutoff]:
        return [model for model in self.models if model.cutoff]


def cutoffs(data: SourceData) -> Cutoffs:
    """Raises NotEnough without dates, models or any known cut-off."""
    members = data.need_models()
    dates = data.items["published"].to_numpy().astype("datetime64[D]")
    if np.isnat(dates).all():
        raise NotEnough(*CUTOFFS_NO_DATES)
    models = []
    for model in members.tolist():
        cutoff, released = (
            data.models[name].to_numpy().astype("datetime64[D]")[model]
            for name in ("cutoff", "released")
        )
        # Ratios of the original texts; NaN where not scored, or without compressed lengths
        rows = data.full[data.full["model"] == model]
        knowledge = np.full(data.n_items, np.nan)
        knowledge[rows["item"]] = ratios(rows["zlib_original_bytes"], rows["ppl_original"])
        correct = data.model_correct[model]
        scored, sides = np.isfinite(correct), by_cutoff(dates, cutoff)
        one = ModelCutoff(
            **data.model_name(model),
            cutoff=_day(cutoff),
            released=_day(released),
            # Where the cut-off is not known, no date is on either side of it
            before=_part(correct, knowledge, scored & sides.before),
            after=_part(correct, knowledge, scored & sides.after),
            n_undated=0 if np.isnat(cutoff) else int((scored & sides.undated).sum()),
        )
        models.append(one)
    found = Cutoffs(tuple(models))
    if not found.known:
        raise NotEnough(*UNKNOWN)
    return found


def _part(correct: Floats, knowledge: Floats, of: Bools) -> CutoffPart | None:
    if not of.any():
        return None
    known = knowledge[of & np.isfinite(knowledge)]
    return CutoffPart(proportion(correct[of]), float(np.median(known)) if len(known) else None)


def _day(day: np.datetime64) -> str | None:
    return None if np.isnat(day) else str(day)


# --- Memorisation: compressed length over perplexity of the items, of reference corpora and of an anchor known by heart.

MEMORISATION_METHOD = (
    "Compressed length (zlib, bytes) over perplexity, text by text. Memorised texts have high values. Test cases "
    "were compressed with their prompt, and corpora were scored without one. Quartiles by linear interpolation, SD "
    "with n-1, 95% interval of the median from order statistics. n_ge_anchor: texts at or above the anchor's "
    "(median) ratio. auc_items_gt_source: probability that an original test case's ratio is above that of a text "
    "of the source, with ties counted as one half."
)
NOTHING = (
    "No scores in this report have compressed lengths.",
    "Score a model on the test cases and on reference texts on the Models page.",
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
    """Kinds of texts: test cases, a corpus to compare them with, or a text that models know by heart."""

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
    """Ratios of one source of texts as one model reads them; `spread`: of the ratios, in bytes.

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
    spread: Spread


@dataclass(frozen=True)
class ModelRatios(ModelName):
    sources: tuple[TextRatios, ...]

    def of(self, kind: TextKind) -> TextRatios | None:
        """The first source of this kind."""
        return next((s for s in self.sources if s.kind is kind), None)

    @property
    def has_references(self) -> bool:
        """True if it read other texts than the test cases."""
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


def build_memorisation(data: SourceData) -> Built:
    """Both results, each by itself, and the table memorisation_ratios (one row per text)."""
    tables: list[pd.DataFrame] = []
    found = try_estimate(_memorisation_ratios, data, tables)
    return Built(
        Memorisation(found, try_estimate(cutoffs, data)),
        {"memorisation_ratios": pd.concat(tables, ignore_index=True)} if tables else {},
    )


def _memorisation_ratios(data: SourceData, tables: list[pd.DataFrame]) -> Ratios:
    """Adds each source's ratios to the tables."""
    full = data.full[data.full["zlib_original_bytes"].notna()]
    corpora = data.corpora.dropna(subset=["ppl", "zlib_bytes"])
    found = []
    for model in np.union1d(full["model"], corpora["model"]).astype(int).tolist():
        name = ModelName(**data.model_name(model))
        # Both versions of the test cases, then each corpus that the model read
        items = full[(full["model"] == model) & full["zlib_altered_bytes"].notna()]
        sources = [
            _Texts("items", label, kind, _floats(items[f"zlib_{v}_bytes"]), _floats(items[f"ppl_{v}"]))
            for kind, v, label in ITEMS
            if len(items)
        ]  # fmt: skip
        read = corpora[corpora["model"] == model]
        for (is_anchor, corpus), rows in read.groupby(["is_anchor", "corpus"]):
            texts = _Texts(
                str(corpus),
                corpus_label(str(corpus)),
                TextKind.ANCHOR if is_anchor else TextKind.CORPUS,
                _floats(rows["zlib_bytes"]),
                _floats(rows["ppl"]),
                str(rows["in_training"].iloc[0]),
            )
            sources.append(texts)
        found.append(ModelRatios(**data.model_name(model), sources=_compared(sources)))
        for texts in sources:
            columns = {"corpus": texts.corpus, "label": texts.label, "kind": texts.kind.value}
            tables.append(pd.DataFrame({**name.named, **columns, "ratio": texts.ratios}))
    if not found:
        raise NotEnough(*NOTHING)
    anchors = data.corpora.loc[data.corpora["is_anchor"].astype(bool), "corpus"]
    anchor = str(anchors.iloc[0]) if len(anchors) else None
    return Ratios(tuple(found), anchor, anchor and corpus_label(anchor), MEMORISATION_METHOD)


def corpus_label(name: str) -> str:
    """A corpus' name for people: the published folders' in words, others without underscores.

    >>> corpus_label("gettysburg_address"), corpus_label("my_corpus")
    ('Gettysburg Address', 'my corpus')
    """
    return PUBLISHED_CORPORA.get(name) or name.replace("_", " ")


def _compared(sources: Sequence[_Texts]) -> tuple[TextRatios, ...]:
    """Each source beside the text that models know by heart, and beside the original test cases."""
    anchors = [texts.ratios for texts in sources if texts.kind is TextKind.ANCHOR]
    height = float(np.median(np.concatenate(anchors))) if anchors else None
    original = next((texts.ratios for texts in sources if texts.kind is TextKind.ORIGINAL), None)
    rows = []
    for texts in sources:
        # Neither is compared with itself
        is_anchor, is_original = texts.kind is TextKind.ANCHOR, texts.kind is TextKind.ORIGINAL
        n_ge_anchor = (
            None if height is None or is_anchor else int(np.count_nonzero(texts.ratios >= height))
        )
        above = None if original is None or is_original else auc(original, texts.ratios)
        row = TextRatios(
            texts.corpus,
            texts.label,
            texts.kind,
            float(np.median(texts.ppl)),
            float(np.median(texts.zlib_bytes)),
            texts.in_training,
            n_ge_anchor,
            above,
            spread_of(texts.ratios),
        )
        rows.append(row)
    return tuple(rows)


def _floats(column: "pd.Series[float]") -> Floats:
    return np.asarray(column, dtype=np.float64)


# --- Publication date: are older studies easier for a model than newer ones?

Dates = npt.NDArray[np.datetime64]
DAYS_A_YEAR = 365.25

PUBLICATION_DATE_NO_DATES = (
    "Fewer than three test cases have a publication date.",
    "Add the publication dates of the test cases.",
)
UNDEFINED = ("The correlation is not defined for any model.", "Dates and difficulties must vary.")


@dataclass(frozen=True, kw_only=True)
class ModelDates(ModelName):
    """A model's difficulties against the dates of publication; holm_p and direction as one of the chapter's family."""

    correlation: DateCorrelation | MissingResult
    holm_p: float
    direction: Annotated[
        DateDirection,
        Concludes("whether newer test cases are easier for a model", CHAPTER, HOLM, OF_ITEMS),
    ]

    @property
    def known(self) -> DateCorrelation | None:
        """The correlation where it is defined: dates and difficulties vary."""
        return defined(present(self.correlation))


@dataclass(frozen=True)
class PeopleDates:
    """Accuracy of people's trials over the date, per year; holm_p and direction as one of the chapter's family."""

    direction: Annotated[
        DateDirection, Concludes("whether newer test cases are easier for people", CHAPTER, HOLM)
    ]
    slope: TrialSlope
    holm_p: float


@dataclass(frozen=True)
class PublicationDate:
    """Results of the models of the study's set, and of its people: two questions of one family (`families.together`)."""

    publication_date: tuple[ModelDates, ...] | MissingResult
    publication_date_tests: Family | MissingResult
    publication_date_people: PeopleDates | MissingResult


def build_publication_date(data: SourceData) -> Built:
    """The results, and the table publication_date_items (one row per model and item)."""
    dates = data.items["published"].to_numpy().astype("datetime64[D]")
    if (~np.isnat(dates)).sum() < 3:
        raise NotEnough(*PUBLICATION_DATE_NO_DATES)
    models = try_estimate(_models, data, dates)
    slope = try_estimate(_people, data, dates)
    if isinstance(models, MissingResult):
        if isinstance(slope, MissingResult):
            raise NotEnough(models.reason, models.needed)
        return Built(PublicationDate(models, models, _people_corrected(slope, ())))
    numbers, rows = data.need_models(), list(models)
    known = [(n, one) for n, model in enumerate(models) if (one := model.known)]
    p = [one.p for _n, one in known]
    people = _people_corrected(slope, p)
    together: Family | MissingResult = MissingResult(*UNDEFINED)
    if known:
        # One family of tests, to which that of people belongs
        others = [] if isinstance(slope, MissingResult) else [[slope.p]]
        errors = [date_influence(dates, data.difficulty[numbers[n]]) for n, _one in known]
        tests, corrected = family(p, np.column_stack(errors), others)
        verdicts = []
        for (n, one), holm_p in zip(known, corrected.tolist(), strict=True):
            verdicts.append(Verdict.of(one.rho, holm_p, one.n))
            direction = DateDirection.of(verdicts[-1])
            rows[n] = replace(rows[n], holm_p=holm_p, direction=direction)
        together = clear_of(tests, verdicts)
    items = []
    for model in numbers.tolist():
        # Answers of a model that was asked have no perplexities
        if data.models["method"].iloc[model] == CHOICE:
            continue
        name, difficulty = ModelName(**data.model_name(model)), data.difficulty[model]
        use = ~np.isnat(dates) & ~np.isnan(difficulty)
        table = {
            **name.named,
            "item": data.items["key"].to_numpy()[use],
            "date": dates[use],
            "difficulty_ppl": difficulty[use],
            "points": data.model_correct[model][use],
        }
        items.append(pd.DataFrame(table))
    tables = {"publication_date_items": pd.concat(items, ignore_index=True)} if items else {}
    return Built(PublicationDate(tuple(rows), together, people), tables)


def _people_corrected(
    slope: TrialSlope | MissingResult, models: Sequence[float]
) -> PeopleDates | MissingResult:
    """models: the p values of theirs."""
    if isinstance(slope, MissingResult):
        return slope
    (p,) = families.together({"people": [slope.p], "models": models})["people"]
    p = math.nan if p is None else p
    return PeopleDates(DateDirection.of(slope.verdict(p)), slope, p)


def _people(data: SourceData, dates: Dates) -> TrialSlope:
    trials = data.need_trials()
    days = np.where(np.isnat(dates), np.nan, dates.astype(np.int64))
    years = (days / DAYS_A_YEAR)[trials["item"].to_numpy()]
    slope, _ = trial_slope(years, trials["is_correct"], trials["participant"], trials["item"])
    return slope


def _models(data: SourceData, dates: Dates) -> tuple[ModelDates, ...]:
    return tuple(
        ModelDates(
            **data.model_name(model),
            correlation=try_estimate(date_correlation, dates, data.difficulty[model]),
            holm_p=math.nan,
            direction=DateDirection.UNCLEAR,
        )
        for model in data.need_models().tolist()
    )
