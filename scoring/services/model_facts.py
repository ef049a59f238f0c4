"""The known facts about models in a study.

A model's row is all labs', so no run writes into it: what a run finds out stays with the run, and is believed where it counts.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, Case, Exists, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce

from experiment.domain.roles import Right
from experiment.models import Study
from experiment.services.rights import studies_with
from lib.names import looks
from scoring.backends.registry import WRITERS
from scoring.domain.known_models import MODELS
from scoring.models import AnsweringRun, ChoiceRun, LanguageModel, ScoringRun, Training

# Models that are asked by chat alone
CHAT_KINDS = [kind.name for kind in WRITERS if not kind.scores]


def seen_by(models: QuerySet[LanguageModel], user: User) -> QuerySet[LanguageModel]:
    """These models but those that only other labs know: the demo's, those of trainings, which all labs share, and what ran for the person's studies."""
    studies = studies_with(user, Right.SEE_DATA)
    runs: tuple[QuerySet[Any], ...] = (
        ScoringRun.objects.seen_in(studies),
        ChoiceRun.objects.seen_in(studies),
        AnsweringRun.objects.filter(study__in=studies),
        Training.objects.all(),
    )
    ran = [Exists(rows.filter(language_model=OuterRef("pk"))) for rows in runs]
    is_base = Exists(Training.objects.filter(base=OuterRef("pk")))
    is_known = Q(is_demo=True) | Q(is_base)
    return models.filter(Q(is_known, *map(Q, ran), _connector=Q.OR))


def known_in(models: QuerySet[LanguageModel], study: Study) -> QuerySet[Any]:
    """These models with `size`, their number of parameters, and `chat`, whether they are tuned for chat or instructions.

    Their row goes first. Else finished runs that count in the study tell: its own, then the newest; and a model that answers
    as a chat model is one, unless it is published as another.
    """
    scored = ScoringRun.objects.seen_in([study]).filter(status=ScoringRun.Status.FINISHED)
    chosen = ChoiceRun.objects.seen_in([study]).filter(status=ChoiceRun.Status.FINISHED)
    as_chat = chosen.filter(language_model=OuterRef("pk"), generator__in=CHAT_KINDS)
    return models.annotate(
        size=Coalesce("n_parameters", _size(scored, study), _size(chosen, study)),
        chat=Q(is_chat=True) | (~Q(name__in=MODELS) & Q(Exists(as_chat))),
    )


def told_apart(models: Iterable[LanguageModel], *others: str) -> dict[int, str]:
    """By primary key, what each is called in a table with the rest and with `others`: its whole name where the shown one is not its own.

    A row cannot say this, for two labs may show the last part of their names, and neither is told of the other's.
    """
    rows = {model.pk: model for model in models}
    shown = [*(model.display_name for model in rows.values()), *others]
    seen = Counter(look for name in shown for look in looks(name))
    return {
        pk: model.name if any(seen[look] > 1 for look in looks(model.display_name)) else str(model)
        for pk, model in rows.items()
    }


def _size(runs: QuerySet[ScoringRun] | QuerySet[ChoiceRun], study: Study) -> Subquery:
    own_first = Case(When(study=study, then=0), default=1)
    found = runs.annotate(found=Cast(KT("identity__n_parameters"), BigIntegerField()))
    known = found.filter(language_model=OuterRef("pk"), found__isnull=False)
    return Subquery(known.order_by(own_first, "-pk").values("found")[:1])
