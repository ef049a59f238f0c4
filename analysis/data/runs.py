"""Runs that results show: of each model one per condition, and one of those in which it was asked. Light: pages ask."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count

from analysis.data.filters import ASKED, CHOICE, PERPLEXITY, SOURCES, ReportOptions
from experiment.models import Study
from scoring.models import ChoiceRun, ItemScore, ModelChoice, ScoringRun

Chosen = Sequence[tuple[ChoiceRun, str]]


def choose_choice_runs(study: Study, items: Collection[int]) -> Chosen:
    """(run, source it is taken for): of each model's finished runs the study's own, then what covers most items, then the newest.

    Where one run is real, none that is simulated.
    """
    finished = ChoiceRun.objects.seen_in([study]).filter(status=ChoiceRun.Status.FINISHED)
    runs = list(finished.select_related("language_model").defer("identity", "items").order_by("pk"))
    if not all(run.is_simulated for run in runs):
        runs = [run for run in runs if not run.is_simulated]
    rows = ModelChoice.objects.filter(run__in=runs, item__in=items).order_by()
    counted = rows.values_list("run", "item__source").annotate(n=Count("item", distinct=True))
    coverage = {(run, source): n for run, source, n in counted}
    best: dict[tuple[int, str], ChoiceRun] = {}
    for source in SOURCES:
        covering = [run for run in runs if (run.pk, source) in coverage]
        own = {run.pk: run.study_id == study.pk for run in covering}
        for run in sorted(covering, key=lambda r: (own[r.pk], coverage[r.pk, source], r.pk)):
            best[run.language_model_id, source] = run
    return [(run, source) for (_, source), run in best.items()]


# (run, source) -> how many test cases it has decided
Coverage = Mapping[tuple[int, str], int]


def choose_scoring_runs(
    study: Study, runs: Sequence[ScoringRun], coverage: Coverage, prefer_imported: bool
) -> Sequence[tuple[ScoringRun, str]]:
    """(run, source it is taken for): one of each model, condition, seed and source, among finished runs that count in the study.

    The published one where the people are imported too (`prefer_imported`); then the study's own, so that nobody else's
    replaces it; what covers most items; one with the prompt that most runs of its condition have; the newest.
    """
    prompts = Counter((run.condition, run.prompt) for run in runs)

    def merit(run: ScoringRun, source: str) -> tuple[bool, bool, int, int, int]:
        published = prefer_imported and run.backend == ScoringRun.Backend.IMPORTED
        n_items = coverage[run.pk, source]
        is_own = run.study_id == study.pk
        return published, is_own, n_items, prompts[run.condition, run.prompt], run.pk

    best: dict[tuple[Any, ...], ScoringRun] = {}
    for source in SOURCES:
        covering = [run for run in runs if (run.pk, source) in coverage]
        for run in sorted(covering, key=lambda run: merit(run, source)):
            best[run.language_model_id, run.condition, run.seed, source] = run
    return [(run, source) for (*_, source), run in best.items()]


def is_shown(model: str, method: str, options: ReportOptions) -> bool:
    """True if the options let a model through that took the test by this method; `model`: its name, with ASKED if it was asked."""
    return options.method in ("", method) and (not options.models or model in options.models)


@dataclass(frozen=True)
class CountingRuns:
    """finished, asked: of all models of the study; coverage: of `finished`. shown, shown_asked: those that the options let through."""

    finished: Sequence[ScoringRun]
    coverage: Coverage
    asked: Chosen
    shown: Sequence[tuple[ScoringRun, str]]
    shown_asked: Chosen


def counting_runs(
    study: Study, items: Collection[int], options: ReportOptions, prefer_imported: bool
) -> CountingRuns:
    """Runs that count in the study, on these of its test cases (primary keys)."""
    finished = list(
        ScoringRun.objects.seen_in([study])
        .filter(status=ScoringRun.Status.FINISHED)
        .select_related("language_model")
        .defer("plan", "identity")
        .order_by("-pk")
    )
    asked = choose_choice_runs(study, items)
    rows = ItemScore.objects.filter(run__in=[run.pk for run in finished], item__in=items).order_by()
    # Whole, or a sentence of them
    counted = rows.values_list("run", "item__source").annotate(n=Count("item", distinct=True))
    coverage = {(run, source): n for run, source, n in counted}
    of_shown = [run for run in finished if is_shown(run.language_model.name, PERPLEXITY, options)]
    return CountingRuns(
        finished,
        coverage,
        asked,
        choose_scoring_runs(study, of_shown, coverage, prefer_imported),
        [one for one in asked if is_shown(f"{one[0].language_model.name}{ASKED}", CHOICE, options)],
    )


def has_choices(study: Study) -> bool:
    """True if a model took the test by choosing."""
    return ChoiceRun.objects.seen_in([study]).filter(status=ChoiceRun.Status.FINISHED).exists()
