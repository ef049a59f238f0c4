"""The list of studies, a study's first page, which counts along, and its participants one by one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.exclusion import HAND_REASONS, PARTICIPANT_REASONS, WITHDRAWN
from experiment.domain.roles import Right, Role
from experiment.lab.access import LabRequest, for_signed_in, for_study, user_of
from experiment.models import Item, Participant, Study
from experiment.services import arrivals, counts, overview
from experiment.services.by_hand import can_be_excluded, exclude_by_hand, include_again
from experiment.services.channels import links
from experiment.services.counts import kind_note, watched_kind
from experiment.services.overview import forecast, page_by_page
from experiment.services.people import People, Status, Wanted, people, timeline
from experiment.services.reapplying import mixed_sentence, rules_under_way
from experiment.services.rights import fields_of, may_create_studies
from experiment.services.study_versions import version_shown
from lib.formatting import count, number, verb
from lib.http import UNPROCESSABLE
from lib.pages import refused, show

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


STATUSES = (
    ("", "all"),
    (Status.UNDER_WAY.value, "under way"),
    (Status.LEFT.value, "left"),
    (Status.FINISHED.value, "finished"),
    (Status.VALID.value, "finished and valid"),
    (Status.EXCLUDED.value, "finished and excluded"),
    (Status.WITHDRAWN.value, "withdrawn"),
)
REASONS = (
    ("", "any"),
    *((reason.code, reason.label) for reason in PARTICIPANT_REASONS if reason != WITHDRAWN),
)


class PeopleForm(forms.Form):
    status = forms.ChoiceField(label="State", choices=STATUSES, required=False)
    reason = forms.ChoiceField(label="Excluded because", choices=REASONS, required=False)
    pseudonym = forms.RegexField(
        label="Pseudonym begins with",
        regex=r"\A[0-9A-Fa-f-]{1,36}\Z",
        required=False,
        error_messages={
            "invalid": "A pseudonym consists of the digits 0 to 9, the letters a to f, and hyphens."
        },
    )
    after = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def clean_pseudonym(self) -> str:
        begin: str = self.cleaned_data["pseudonym"]
        if len(begin.replace("-", "")) > 32 or (begin and not begin.strip("-")):
            raise forms.ValidationError(self.fields["pseudonym"].error_messages["invalid"])
        return begin

    def wanted(self, kind: str) -> Wanted:
        values: dict[str, Any] = self.cleaned_data
        return Wanted(
            kind,
            Status(values["status"]) if values["status"] else None,
            values["reason"],
            values["pseudonym"],
            values["after"],
        )


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


@require_safe
@for_study(Right.SEE_DATA)
def participants(request: HttpRequest, study: Study) -> HttpResponse:
    kind = chosen_kind(request, study)
    form = PeopleForm(request.GET)
    is_valid = form.is_valid()
    found = people(study, form.wanted(kind)) if is_valid else People((), None)
    asked = {name: value for name, value in form.cleaned_data.items() if value and name != "after"}
    is_first = not form.cleaned_data.get("after")
    nothing = (
        "There are no participants of this kind yet."
        if is_first
        else "There are no earlier participants."
    )
    return show(
        request,
        "lab/watch/participants.html",
        200 if is_valid else 400,
        kind=kind,
        tabs=tabs(study, kind),
        form=form,
        found=found,
        nothing="No participants match these filters." if asked else nothing,
        is_narrowed=bool(asked),
        is_first=is_first,
        newest=urlencode({"kind": kind} | asked),
        older=urlencode({"kind": kind, **asked, "after": found.next_after}),
    )


class ByHandForm(forms.Form):
    reason = forms.ChoiceField(label="Reason", choices=[("", "Choose"), *HAND_REASONS.items()])
    words = forms.CharField(
        label="What happened",
        max_length=500,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Do not name the participant. These words are in no export, and are deleted with the participant's own words.",
    )


@require_safe
@for_study(Right.SEE_DATA)
def participant(request: LabRequest, study: Study, public_id: UUID) -> HttpResponse:
    return _participant_page(request, study, public_id, ByHandForm())


@require_POST
@for_study(Right.SET_UP)
def exclude_participant(request: LabRequest, study: Study, public_id: UUID) -> HttpResponse:
    form = ByHandForm(request.POST)
    if not form.is_valid():
        return _participant_page(request, study, public_id, form, UNPROCESSABLE)
    _require(study, public_id)
    with refused(request):
        exclude_by_hand(
            study, public_id, **form.cleaned_data, now=timezone.now(), by=user_of(request)
        )
    return redirect("lab:participant", study.slug, public_id)


@require_POST
@for_study(Right.SET_UP)
def include_participant(request: LabRequest, study: Study, public_id: UUID) -> HttpResponse:
    _require(study, public_id)
    with refused(request):
        include_again(study, public_id, user_of(request))
    return redirect("lab:participant", study.slug, public_id)


def _require(study: Study, public_id: UUID) -> None:
    if not study.participants.filter(public_id=public_id).exists():
        raise Http404


def _participant_page(
    request: LabRequest,
    study: Study,
    public_id: UUID,
    form: ByHandForm,
    status: int | None = None,
) -> HttpResponse:
    found = timeline(study, public_id)
    if found is None:
        raise Http404
    how_drawn = " ".join(_how_drawn(study, found.person))
    return show(
        request,
        "lab/watch/participant.html",
        status,
        person=found.person,
        found=found,
        how_drawn=how_drawn if any(line.drawn for line in found.trials) else "",
        may_exclude=Right.SET_UP in request.rights and can_be_excluded(found.person),
        may_read_words=Right.IDENTIFY in request.rights,
        form=form,
    )


def _how_drawn(study: Study, person: Participant) -> Iterator[str]:
    if person.policy == Study.Policy.PAPER:
        yield (
            "All test cases were drawn at the start, each at random from those that were due: those that had been assigned "
            "least often."
        )
    else:
        yield (
            "Each test case was drawn when it was shown, at random from those that were due: those with the lowest expected "
            "exposure. Expected exposure counts valid judgments, and judgments in progress weighted by their chance of being "
            "finished. Test cases from a publication that the participant had already seen were left out."
        )
    if study.question_items:
        yield (
            "If this applied to several questions, only those from the templates that the participant had met least were due."
        )
