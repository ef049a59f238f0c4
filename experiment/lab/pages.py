"""What the lab's templates are given."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest
from django_stubs_ext import StrOrPromise

from experiment.models import Participant, Study
from experiment.services import counts, export, exposure, overview
from experiment.services.participant_kinds import default_kind, kind_note
from experiment.services.study_versions import version_shown

Kind = Participant.Kind


@dataclass(frozen=True, slots=True)
class KindTab:
    kind: str
    label: StrOrPromise
    n: int
    is_current: bool


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


def live_context(study: Study, kind: str, now: datetime) -> dict[str, Any]:
    """The parts of a study's page that change while people take part."""
    items = exposure.item_exposures(study, kind, now)
    flow = overview.flow(study, kind, now)
    target = study.target_valid if kind == Kind.REAL else None
    return {
        "study": study,
        "kind": kind,
        "kind_label": Kind(kind).label,
        "kind_note": kind_note(study, kind),
        "tabs": _tabs(study, kind),
        "flow": flow,
        "readings": overview.readings(study, kind),
        "rules_version": version_shown(study, kind),
        "target": target,
        "target_percent": min(100.0, 100 * flow.valid / target) if target else 0.0,
        "exposures": exposure.exposures(items),
        "items": items,
        "export_rows": export.row_counts(study, kind),
        "comments": overview.recent_comments(study, kind),
        "updated_at": now,
    }


def _tabs(study: Study, current: str) -> list[KindTab]:
    people = counts.kind_counts(study)
    shown = [kind for kind in Kind if kind in people or kind in (Kind.REAL, current)]
    return [KindTab(kind.value, kind.label, people.get(kind, 0), kind == current) for kind in shown]
