"""Counts, exports and results show one kind of participants at a time; this says which, and what to say of it."""

from django.db.models import Exists, OuterRef
from django.template.loader import render_to_string

from experiment.models import Item, Judgment, Participant, Study, Trial
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import JudgmentQuerySet
from experiment.services.counts import kind_counts

Kind = Participant.Kind


def default_kind(study: Study) -> str:
    """The kind to show where none is asked for: real; imported where published people are all that is not simulated.

    Never simulated or pilot: whoever wants these asks for them.
    """
    counts = kind_counts(study)
    is_published = Kind.IMPORTED in counts and counts.keys() <= {Kind.IMPORTED, Kind.SIMULATED}
    return (Kind.IMPORTED if is_published else Kind.REAL).value


def watched_kind(study: Study) -> str:
    """The kind to watch where none is asked for: the first, in this order, of which there are any."""
    counts = kind_counts(study)
    order = (Kind.REAL, Kind.PILOT, Kind.IMPORTED, Kind.SIMULATED)
    return next((kind for kind in order if counts.get(kind)), Kind.REAL).value


def people_of(study: Study, kind: str) -> ParticipantQuerySet:
    """The participants of this kind that a study's results are about.

    Imported people can be joined: where the study holds none of its own, they are those of other studies that judged a
    test case that this one shows.
    """
    if is_joined(study, kind):
        return published_elsewhere(study)
    return Participant.objects.of(study, kind)


def judgments_of(study: Study, kind: str) -> JudgmentQuerySet:
    """All that these people judged; who is joined may also have judged what this study does not show."""
    if is_joined(study, kind):
        return Judgment.objects.filter(trial__participant__in=published_elsewhere(study))
    return Judgment.objects.of(study, kind)


def is_joined(study: Study, kind: str) -> bool:
    """Whether people of this kind would come from other studies."""
    return kind == Kind.IMPORTED and kind not in kind_counts(study)


def published_elsewhere(study: Study) -> ParticipantQuerySet:
    """Imported people of other studies that judged a test case of this one; of a person imported twice the first."""
    shown = Item.objects.shown_by([study]).filter(kind=Item.Kind.TEST).values("pk")
    # By the index participant_published, whoever else took part
    others = Participant.objects.filter(kind=Kind.IMPORTED).exclude(study=study)
    known_before = others.filter(
        external_source=OuterRef("external_source"),
        published_id=OuterRef("published_id"),
        pk__lt=OuterRef("pk"),
    ).exclude(published_id="")
    judged = Trial.objects.filter(
        participant=OuterRef("pk"), item__in=shown, judgment__isnull=False
    )
    return others.filter(~Exists(known_before), Exists(judged))


def studies_joined(study: Study, kind: str) -> list[str]:
    """The studies whose imported people would stand in for this one's, in which their trials are exported."""
    if not is_joined(study, kind):
        return []
    return sorted(set(published_elsewhere(study).values_list("study__slug", flat=True)))


def name_problem(name: str, kind: str) -> str:
    """What is wrong with a file's name: that of simulated trials says so, since the file may travel without its story."""
    if kind != Kind.SIMULATED or kind in name.casefold():
        return ""
    return render_to_string("experiment/name_problem.txt", {"name": name, "kind": kind}).strip()


def kind_note(study: Study, kind: str) -> str:
    """What has to be said beside numbers of this kind; empty where they are of real people."""
    counts = kind_counts(study)
    joined = is_joined(study, kind) and published_elsewhere(study).exists()
    if kind == Kind.REAL and (kind in counts or not counts):
        return ""
    context = {
        "kind": Kind(kind).value,
        "label": Kind(kind).label,
        "is_joined": joined,
        "has_kind": joined or kind in counts,
        "has_real": Kind.REAL in counts,
        "others": _others(counts, kind),
    }
    return render_to_string("experiment/kind_note.txt", context).strip()


def _others(counts: dict[str, int], kind: str) -> list[tuple[str, str, int]]:
    """Code, label and number of the kinds that the study has participants of, but for this one."""
    return [(k.value, str(k.label), counts[k]) for k in Kind if k in counts and k != kind]
