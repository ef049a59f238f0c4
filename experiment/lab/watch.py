"""The list of studies, and a study's first page, which counts along."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right, Role
from experiment.lab.access import LabRequest, for_signed_in, for_study, user_of
from experiment.models import Item, Participant, Study
from experiment.services import arrivals, counts, overview
from experiment.services.channels import links
from experiment.services.counts import kind_note, watched_kind
from experiment.services.overview import forecast
from experiment.services.page_by_page import page_by_page
from experiment.services.reapplying import mixed_sentence, rules_under_way
from experiment.services.rights import fields_of, may_create_studies
from experiment.services.study_versions import version_shown
from lib.formatting import count, number, verb
from lib.pages import show

Kind = Participant.Kind


@require_safe
@for_signed_in
def studies(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    curated = set(user.memberships.filter(role=Role.CURATOR).values_list("study", flat=True))
    visible = list(Study.objects.visible_to(user).order_by("slug"))
    pks = [study.pk for study in visible]
    people, valid = counts.kind_counts_of(pks), counts.n_valid_of(pks, Kind.REAL)
    rows = [
        StudyRow(study, people.get(study.pk, {}), valid.get(study.pk, 0), study.pk in curated)
        for study in visible
    ]
    return show(
        request,
        "lab/studies.html",
        studies=rows,
        section="studies",
        may_create=may_create_studies(user),
        fields=fields_of(user),
    )


@dataclass(frozen=True, slots=True)
class StudyRow:
    """A study of the list. `people`: participants of each kind that it has any of; `n_valid`: valid real ones."""

    study: Study
    people: Mapping[str, int]
    n_valid: int
    is_curated: bool  # the reader sees only its test cases

    @property
    def url(self) -> str:
        return reverse("lab:test_cases" if self.is_curated else "lab:study", args=[self.study.slug])

    @property
    def has_real(self) -> bool:
        """True if valid participants are counted: not where all participants are of another kind."""
        return Kind.REAL in self.people or not self.people

    @property
    def counted(self) -> str:
        """The words after the number of valid participants."""
        parts = ["No real participants"]
        if self.has_real:
            target = f"of {self.study.target_valid} " if self.study.target_valid else ""
            n_real = count(self.people.get(Kind.REAL, 0), "real participant")
            parts = [f"{target}valid", f"{n_real} in total"]
        others = (Kind.PILOT, Kind.SIMULATED, Kind.IMPORTED)
        parts += [f"{self.people[kind]} {kind.value}" for kind in others if kind in self.people]
        return ", ".join(parts)


LINKS_TOLD = timedelta(days=7)
MOST_NAMED = 10  # retired test cases


def chosen_kind(request: HttpRequest, study: Study) -> str:
    """The kind of participants that the address names, else the one that there is something to see of."""
    kind = request.GET.get("kind") or watched_kind(study)
    if kind not in Kind.values:
        raise Http404
    return kind


def tabs(study: Study, current: str) -> list[dict[str, Any]]:
    n, kinds = counts.kind_counts(study), (Kind.REAL, current)
    return [
        {
            "kind": kind.value,
            "label": kind.label,
            "n": n.get(kind, 0),
            "is_current": kind == current,
        }
        for kind in Kind
        if kind in n or kind in kinds
    ]


def links_told(study: Study, now: datetime) -> list[str]:
    """Sentences on visitors who lately came by links that were not as they should be."""
    said = []
    if (at := study.unfilled_link_at) and now - at < LINKS_TOLD:
        n = study.unfilled_links
        said.append(
            f"{count(n, 'visit')} {verb(n, 'was refused,', 'were refused, the last')} on {_minute(at)} UTC: the recruitment "
            "site did not fill in the participant's ID in the link, so participants could not be told apart."
        )
    if (at := study.damaged_link_at) and now - at < LINKS_TOLD:
        n = study.damaged_links
        last, came = (
            verb(n, "", " the last"),
            verb(n, "came by a link that is", "came by links that are"),
        )
        said.append(
            f"{count(n, 'visit')},{last} on {_minute(at)} UTC, {came} not as the recruitment site sends "
            f"{verb(n, 'it', 'them')}: an ID was missing, cut off or changed, or the signs between the IDs were, for example "
            "to “&amp;”. The site used the IDs that it could read."
        )
    return said


def _minute(at: datetime) -> str:
    return date_format(at, "j M Y, H:i")


def retired_told(items: Sequence[Item]) -> str:
    """A sentence on test cases that participants no longer receive; empty where there are none."""
    if not (n := len(items)):
        return ""
    whose, what = (
        verb(n, "its", "their"),
        verb(n, "test case or question", "test cases or questions"),
    )
    names = ", ".join(map(str, items[:MOST_NAMED])) + (", …" if n > MOST_NAMED else "")
    return (
        f"The people of {whose} field have retired {n} {what} of this study: {names}. Participants no longer receive them. The "
        "study's audit trail gives the reason. You can choose others."
    )


def screened_out_told(n: int) -> str:
    people = f"{count(n, 'participant')} {verb(n, 'was', 'were')}"
    return f"{people} not admitted because their group was complete." if n else ""


def readings_told(study: Study, n: Mapping[str, int]) -> str:
    """A sentence on what the other definitions of two rules would leave out; empty where that is nothing."""
    if not (n["untouched_either"] or n["fast_choice"]):
        return ""
    limit = f"less than {study.fast_limit_ms} ms until"
    return (
        "The rules on untouched sliders and on fast trials have alternative definitions. Of the participants who finished, "
        f"{_untouched_told(n['untouched_either'], n['untouched_neither'])}. Of the test trials of the participants who finished, "
        f"{n['fast_page']} had {limit} Continue was pressed, and {n['fast_choice']} {limit} the first choice."
    )


def _untouched_told(either: int, both: int) -> str:
    """
    >>> _untouched_told(0, 0), _untouched_told(3, 1)
    ('none left a slider unmoved', '3 left at least one slider unmoved, 1 of them both')
    """
    if not either:
        return "none left a slider unmoved"
    return f"{number(either, 0)} left at least one slider unmoved, {number(both, 0) if both else 'none'} of them both"


def live_context(
    study: Study, kind: str, rights: Collection[Right], now: datetime
) -> dict[str, Any]:
    """The parts of the page that change while people take part."""
    items, retired = counts.item_exposures(study, kind, now), list(overview.retired(study))
    flow = overview.flow(study, kind, now)
    target = study.target_valid if kind == Kind.REAL else None
    comments = overview.recent_comments(study, kind) if Right.IDENTIFY in rights else ()
    return {
        "links_told": links_told(study, now),
        "kind": kind,
        "kind_label": Kind(kind).label,
        "kind_note": kind_note(study, kind),
        "rules_job": rules_under_way(study),
        "rules_note": mixed_sentence(study),
        "retired": retired,
        "retired_told": retired_told(retired),
        "tabs": tabs(study, kind),
        "flow": flow,
        "arms": overview.by_arm(study, kind, now),
        "places": overview.places(study, kind, flow.valid, now),
        "burst": arrivals.largest(study, now) if kind == Kind.REAL else None,
        "screened_out": screened_out_told(overview.n_screened_out(study, kind)),
        "readings": readings_told(study, overview.readings(study, kind)),
        "rules_version": version_shown(study, kind),
        "target": target,
        "target_percent": min(100.0, 100 * flow.valid / target) if target else 0.0,
        "forecast": forecast(study, kind, flow.valid, now),
        "pages": page_by_page(study, kind, now),
        "exposures": counts.exposures(items),
        "items": items,
        "comments": comments,
        "updated_at": now,
    }


@require_safe
@for_study(Right.SEE_DATA)
def study_page(request: LabRequest, study: Study) -> HttpResponse:
    context = live_context(study, chosen_kind(request, study), request.rights, timezone.now())
    study_links = links(study, settings.BASE_URL + study.get_absolute_url())
    given = list(given_to_each(study))
    return show(request, "lab/watch/study.html", links=study_links, given=given, **context)


def given_to_each(study: Study) -> Iterator[str]:
    """The trials of each participant, in words."""
    if study.shows_abstracts:
        pairs = f"{study.human_items} human-created, {study.machine_items} machine-created"
        yield f"{pairs}, {study.catch_items} catch"
    if study.question_items:
        yield f"{count(study.question_items, 'question')} per participant"


@require_safe
@for_study(Right.SEE_DATA)
def study_live(request: LabRequest, study: Study) -> HttpResponse:
    """The parts of the study's page that change by themselves."""
    context = live_context(study, chosen_kind(request, study), request.rights, timezone.now())
    # The long table is sent only to those who have it open.
    return show(request, "lab/watch/_live.html", with_items="items" in request.GET, **context)
