"""What the lab's templates are given."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from experiment.models import Participant, Study
from experiment.services import counts
from experiment.services.participant_kinds import default_kind

Kind = Participant.Kind


def chosen_kind(request: HttpRequest, study: Study) -> str:
    kind = request.GET.get("kind") or default_kind(study)
    if kind not in Kind.values:
        raise Http404
    return kind


@dataclass(frozen=True, slots=True)
class ListedStudy:
    """A study, how many participants of each kind it has, and how many valid real ones."""

    study: Study
    n: dict[str, int]
    n_valid: int


def study_list(studies: QuerySet[Study]) -> list[ListedStudy]:
    listed = list(studies.order_by("slug"))
    pks = [study.pk for study in listed]
    people, valid = counts.kind_counts_of(pks), counts.n_valid_of(pks, Kind.REAL)
    return [ListedStudy(s, people.get(s.pk, {}), valid.get(s.pk, 0)) for s in listed]
