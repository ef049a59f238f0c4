"""Use case: a person decides on what a model could not bring right."""

import uuid

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.models import ItemScratch
from experiment.services.curation import writing
from scoring.models import GeneratedDraft

State = GeneratedDraft.State
UNDECIDED = (State.UNREPAIRED, State.DECLINED)


@transaction.atomic
def take(draft: GeneratedDraft, by: User) -> ItemScratch:
    """Put the best text, or the abstract, on the person's desk, where the editor finds it."""
    draft = _undecided(draft)
    scratch = writing.scratch_named(uuid.uuid4(), draft.run.field, by)
    on = draft.publication_date
    typed = {
        "markup": draft.markup or draft.abstract,
        "kind": "test",
        "source": "machine" if draft.markup else "human",
        "generator": draft.run.model_name[:80] if draft.markup else "",
        "subfield": draft.subfield,
        "doi": draft.doi,
        "publication_date": on.isoformat() if on else "",
        "note": "",
    }
    scratch = writing.keep(scratch, typed, seen=writing.state_of(scratch))
    _decide(draft, State.TAKEN, by)
    return scratch


@transaction.atomic
def dismiss(draft: GeneratedDraft, by: User) -> None:
    """Refuse it; what the model answered stays."""
    _decide(_undecided(draft), State.DISMISSED, by)


def _undecided(draft: GeneratedDraft) -> GeneratedDraft:
    draft = GeneratedDraft.objects.select_for_update().select_related("run").get(pk=draft.pk)
    if draft.state not in UNDECIDED:
        raise ValidationError(_("There is nothing to decide on any more."))
    return draft


def _decide(draft: GeneratedDraft, state: State, by: User) -> None:
    draft.state, draft.decided_by = state, by
    draft.save(update_fields=["state", "decided_by"])
