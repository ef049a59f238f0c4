"""Requests of participants, and the law: withdrawal on request, and the end of retention."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup_forms import SettingsForm
from experiment.models import Participant, Study
from experiment.services import audit
from experiment.services.retention import NotDueError, ask, concerned, is_due
from experiment.services.study_setup import withdrawal_problem
from experiment.services.withdrawal import find_on_request, withdraw_on_request
from lib.http import UNPROCESSABLE
from lib.jobs.progress import stands
from lib.opened import held
from lib.pages import refused, say_saved, show


class RequestForm(forms.Form):
    """A participant asked the researchers to withdraw their data."""

    name = forms.CharField(max_length=128, label="Pseudonym or recruitment ID")
    reason = forms.CharField(max_length=500, label="Reason, for the audit trail")


class PolicyForm(SettingsForm):
    class Meta:
        model = Study
        fields = ("withdrawal_policy", "retain_until")
        widgets = {"retain_until": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")}

    def clean_withdrawal_policy(self) -> str:
        policy: str = self.cleaned_data["withdrawal_policy"]
        if problem := withdrawal_problem(self.instance, policy):
            raise forms.ValidationError(problem)
        return policy


@require_safe
@for_study(Right.SET_UP)
def privacy(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study)


@require_POST
@for_study(Right.SET_UP)
def withdraw(request: HttpRequest, study: Study) -> HttpResponse:
    """Shows whom it could be; sent once more, with `confirm`, who is ticked is withdrawn."""
    form = RequestForm(request.POST)
    found: list[Participant] = []
    if form.is_valid():
        found = find_on_request(study, form.cleaned_data["name"].strip())
        if not found:
            form.add_error(
                "name",
                (
                    "No participant of this study has this pseudonym or ID. The first 8 characters of a pseudonym "
                    "are enough, unless another participant's pseudonym begins with them."
                ),
            )
    is_sent, ticked = "confirm" in request.POST, request.POST.getlist("participant")
    people = [person for person in found if is_sent and str(person.public_id) in ticked]
    if not people:
        status = 200 if found and not is_sent else UNPROCESSABLE
        # People of one site, or all without a recruitment ID
        records = [getattr(person, "recruitment", None) for person in found]
        is_one = len({record.source if record else "" for record in records}) == 1
        shown = [Found(study, person) for person in found]
        said = {"request_form": form, "found": shown, "is_one": is_one, "is_none_ticked": is_sent}
        return _page(request, study, status, **said)
    reason = form.cleaned_data["reason"]
    withdraw_on_request(study, people, timezone.now(), by=user_of(request), reason=reason)
    messages.success(request, f"Withdrawn on request: {len(people)}.")
    return redirect("lab:privacy", study.slug)


@require_POST
@for_study(Right.SET_UP)
def policy(request: HttpRequest, study: Study) -> HttpResponse:
    with held(study) as stored:
        form = PolicyForm(request.POST, instance=stored)
        if form.is_valid():
            form.instance.save(update_fields=form.Meta.fields)
            said = {name: str(form.cleaned_data[name] or "") for name in form.changed_data}
            if said:
                by = user_of(request)
                audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=said)
            say_saved(request, form)
            return redirect("lab:privacy", study.slug)
    return _page(request, study, policy_form=form)


@require_POST
@for_study(Right.SET_UP)
def purge(request: HttpRequest, study: Study) -> HttpResponse:
    if request.POST.get("confirm", "").strip() != study.slug:
        messages.error(
            request,
            "Nothing was changed because the short name that you typed does not match.",
        )
        return redirect("lab:privacy", study.slug)
    try:
        with refused(request):
            ask(study, timezone.localdate(), user_of(request))
    except NotDueError:
        messages.error(request, "The retention period of this study's personal data has not ended.")
    return redirect("lab:privacy", study.slug)


@require_safe
@for_study(Right.SET_UP)
def purge_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The part of the page that changes while a worker is at it."""
    return show(request, "lab/privacy/_purge.html", **_purge(study))


@dataclass(frozen=True, slots=True)
class Found:
    """A participant who could be the one who asks."""

    study: Study
    person: Participant

    @property
    def unit(self) -> str:
        """The unit to which the page says when they agreed."""
        return self.person.time_unit or "day"

    @property
    def consequence(self) -> str:
        is_kept = self.study.keeps_withdrawn_answers
        if is_kept and self.person.stage == Participant.Stage.FINISHED:
            return "Their answers are kept, but nothing that could identify them."
        return "All their answers are deleted."


def _purge(study: Study) -> dict[str, Any]:
    job = study.purges.first()
    return {
        "job": job,
        "stands": stands(job, "participants done") if job else "",
        "concerned": concerned(study),
        "is_due": is_due(study, timezone.localdate()),
    }


def _page(
    request: HttpRequest, study: Study, status: int | None = None, **changes: Any
) -> HttpResponse:
    context = {"request_form": RequestForm(), "policy_form": PolicyForm(instance=study)}
    context |= _purge(study) | changes
    return show(request, "lab/privacy/privacy.html", status, part="privacy", **context)
