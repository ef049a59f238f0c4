"""The runs of models that count in a study: one rule for scores and for choices."""

from typing import Any, TypeVar

from django.db import models
from django.db.models import Exists, OuterRef, Q

from experiment.domain.roles import RIGHTS, Right
from experiment.models import Item, Membership
from lib.jobs.models import NOBODY

Runs = TypeVar("Runs", bound="models.QuerySet[Any]")
_WORKERS = [role.value for role, rights in RIGHTS.items() if Right.WORK in rights]


def counts_in(studies: Any, run: str = "") -> Q:
    """Runs, or rows that reach one by the prefix `run`, whose numbers these studies (rows, or a query) take.

    A run that the study asked for, one of a person who may ask for runs in it now, and one of the site itself. Any
    other is only another lab's word: that lab names the model, and the server, folder or file that the numbers come from.
    So is one that somebody else continued.
    """
    workers = Membership.objects.filter(study__in=studies, role__in=_WORKERS).values("user")
    return (
        Q(**{f"{run}study__in": studies})
        | Q(**{f"{run}is_site_wide": True})
        | (
            Q(**{f"{run}created_by__in": workers})
            & (Q(**{f"{run}asked_by__in": workers}) | Q(**{f"{run}asked_by": NOBODY}))
        )
    )


def seen_in(runs: Runs, studies: Any, numbers: str) -> Runs:
    """Runs that count in these studies: they asked for them, or `numbers` of them are about a test case that they show."""
    shown = Item.objects.shown_by(studies).values("pk")
    known = runs.model._default_manager.filter(pk=OuterRef("pk"), **{f"{numbers}__item__in": shown})
    return runs.filter(counts_in(studies), Q(study__in=studies) | Q(Exists(known)))


class CountedRun(models.Model):
    """A run whose numbers belong to test cases, which several studies show."""

    # Not looked up by the account, which may be deleted or lose its powers
    is_site_wide = models.BooleanField(
        "of the site",
        default=False,
        editable=False,
        help_text="Requested by a site administrator or a command; it counts in every study that shows its test cases.",
    )

    class Meta:
        abstract = True
