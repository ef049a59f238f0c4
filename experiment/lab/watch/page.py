"""What the template of a study's first page is given."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest
from django_stubs_ext import StrOrPromise

from experiment.domain.roles import Right
from experiment.models import Participant, Study
from experiment.services import counts, exposure, overview
from experiment.services.participant_kinds import kind_note, watched_kind
from experiment.services.rules_under_way import rules_under_way, sentence
from experiment.services.study_versions import version_shown
from experiment.services.watching.page_by_page import page_by_page
from experiment.services.watching.target import forecast

Kind = Participant.Kind


@dataclass(frozen=True, slots=True)
class KindTab:
    kind: str
    label: StrOrPromise
    n: int
    is_current: bool


def chosen_kind(request: HttpRequest, study: Study) -> str:
    """The kind of participants that the address names, else the one that there is something to see of."""
    kind = request.GET.get("kind") or watched_kind(study)
    if kind not in Kind.values:
        raise Http404
    return kind


def tabs(study: Study, current: str) -> list[KindTab]:
    people = counts.kind_counts(study)
    shown = [kind for kind in Kind if kind in people or kind in (Kind.REAL, current)]
    return [KindTab(kind.value, kind.label, people.get(kind, 0), kind == current) for kind in shown]


def live_context(
    study: Study, kind: str, rights: Collection[Right], now: datetime
) -> dict[str, Any]:
    """The parts of the page that change while people take part."""
    items = exposure.item_exposures(study, kind, now)
    flow = overview.flow(study, kind, now)
    target = study.target_valid if kind == Kind.REAL else None
    comments = overview.recent_comments(study, kind) if Right.IDENTIFY in rights else ()
    return {
        "study": study,
        "kind": kind,
        "kind_label": Kind(kind).label,
        "kind_note": kind_note(study, kind),
        "rules_job": rules_under_way(study),
        "rules_note": sentence(study),
        "tabs": tabs(study, kind),
        "flow": flow,
        "readings": overview.readings(study, kind),
        "rules_version": version_shown(study, kind),
        "target": target,
        "target_percent": min(100.0, 100 * flow.valid / target) if target else 0.0,
        "forecast": forecast(study, kind, flow.valid, now),
        "pages": page_by_page(study, kind, now),
        "exposures": exposure.exposures(items),
        "items": items,
        "comments": comments,
        "updated_at": now,
    }
