"""Figures of people and models on versions of test cases, counted in the database; for lists of any length.

People are real and imported ones, in the studies given, and their judgments those that count as exposures.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from math import log
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, When

from experiment.domain.assignment import QUESTION
from experiment.models import AdvisedTrial, Item, Judgment, Participant, Study
from experiment.models.trials import believed
from lib.points import point
from scoring.models import ItemScore, LanguageModel, ScoringRun
from scoring.models.counting import counts_in

# Simulated participants say nothing about a text, and pilots are no result
KINDS = (Participant.Kind.REAL, Participant.Kind.IMPORTED)
Items = QuerySet[Item, Any] | Collection[int]


@dataclass(frozen=True, slots=True)
class PeopleFigures:
    """n: valid judgments, the exposures. n_asked: those that say whether the study was known."""

    n: int = 0
    n_right: int = 0
    n_asked: int = 0
    n_recognised: int = 0

    @property
    def accuracy(self) -> float | None:
        return self.n_right / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """n: models that scored both texts, each by its newest run; n_right: those that found the original more likely,
        and half of those to which both are alike.

    difficulty: their mean log ppl(altered) - log ppl(original), nats per token; the smaller, the harder. Of perplexities
        themselves the mean would be that of the model with the largest ones.
    """

    n: int
    n_right: float
    difficulty: float


def valid_judgments(studies: QuerySet[Study]) -> "QuerySet[Judgment, Any]":
    """Judgments of real and imported participants of these studies, about test cases, as people answered by themselves.

    own_correct, own_confidence and own_rt_ms are of the first answer where advice followed it. Advice that came first leaves
    no such answer, so that those judgments are left out, as by analysis.data.advised.own_answers.
    """
    people = Participant.objects.filter(study__in=studies.order_by().values("pk"), kind__in=KINDS)
    judged = Judgment.objects.valid().exclude(trial__stratum=QUESTION)
    own = judged.exclude(trial__advised__procedure=AdvisedTrial.Procedure.BEFORE)
    first = "trial__advised__first"
    is_right = Q(**{f"{first}_side": F("trial__original_side")})
    has_first = Q(**{f"{first}_side__in": ("A", "B")})
    return (
        own.filter(trial__participant__in=people.values("pk"))
        .annotate(
            own_correct=Case(When(is_right, True), When(has_first, False), default="correct"),
            own_confidence=Case(When(has_first, f"{first}_confidence"), default="confidence"),
            own_rt_ms=Case(
                When(has_first, believed(f"{first}_rt_ms", f"{first}_server_ms")),
                default=believed("rt_ms", "server_ms"),
            ),
        )
        .order_by()
    )


def people_figures(items: Items, studies: QuerySet[Study]) -> dict[int, PeopleFigures]:
    """By the item's primary key; those without a judgment are left out."""
    rows = valid_judgments(studies).filter(trial__item__in=items)
    counted = rows.values_list("trial__item").annotate(
        n=Count("pk"),
        n_right=Count("pk", filter=Q(own_correct=True)),
        n_asked=Count("recognised"),
        n_recognised=Count("pk", filter=Q(recognised=True)),
    )
    return {item: PeopleFigures(*counts) for item, *counts in counted}


def whole_text_scores(items: Items, studies: QuerySet[Study]) -> "QuerySet[ItemScore]":
    """Scores of finished runs on full texts that count in these studies, without demonstrations and checkpoints.

    Of each model, that run comes last which counts in results: the one with most texts, or else the newest.
    """
    return ItemScore.objects.filter(
        counts_in(studies, "run__"),
        item__in=items,
        run__status=ScoringRun.Status.FINISHED,
        run__condition=ScoringRun.Condition.FULL,
        run__language_model__is_demo=False,
        run__language_model__checkpoint=None,
    ).order_by("run__done", "run_id")


def model_figures(items: Items, studies: QuerySet[Study]) -> dict[int, ModelFigures]:
    """By the item's primary key; those that no model scored are left out."""
    columns = ("item", "run__language_model", "ppl_original", "ppl_altered")
    of_item: Mapping[int, dict[int, float]] = defaultdict(dict)
    for item, model, original, altered in whole_text_scores(items, studies).values_list(*columns):
        of_item[item][model] = log(altered / original)
    return {
        item: ModelFigures(
            len(found), sum(map(point, found.values())), sum(found.values()) / len(found)
        )
        for item, found in of_item.items()
    }


def known_cutoffs(items: Items, studies: QuerySet[Study]) -> list[tuple[str, date]]:
    """Models that scored one of these in runs that count in these studies, with the last day that their training data may be from, the earliest first."""
    runs = ScoringRun.objects.on_items().of_models().filter(status=ScoringRun.Status.FINISHED)
    runs = runs.filter(counts_in(studies))
    scored = runs.filter(Exists(ItemScore.objects.filter(run=OuterRef("pk"), item__in=items)))
    models = LanguageModel.objects.filter(
        pk__in=scored.values("language_model"), is_demo=False, training_cutoff__isnull=False
    )
    rows = models.order_by("training_cutoff", "display_name")
    return [(name, day) for name, day in rows.values_list("display_name", "training_cutoff") if day]
