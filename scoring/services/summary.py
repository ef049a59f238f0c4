"""The summary of a run: decisions, near-ties, zlib/perplexity ratios, what could not be scored; the same for commands and pages."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Avg, Case, Count, F, FloatField, Q, QuerySet, When

from experiment.models import Item, Study
from lib.points import RIGHT, TIE, WRONG
from scoring.backends import settings_of
from scoring.domain.perplexity import NEAR_TIE_NATS, Accuracy, accuracy, ratio
from scoring.models import ItemScore, ScoringRun, UnscoredText
from scoring.models.counting import counts_in

# |ln a - ln b| < x without logarithms: each is less than e^x times the other
_WIDTH = math.exp(NEAR_TIE_NATS)
IS_CORRECT, IS_TIE = Q(ppl_original__lt=F("ppl_altered")), Q(ppl_original=F("ppl_altered"))
IS_NEAR_TIE = Q(ppl_original__lt=F("ppl_altered") * _WIDTH) & Q(
    ppl_altered__lt=F("ppl_original") * _WIDTH
)
_COUNTS = {
    "n": Count("pk"),
    "n_correct": Count("pk", filter=IS_CORRECT),
    "n_ties": Count("pk", filter=IS_TIE),
    "n_near": Count("pk", filter=IS_NEAR_TIE),
}


def points_of(scores: str = "") -> Case:
    """`lib.points.points` in the database, of rows of ItemScore, or of those behind the prefix `scores`."""
    original, altered = f"{scores}ppl_original", f"{scores}ppl_altered"
    return Case(
        When(**{f"{original}__lt": F(altered)}, then=RIGHT),
        When(**{original: F(altered)}, then=TIE),
        When(**{f"{original}__gt": F(altered)}, then=WRONG),
        output_field=FloatField(),
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """The decisions of some pairs of texts."""

    accuracy: Accuracy
    near_ties: int


def count(scores: "QuerySet[ItemScore]") -> Counted:
    """The decisions of some pairs, counted in the database."""
    counted = scores.order_by().aggregate(**_COUNTS)
    return Counted(
        Accuracy(counted["n"], counted["n_correct"], counted["n_ties"]), counted["n_near"]
    )


def count_by_run(study: Study, condition: str, source: str = "") -> dict[int, Counted]:
    """Number of a run -> its decisions on the study's test cases of this source, or on all. Runs without any are left out."""
    shown = Item.objects.shown_by([study]).values("pk")
    of_models = {"run__condition": condition, "run__language_model__checkpoint": None}
    scores = ItemScore.objects.filter(counts_in([study], "run__"), item__in=shown, **of_models)
    if source:
        scores = scores.filter(item__source=source)
    rows = scores.order_by().values_list("run").annotate(**_COUNTS)
    return {run: Counted(Accuracy(*counts), near) for run, *counts, near in rows}


@dataclass(frozen=True, slots=True)
class WithinItem:
    """Share of an item's sentences that were right, averaged over items; SEM of these averages."""

    n_items: int
    accuracy: float | None
    sem: float | None


@dataclass(frozen=True)
class RunSummary:
    """A run on a study's items. `counted` is of items, or of sentences in condition isolated."""

    run: ScoringRun
    counted: Counted
    near_tie_names: Sequence[str]
    unscored: Sequence[UnscoredText]
    within_item: WithinItem | None  # in condition isolated


def summarise_run(run: ScoringRun) -> RunSummary:
    """On the test cases that its study shows."""
    scores = item_scores(run, run.study)
    decisions = [score.decision for score in scores]
    isolated = run.condition == ScoringRun.Condition.ISOLATED
    near = [
        f"{score.item.key}, sentence {score.unit + 1}" if isolated else score.item.key
        for score, decision in zip(scores, decisions, strict=True)
        if decision.is_near_tie
    ]
    return RunSummary(
        run,
        Counted(accuracy(decisions), len(near)),
        near,
        unscored(run),
        within_item(scores) if isolated else None,
    )


def scores_in(run: ScoringRun, study: Study) -> "QuerySet[ItemScore]":
    """The run's scores on the test cases that a study shows."""
    return run.item_scores.filter(item__in=Item.objects.shown_by([study]).values("pk"))


def item_scores(run: ScoringRun, study: Study | None = None) -> list[ItemScore]:
    """All, or those in a study, in the items' order; sorted here, since databases disagree on the order of texts."""
    scores = scores_in(run, study) if study else run.item_scores.all()
    return sorted(scores.select_related("item", "run"), key=lambda s: (s.item.key, s.unit))


