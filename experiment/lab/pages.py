"""What the lab's templates are given."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest
from django_stubs_ext import StrOrPromise

from experiment.models import Participant, Study
from experiment.services import export, exposure, overview
from experiment.services.participant_kinds import default_kind, kind_counts, kind_note
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


def study_list(studies: QuerySet[Study]) -> QuerySet[Study]:
    """Studies with their counts of real participants and the kinds of the others."""
    real = Q(participants__kind=Kind.REAL)
    finished = Q(participants__stage=Participant.Stage.FINISHED)
    return studies.annotate(
        n_all=Count("participants"),
        n_real=Count("participants", filter=real),
        n_valid=Count("participants", filter=real & finished & Q(participants__excluded_by="")),
        **{
            f"n_{kind.value}": Count("participants", filter=Q(participants__kind=kind))
            for kind in (Kind.PILOT, Kind.SIMULATED, Kind.IMPORTED)
        },
    ).order_by("slug")  # grouping drops the model's own order


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
    counts = kind_counts(study)
    shown = [kind for kind in Kind if kind in counts or kind in (Kind.REAL, current)]
    return [KindTab(kind.value, kind.label, counts.get(kind, 0), kind == current) for kind in shown]
