"""The results page and its files. Views find what the researcher may see; the compute service does the work."""

import json
from typing import TYPE_CHECKING

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from analysis.lab import filter_form
from analysis.lab.context import only_kind, results_context
from analysis.lab.files import CSV, NOT_COMPUTED, TYPES, RefusedError, file_response, named
from analysis.lab.filter_form import Chosen
from analysis.services import compute
from analysis.services.compute import Computer, Waiting
from analysis.store import StoredResult
from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Study

if TYPE_CHECKING:
    from analysis.report.stored import StoredReport


@require_safe
@for_study(Right.SEE_DATA)
def results(request: HttpRequest, study: Study) -> HttpResponse:
    chosen = filter_form.read(study, request.GET)
    if "participants" not in request.GET and (kind := only_kind(study, chosen.kind)):
        query = request.GET.copy()
        query["participants"] = kind
        return redirect(f"{request.path}?{query.urlencode()}")
    state = compute.state(study, chosen.options)
    if isinstance(state, Waiting) and "now" in request.GET:  # without scripts, a link leads here
        state = compute.ensure_computed(study, chosen.options)
    return render(request, "analysis/results.html", results_context(study, chosen, state))


@require_safe
@for_study(Right.SEE_DATA)
def results_live(request: HttpRequest, study: Study) -> HttpResponse:
    """A page without results asks here until they are computed, and is then led to them."""
    chosen = filter_form.read(study, request.GET)
    state = compute.ensure_computed(study, chosen.options)
    if isinstance(state, Waiting):
        context = results_context(study, chosen, state)
        return render(request, "analysis/_waiting.html", context)
    return _to_results(study, chosen)


@require_POST
@for_study(Right.WORK)
def results_retry(request: HttpRequest, study: Study) -> HttpResponse:
    """A failed or stopped computation is tried again."""
    chosen = filter_form.read(study, request.GET)
    compute.retry(study, chosen.options)
    return _to_results(study, chosen)


@require_POST
@for_study(Right.WORK)
def results_stop(request: HttpRequest, study: Study) -> HttpResponse:
    """A computation that waits or runs is stopped."""
    chosen = filter_form.read(study, request.GET)
    compute.stop(study, chosen.options)
    return _to_results(study, chosen)


@require_safe
@for_study(Right.SEE_DATA)
def results_figure(request: HttpRequest, study: Study, name: str, kind: str) -> HttpResponse:
    if kind not in TYPES:
        raise Http404
    return file_response(
        lambda: _result(request, study).figure_file(name, kind),
        TYPES[kind],
        _file_name(request, study, f"{name}.{kind}"),
    )


@require_safe
@for_study(Right.SEE_DATA)
def results_table(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    return file_response(
        lambda: _result(request, study).table_file(name),
        CSV,
        _file_name(request, study, f"{name}.csv"),
    )


@require_safe
@for_study(Right.SEE_DATA)
def results_report(request: HttpRequest, study: Study) -> HttpResponse:
    def text() -> bytes:
        return (
            json.dumps(_stored(request, study).values, indent=1, allow_nan=False) + "\n"
        ).encode()

    name = _file_name(request, study, "report.json")
    return file_response(text, "application/json", name)


@require_safe
@for_study(Right.SEE_DATA)
def results_html(request: HttpRequest, study: Study) -> HttpResponse:
    """The whole page as one file, to be stored or sent."""
    from analysis.report.page.html import render_file

    return file_response(
        lambda: render_file(_stored(request, study)).encode(),
        "text/html; charset=utf-8",
        _file_name(request, study, "report.html"),
    )


def _file_name(request: HttpRequest, study: Study, name: str) -> str:
    return named(study, filter_form.read(study, request.GET).kind, name)


def _stored(request: HttpRequest, study: Study) -> "StoredReport":
    from analysis.report.stored import StoredReport

    source = filter_form.read(study, request.GET).options.source
    return StoredReport(_result(request, study), source)


def _result(request: HttpRequest, study: Study) -> StoredResult:
    """What the page showed, which its links name; else today's, computed here if it may be."""
    chosen = filter_form.read(study, request.GET)
    if chosen.problems:
        raise RefusedError(" ".join(chosen.problems))
    shown = request.GET.get("v", "")
    if found := compute.open_result(study, chosen.options, shown):
        return found
    state = compute.state(study, chosen.options)
    if isinstance(state, Waiting) and state.by is Computer.PAGE:
        state = compute.ensure_computed(study, chosen.options)
    if isinstance(state, Waiting):
        raise RefusedError(NOT_COMPUTED)
    return state


def _to_results(study: Study, chosen: Chosen) -> HttpResponse:
    response = redirect("lab:results", slug=study.slug)
    query = QueryDict(chosen.query, mutable=True)
    if only_kind(study, chosen.kind):  # without a kind the page would open on that one
        query["participants"] = chosen.kind
    response["Location"] += f"?{query.urlencode()}" if query else ""
    return response
