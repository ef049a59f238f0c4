"""The list of studies."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from experiment.domain.roles import Role
from experiment.lab.access import for_signed_in, user_of
from experiment.models import Participant, Study
from experiment.services import counts
from experiment.services.rights import may_create_studies
from lib.pages import show


@dataclass(frozen=True, slots=True)
class ListedStudy:
    """A study, how many participants of each kind it has, and how many valid real ones."""

    study: Study
    n: dict[str, int]
    n_valid: int


@require_safe
@for_signed_in
def studies(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    curated = user.memberships.filter(role=Role.CURATOR)
    return show(
        request,
        "lab/studies.html",
        studies=_listed(Study.objects.visible_to(user)),
        section="studies",
        may_create=may_create_studies(user),
        curated=set(curated.values_list("study", flat=True)),
    )


def _listed(studies: QuerySet[Study]) -> list[ListedStudy]:
    listed = list(studies.order_by("slug"))
    pks = [study.pk for study in listed]
    people, valid = counts.kind_counts_of(pks), counts.n_valid_of(pks, Participant.Kind.REAL)
    return [ListedStudy(s, people.get(s.pk, {}), valid.get(s.pk, 0)) for s in listed]
