"""Counts, exports and results show one kind of participants at a time; this says which, and what to say of it."""

from django.db.models import Count

from experiment.models import Participant, Study

Kind = Participant.Kind
KIND_NOTES = {
    Kind.PILOT: "Pilot participants: they tried the study out.",
    Kind.SIMULATED: "Simulated participants: no person took part.",
    Kind.IMPORTED: "Imported participants: their trials were published elsewhere.",
}


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
    missing = "" if Kind.REAL in kind_counts(study) else " The study holds no real participants."
    return KIND_NOTES[Kind(kind)] + missing
