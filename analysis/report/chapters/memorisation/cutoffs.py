"""What models get right of what was published before their training data end, and of what came after."""

from dataclasses import dataclass, replace

import numpy as np

from analysis.codec import flattened
from analysis.data.dataset import Bools, Floats, ModelName, SourceData
from analysis.stats import NotEnough
from analysis.stats.estimates import Proportion, proportion
from analysis.stats.memorisation import by_cutoff, ratios

METHOD = (
    "A test case is before a model's cut-off if its article was published on that day or earlier, and after it otherwise; "
    "articles may have been online as preprints before. A cut-off that is known to the month is that month's last day. "
    "Models whose cut-off is not known are listed without numbers, test cases without a date are counted apart. Shares "
    "with 95% interval of Wilson; ratio_median: of the original texts' compressed length over perplexity."
)
UNKNOWN = (
    "It is not known of any model until when its training data were collected.",
    "State the cut-off under Language models in the administration.",
)
NO_DATES = (
    "No test case has a publication date.",
    "State the publication dates of the test cases.",
)


@dataclass(frozen=True)
class Part:
    """The test cases of one side of the cut-off; ratio_median None without compressed lengths."""

    items: Proportion = flattened(n="n_items")
    ratio_median: float | None = None


@dataclass(frozen=True)
class ModelCutoff(ModelName):
    """`cutoff`, `released`: days, None unknown; before, after: None where there is no such test case."""

    cutoff: str | None
    released: str | None
    before: Part | None
    after: Part | None
    n_undated: int


@dataclass(frozen=True)
class Cutoffs:
    """Of the models of the study's set that scored full texts."""

    models: tuple[ModelCutoff, ...]
    method: str = METHOD

    @property
    def known(self) -> list[ModelCutoff]:
        return [model for model in self.models if model.cutoff]


def cutoffs(data: SourceData) -> Cutoffs:
    """Raises NotEnough without dates, models or any known cut-off."""
    members = data.need_models()
    dates = data.items["published"].to_numpy().astype("datetime64[D]")
    if np.isnat(dates).all():
        raise NotEnough(*NO_DATES)
    found = Cutoffs(tuple(_model(data, int(model), dates) for model in members))
    if not found.known:
        raise NotEnough(*UNKNOWN)
    return found


def _model(data: SourceData, model: int, dates: np.ndarray) -> ModelCutoff:
    cutoff, released = (
        data.models[name].to_numpy().astype("datetime64[D]")[model]
        for name in ("cutoff", "released")
    )
    about = ModelCutoff(
        **data.model_name(model),
        cutoff=_day(cutoff),
        released=_day(released),
        before=None,
        after=None,
        n_undated=0,
    )
    if np.isnat(cutoff):
        return about
    correct, knowledge = data.model_correct[model], _ratios(data, model)
    scored, sides = np.isfinite(correct), by_cutoff(dates, cutoff)
    return replace(
        about,
        before=_part(correct, knowledge, scored & sides.before),
        after=_part(correct, knowledge, scored & sides.after),
        n_undated=int((scored & sides.undated).sum()),
    )


def _part(correct: Floats, knowledge: Floats, of: Bools) -> Part | None:
    if not of.any():
        return None
    known = knowledge[of & np.isfinite(knowledge)]
    return Part(proportion(correct[of]), float(np.median(known)) if len(known) else None)


def _ratios(data: SourceData, model: int) -> Floats:
    """(items,) of the original texts; NaN where not scored, or without compressed lengths."""
    values = np.full(data.n_items, np.nan)
    rows = data.full[data.full["model"] == model]
    values[rows["item"]] = ratios(rows["zlib_original_bytes"], rows["ppl_original"])
    return values


def _day(day: np.datetime64) -> str | None:
    return None if np.isnat(day) else str(day)
