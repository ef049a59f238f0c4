"""Models: their agreement, context, memorisation, dates and tuning; and the figures that show no numbers."""

from collections.abc import Callable

from analysis.codec import need
from analysis.report.chapters.memorisation.results import TextKind, TextRatios
from analysis.report.chapters.models.results import ContextAccuracy, SwappedMean
from analysis.report.replication import places
from analysis.report.replication import recomputed as of
from analysis.report.replication.places import Place
from analysis.report.replication.recomputed import Recomputed, Value
from analysis.report.replication.row import NotPublic, Printed, Remark, Why
from scoring.domain.known_models import MODELS, CatalogModel

FALCON, LLAMA, GALACTICA = (
    "tiiuae/falcon-180B",
    "meta-llama/Llama-2-70b-hf",
    "facebook/galactica-120b",
)
LARGEST = (
    (FALCON, "Falcon-180B", "0.00", "0.97"),
    (LLAMA, "Llama-2-70B", "-0.03", "0.65"),
    (GALACTICA, "Galactica-120B", "0.03", "0.65"),
)
SWAP_SEEDS = (42, 1234)


def _agreement(
    place: Place, models: tuple[str, str], people: tuple[str, str], absent: NotPublic | None = None
) -> tuple[Printed, ...]:
    """Mean and sd of the rank correlations: among models, and of models with people."""
    values: tuple[Value, ...] = (
        lambda r: of.agreement(r).model_model_mean,
        lambda r: of.agreement(r).model_model_sd,
        lambda r: of.agreement(r).model_human_mean,
        lambda r: of.agreement(r).model_human_sd,
    )
    what = (
        "models with one another: mean Spearman",
        "models with one another: sd",
        "models with people: mean Spearman",
        "models with people: sd",
    )
    return tuple(
        Printed(place=place, what=name, printed=printed, value=value, not_public=absent)
        for name, printed, value in zip(what, (*models, *people), values, strict=True)
    )


def _points(place: Place, what: str, value: Callable[[ContextAccuracy], float | None]) -> Printed:
    def percent(r: Recomputed) -> float:
        return 100 * of.known(value(of.integration(r)), "score under this condition")

    return Printed(place=place, what=what, value=percent)


def _fall(fall: Callable[[ContextAccuracy], float], place: Place, what: str) -> Printed:
    return _points(place, f"whole abstracts less {what}, percentage points", fall)


def _swapped(found: ContextAccuracy, seed: int) -> SwappedMean:
    return of.first((one for one in found.swapped if one.seed == seed), f"swap of seed {seed}")


def _context(seed: int) -> tuple[Printed, ...]:
    def fall(found: ContextAccuracy) -> float:
        return need(_swapped(found, seed).full_vs_swapped).mean_difference

    what = f"accuracy of models, mean, swapped with seed {seed}, percent"
    return (
        _points(places.CONTEXT, what, lambda c: _swapped(c, seed).mean),
        _fall(fall, places.CONTEXT, f"swapped with seed {seed}"),
    )


def _of_kind(r: Recomputed, name: str, kind: TextKind) -> TextRatios:
    return of.known(of.ratios(r, name).of(kind), f"{kind.value} of {name}")


def _memorisation(name: str, label: str) -> tuple[Printed, ...]:
    median, anchor, above = (
        "median of the original test cases",
        "the Gettysburg Address",
        "original test cases at or above the Gettysburg Address",
    )
    values: tuple[tuple[str, Value], ...] = (
        (median, lambda r: _of_kind(r, name, TextKind.ORIGINAL).spread.median),
        (anchor, lambda r: _of_kind(r, name, TextKind.ANCHOR).spread.median),
        (above, lambda r: _of_kind(r, name, TextKind.ORIGINAL).n_ge_anchor),
    )
    return tuple(
        Printed(place=places.MEMORISATION, what=f"{label}: {what}", value=value)
        for what, value in values
    )


def _dates(name: str, label: str, rho: str, p: str) -> tuple[Printed, ...]:
    def row(what: str, printed: str, value: Value) -> Printed:
        return Printed(place=places.DATES, what=f"{label}: {what}", printed=printed, value=value)

    return (
        row("Spearman", rho, lambda r: of.date(r, name).rho),
        row("p", p, lambda r: of.date(r, name).p),
    )


def _tuning(what: str, printed: str, value: Value, why: Why | None = None) -> Printed:
    what = f"perplexity of the correct version: {what}"
    return Printed(place=places.TUNING, what=what, printed=printed, value=value, why=why)


def _pair(model: CatalogModel) -> tuple[Printed, ...]:
    """Both accuracies of a published pair; the paper prints the difference of one."""
    values: tuple[tuple[str, Value], ...] = (
        ("before", lambda r: 100 * of.tuned(r.results, model.name).before.accuracy),
        ("after", lambda r: 100 * of.tuned(r.results, model.name).after.accuracy),
    )
    return tuple(
        Printed(
            place=places.PAIRS,
            what=f"{model.display_name}: accuracy {when} tuning, percent",
            value=value,
        )
        for when, value in values
    )


def _no_numbers(place: Place, what: str, why: NotPublic = NotPublic.PICTURE) -> Printed:
    return Printed(place=place, what=what, not_public=why)


ROWS: tuple[Printed, ...] = (
    Printed(
        place=places.TUNING,
        what="gain in accuracy, percentage points",
        printed="3",
        value=of.gain,
        remark=Remark.NOT_SIGNIFICANT,
    ),
    _tuning("t", "15.7", lambda r: of.change(r).t),
    _tuning("degrees of freedom", "199", lambda r: of.change(r).df),
    _tuning("d", "0.25", lambda r: of.change(r).d_av),
    _tuning("interval, lower", "0.42", lambda r: of.change(r).ci95[0], Why.CUT_OFF),
    _tuning("interval, upper", "0.55", lambda r: of.change(r).ci95[1]),
    *(row for model in MODELS.values() if model.tuned_from for row in _pair(model)),
    _no_numbers(places.TRIAL_PAGE, "a picture of the page"),
    _points(places.SENTENCES, "accuracy of models, mean, pooled, percent", lambda c: c.pooled.mean),
    _points(
        places.SENTENCES,
        "accuracy of models, mean, within abstracts first, percent",
        lambda c: c.by_item.mean,
    ),
    _fall(
        lambda c: need(c.pooled.full_vs_isolated).mean_difference,
        places.SENTENCES,
        "single sentences",
    ),
    *(row for seed in SWAP_SEEDS for row in _context(seed)),
    *_agreement(places.AGREEMENT, ("0.75", "0.08"), ("0.15", "0.03")),
    *_agreement(
        places.MACHINE_AGREEMENT,
        ("0.83", "0.06"),
        ("0.27", "0.05"),
        NotPublic.NO_MACHINE_SCORES,
    ),
    *(row for name, label, _, _ in LARGEST for row in _memorisation(name, label)),
    *(row for name, label, rho, p in LARGEST for row in _dates(name, label, rho, p)),
    _no_numbers(places.LORA, "a drawing"),
    _no_numbers(places.EXAMPLES, "texts"),
)
