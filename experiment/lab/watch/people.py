"""A study's participants one by one, by pseudonym."""

from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.lab.watch.forms import PeopleForm
from experiment.lab.watch.page import chosen_kind, tabs
from experiment.models import Participant, Study
from experiment.services.watching.people import People, people
from experiment.services.watching.timeline import timeline


@require_safe
@for_study(Right.SEE_DATA)
def participants(request: HttpRequest, study: Study) -> HttpResponse:
    kind = chosen_kind(request, study)
    form = PeopleForm(request.GET)
    is_valid = form.is_valid()
    found = people(study, form.wanted(kind)) if is_valid else People((), None)
    asked = {name: value for name, value in form.cleaned_data.items() if value and name != "after"}
    context = {
        "study": study,
        "kind": kind,
        "tabs": tabs(study, kind),
        "form": form,
        "found": found,
        "is_narrowed": bool(asked),
        "is_first": not form.cleaned_data.get("after"),
        "newest": urlencode({"kind": kind} | asked),
        "older": urlencode({"kind": kind, **asked, "after": found.next_after}),
    }
    return render(request, "lab/watch/participants.html", context, status=200 if is_valid else 400)


@require_safe
@for_study(Right.SEE_DATA)
def participant(request: HttpRequest, study: Study, public_id: UUID) -> HttpResponse:
    found = timeline(study, public_id)
    if found is None:
        raise Http404
    context = {
        "study": study,
        "person": found,
        "kind_label": Participant.Kind(found.kind).label,
        "has_draws": any(trial.drawn for trial in found.trials),
    }
    return render(request, "lab/watch/participant.html", context)
