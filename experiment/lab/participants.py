"""The participants of a study: their list, and one by one, excluded by hand and included again."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.exclusion import HAND_REASONS, PARTICIPANT_REASONS, WITHDRAWN
from experiment.domain.roles import Right
from experiment.lab.access import LabRequest, for_study, user_of
from experiment.lab.watch import chosen_kind, tabs
from experiment.models import Participant, Study
from experiment.services.by_hand import can_be_excluded, exclude_by_hand, include_again
from experiment.services.people import People, Status, Wanted, people, timeline
from lib.http import UNPROCESSABLE
from lib.pages import refused, show

STATUSES = (
    ("", "all"),
    (Status.UNDER_WAY.value, "under way"),
    (Status.LEFT.value, "left"),
    (Status.FINISHED.value, "finished"),
    (Status.VALID.value, "finished and valid"),
    (Status.EXCLUDED.value, "finished and excluded"),
    (Status.WITHDRAWN.value, "withdrawn"),
    (Status.NOT_ADMITTED.value, "not admitted"),
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
