"""Counts, exports and results show one kind of participants at a time; this says which, and what to say of it."""

from django.db.models import Count
from django.template.loader import render_to_string

from experiment.models import Participant, Study

Kind = Participant.Kind


def kind_counts(study: Study) -> dict[str, int]:
    """Participants of each kind that the study has any of."""
    return dict(study.participants.order_by().values_list("kind").annotate(n=Count("pk")))


def default_kind(study: Study) -> str:
    """The kind to show where none is asked for: real, unless there are only imported or simulated people."""
    counts = kind_counts(study)
    if counts and counts.keys() <= {Kind.IMPORTED, Kind.SIMULATED}:
        return (Kind.IMPORTED if Kind.IMPORTED in counts else Kind.SIMULATED).value
    return Kind.REAL.value


def kind_note(study: Study, kind: str) -> str:
    """What has to be said beside numbers of this kind; empty where they are of real people."""
    if kind == Kind.REAL:
        return ""
    context = {"kind": Kind(kind).value, "has_real": Kind.REAL in kind_counts(study)}
    return render_to_string("experiment/kind_note.txt", context).strip()
