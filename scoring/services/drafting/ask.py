"""Use case: a drafting run is asked for, goes on, and its rows are decided on by people."""

from collections.abc import Sequence
from dataclasses import asdict

from django.contrib.auth.models import User
from django.db import transaction

from experiment.models import ResearchField
from experiment.services import work
from scoring.models import DraftingRun, GeneratedDraft
from scoring.services.drafting.prompts import default_instructions
from scoring.services.drafting.sources import SourceAbstract
from scoring.services.generating.settings import Asked

MOST_REPAIRS = 10


def draft_run(
    research_field: ResearchField,
    abstracts: Sequence[SourceAbstract],
    asked: Asked,
    *,
    instructions: str = "",
    repairs: int = 3,
    by: User | None = None,
) -> DraftingRun:
    """A run that is not stored yet.

    Raises:
        ScoringError: the model or its costs cannot be meant like this.
    """
    asked.check()
    told = instructions.strip() or default_instructions()
    columns = asked.columns(told, by)
    rows = [asdict(abstract) for abstract in abstracts]
    print_ = asked.fingerprint(research_field.pk, told, repairs, rows)
    return DraftingRun(
        field=research_field, repairs=repairs, total=len(abstracts), fingerprint=print_, **columns
    )


def newest_same(draft: DraftingRun) -> DraftingRun | None:
    """The newest run of the same model, instructions and abstracts."""
    return DraftingRun.objects.filter(fingerprint=draft.fingerprint).order_by("-pk").first()


@transaction.atomic
def store(draft: DraftingRun, abstracts: Sequence[SourceAbstract]) -> DraftingRun:
    """The run with a row for each abstract."""
    draft.save()
    GeneratedDraft.objects.bulk_create(
        GeneratedDraft(run=draft, **asdict(abstract)) for abstract in abstracts
    )
    return draft


@transaction.atomic
def start(draft: DraftingRun, abstracts: Sequence[SourceAbstract], by: User) -> DraftingRun:
    """Store it, and have a worker do it; a form that was sent twice is one run."""
    ResearchField.objects.select_for_update().get(pk=draft.field_id)
    if (same := newest_same(draft)) is not None and same.is_open:
        return same
    store(draft, abstracts)
    work.start(draft, by)
    return draft
