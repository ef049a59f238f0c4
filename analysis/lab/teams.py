"""The team page and its files: members are ticked, and what they come to together is shown."""

import json
from collections.abc import Callable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from analysis.lab import team_form
from analysis.lab.files import CSV, NOT_COMPUTED, TYPES, RefusedError, file_response, named
from analysis.lab.team_form import TeamChosen
from analysis.lab.teams_context import State, teams_context
from analysis.services import compute
from analysis.services.compute import Waiting
from analysis.store import StoredResult
from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Study


@require_safe
@for_study(Right.SEE_DATA)
def teams(request: HttpRequest, study: Study) -> HttpResponse:
    chosen = team_form.read(study, request.GET)
    context = teams_context(study, chosen, _state(study, chosen))
    return render(request, "analysis/teams.html", context)


@require_safe
@for_study(Right.SEE_DATA)
def teams_live(request: HttpRequest, study: Study) -> HttpResponse:
    """A page without a result asks here until it is computed, and is then led to it."""
    chosen = team_form.read(study, request.GET)
    state = _state(study, chosen)
    if isinstance(state, Waiting):
        return render(request, "analysis/_waiting.html", teams_context(study, chosen, state))
    return _to_teams(study, chosen)


@require_POST
@for_study(Right.WORK)
def teams_retry(request: HttpRequest, study: Study) -> HttpResponse:
    """A failed or stopped computation is tried again."""
    chosen = team_form.read(study, request.GET)
    compute.retry(study, chosen.options)
    return _to_teams(study, chosen)


@require_POST
@for_study(Right.WORK)
def teams_stop(request: HttpRequest, study: Study) -> HttpResponse:
    """A computation that waits or runs is stopped."""
    chosen = team_form.read(study, request.GET)
    compute.stop(study, chosen.options)
    return _to_teams(study, chosen)


@require_safe
@for_study(Right.SEE_DATA)
def teams_figure(request: HttpRequest, study: Study, name: str, kind: str) -> HttpResponse:
    if kind not in TYPES:
        raise Http404
    return _answer(
        request, study, lambda result: result.figure_file(name, kind), TYPES[kind], f"{name}.{kind}"
    )


@require_safe
@for_study(Right.SEE_DATA)
def teams_table(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """`predictions` has a row per held-out trial and team."""
    return _answer(request, study, lambda result: result.table_file(name), CSV, f"{name}.csv")


@require_safe
@for_study(Right.SEE_DATA)
def teams_json(request: HttpRequest, study: Study) -> HttpResponse:
    def text(result: StoredResult) -> bytes:
        return (json.dumps(result.values, indent=1, allow_nan=False) + "\n").encode()

    return _answer(request, study, text, "application/json", "teams.json")


def _state(study: Study, chosen: TeamChosen) -> State:
    """The result; else it is computed now, or queued for the workers, if members were chosen; None where they were not."""
    if not chosen.members or chosen.is_empty:
        return None
    if chosen.is_chosen:
        return compute.ensure_computed(study, chosen.options)
    return compute.find(study, chosen.options)  # nothing is computed for a glance


def _answer(
    request: HttpRequest,
    study: Study,
    content: Callable[[StoredResult], bytes],
    content_type: str,
    name: str,
) -> HttpResponse:
    kind = team_form.read(study, request.GET).shared.kind
    name = named(study, kind, f"team-{name}")
    return file_response(lambda: content(_result(request, study)), content_type, name)


def _result(request: HttpRequest, study: Study) -> StoredResult:
    """What the page showed, which its links name; else today's, computed here if it may be."""
    chosen = team_form.read(study, request.GET)
    shown = request.GET.get("v", "")
    if found := compute.open_result(study, chosen.options, shown):
        return found
    if chosen.problems:
        raise RefusedError(" ".join(chosen.problems))
    state = _state(study, chosen)
    if isinstance(state, StoredResult):
        return state
    if state is None:
        raise RefusedError(_("Choose members: members=human&members=NAME."))
    raise RefusedError(state.problem or NOT_COMPUTED)


def _to_teams(study: Study, chosen: TeamChosen) -> HttpResponse:
    response = redirect("lab:results_teams", slug=study.slug)
    response["Location"] += f"?{chosen.query}"
    return response