def within_item(scores: Iterable[ItemScore]) -> WithinItem:
    by_item = defaultdict(list)
    for score in scores:
        by_item[score.item_id].append(score.decision.points)
    shares = [float(np.mean(points)) for points in by_item.values()]
    return WithinItem(
        len(shares),
        float(np.mean(shares)) if shares else None,
        float(np.std(shares, ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else None,
    )


def unscored(run: ScoringRun, study: Study | None = None) -> list[UnscoredText]:
    """Texts that could not be scored, and why; with a study, of the test cases that it shows."""
    texts = run.unscored.order_by("name", "unit")
    if study is not None:
        texts = texts.filter(item__in=Item.objects.shown_by([study]).values("pk"))
    return list(texts)


def score_rows(run: ScoringRun, study: Study | None = None) -> list[dict[str, Any]]:
    """For JSON and CSV, one row per pair of texts; with a study, of those that it shows.

    Sums (nats) and counts are those that the perplexity is made of, None where imported.
    """
    which = "all" if run.mode == "paper" else "text"
    return [
        {
            "item": score.item.key,
            "unit": score.unit,
            "source": score.item.source,
            "doi": score.item.doi,
            "condition": run.condition,
            "prompt": run.prompt,
            "ppl_original": score.ppl_original,
            "ppl_altered": score.ppl_altered,
            "nll_original": getattr(score, f"nll_{which}_original_nats"),
            "nll_altered": getattr(score, f"nll_{which}_altered_nats"),
            "tokens_original": getattr(score, f"tokens_{which}_original"),
            "tokens_altered": getattr(score, f"tokens_{which}_altered"),
        }
        for score in item_scores(run, study)
    ]


def counted(runs: "QuerySet[ScoringRun]", study: Study | None) -> "QuerySet[ScoringRun, Any]":
    """With n_scored and accuracy: of all pairs of texts that they scored, or of those that a study shows."""
    shown = None
    if study is not None:
        shown = Q(item_scores__item__in=Item.objects.shown_by([study]).values("pk"))
    found = runs.select_related("study", "language_model").defer("plan", "identity")
    return found.annotate(
        n_scored=Count("item_scores", filter=shown),
        accuracy=Avg(points_of("item_scores__"), filter=shown),
    )


RUN_COLUMNS = "backend condition prompt source seed limit status done total error created_at"


def run_rows(study: Study | None = None) -> list[dict[str, Any]]:
    """For JSON and tables, the newest first: runs that a study sees, on the test cases that it shows; else all, on those of its own."""
    runs = ScoringRun.objects.all()
    if study is not None:
        found = list(counted(runs.seen_in([study]), study))
    else:
        owners = Study.objects.filter(pk__in=runs.order_by().values("study"))
        found = [run for own in owners for run in counted(runs.filter(study=own), own)]
        found += counted(runs.filter(study=None), None)
    return [
        {
            "run": run.pk,
            "study": run.study.slug if run.study else "",
            "corpus": run.corpus,
            "model": run.language_model.name,
            "settings": settings_of(run.model_args),  # how it was loaded and read
            **{name: getattr(run, name) for name in RUN_COLUMNS.split()},
            "n_items": run.n_scored,
            "accuracy": run.accuracy,
        }
        for run in sorted(found, key=lambda run: -run.pk)
    ]


# Of n texts' ratios, zlib bytes / perplexity: n, q1, median, q3
Quartiles = dict[str, float]


@dataclass(frozen=True)
class KnownTexts:
    """A run, and the ratios of its texts; None where nothing was scored."""

    run: ScoringRun
    ratio: Quartiles | None


@dataclass(frozen=True)
class CorpusSummary(KnownTexts):
    """A corpus, the same model's run on a study's items if there is one, and its anchor texts."""

    items: KnownTexts | None
    anchors: Sequence[KnownTexts]
    unscored: Sequence[UnscoredText]


def summarise_corpus(run: ScoringRun, study: Study | None = None) -> CorpusSummary:
    items = _beside_items(run, study) if study else None
    anchors = ScoringRun.objects.filter(language_model=run.language_model, is_anchor=True)
    known = (KnownTexts(a, _of_corpus(a)) for a in anchors.exclude(pk=run.pk).order_by("pk"))
    return CorpusSummary(
        run,
        _of_corpus(run),
        items,
        [anchor for anchor in known if anchor.ratio],
        unscored(run),
    )


def _beside_items(run: ScoringRun, study: Study) -> KnownTexts | None:
    """The run on whole items to set a corpus beside: of the same model; with the same prompt if there is one."""
    runs = (
        ScoringRun.objects.seen_in([study])
        .filter(
            language_model=run.language_model,
            condition=ScoringRun.Condition.FULL,
            status=ScoringRun.Status.FINISHED,
            model_args=run.model_args,
            limit=None,
        )
        .exclude(backend=ScoringRun.Backend.IMPORTED)
    )
    same_prompt = runs.filter(prompt=run.prompt, prompt_text=run.prompt_text)
    found = same_prompt.order_by("-pk").first() or runs.order_by("-pk").first()
    if found is None:
        return None
    pairs = found.item_scores.values_list("zlib_original_bytes", "ppl_original")
    ratios = [ratio(zlib, ppl) for zlib, ppl in pairs if zlib is not None]
    return KnownTexts(found, _quartiles(ratios))


def _of_corpus(run: ScoringRun) -> Quartiles | None:
    return _quartiles([ratio(score.zlib_bytes, score.ppl) for score in run.corpus_scores.all()])


def _quartiles(ratios: Sequence[float]) -> Quartiles | None:
    if not ratios:
        return None
    q1, median, q3 = (float(q) for q in np.quantile(ratios, (0.25, 0.5, 0.75)))
    return {"n": len(ratios), "q1": q1, "median": median, "q3": q3}
