"""The results page, the team page and their files. An address says what is asked for; the compute service does the work."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from analysis.data.about import SIMULATED
from analysis.lab import filter_form, team_form
from analysis.lab.filter_form import Chosen
from analysis.lab.team_form import TeamChosen
from analysis.presentation import FigureView, Link
from analysis.services.compute import Waiting
from analysis.store import StoredFigure, StoredResult
from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Participant, Study
from experiment.services.reapplying import note_beside_numbers

if TYPE_CHECKING:
    from analysis.report.report import StoredReport

TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
CSV = "text/csv; charset=utf-8"
NOT_COMPUTED = "These results have not been computed yet. Their page explains how to compute them."
# By the name of the page's address: what its address asks for
READ: Mapping[str, Callable[[Study, QueryDict], Chosen | TeamChosen]] = {
    "results": filter_form.read,
    "results_teams": team_form.read,
}


class RefusedError(Exception):
    """A file cannot be given; the sentence says why."""


@require_safe
@for_study(Right.SEE_DATA)
def show(request: HttpRequest, study: Study, page: str) -> HttpResponse:
    chosen = READ[page](study, request.GET)
    state = chosen.look(may_compute="now" in request.GET)  # without scripts, a link leads there
    name = "teams" if page == "results_teams" else page
    return render(request, f"analysis/{name}.html", _context(chosen, state))


@require_safe
@for_study(Right.SEE_DATA)
def live(request: HttpRequest, study: Study, page: str) -> HttpResponse:
    """A page without results asks here until they are computed, and is then led to them."""
    chosen = READ[page](study, request.GET)
    state = chosen.look(may_compute=True)
    if isinstance(state, Waiting):
        return render(request, "analysis/_waiting.html", _context(chosen, state))
    return _to_page(chosen)


@require_POST
@for_study(Right.WORK)
def retry(request: HttpRequest, study: Study, page: str) -> HttpResponse:
    """A failed or stopped computation is tried again."""
    chosen = READ[page](study, request.GET)
    chosen.asked.retry()
    return _to_page(chosen)


@require_POST
@for_study(Right.WORK)
def stop(request: HttpRequest, study: Study, page: str) -> HttpResponse:
    """A computation that waits or runs is stopped."""
    chosen = READ[page](study, request.GET)
    chosen.asked.stop()
    return _to_page(chosen)


@require_safe
@for_study(Right.SEE_DATA)
def figure(request: HttpRequest, study: Study, page: str, name: str, kind: str) -> HttpResponse:
    if kind not in TYPES:
        raise Http404
    chosen = READ[page](study, request.GET)
    return _file(request, chosen, f"{name}.{kind}", lambda r: r.figure_file(name, kind))


@require_safe
@for_study(Right.SEE_DATA)
def table(request: HttpRequest, study: Study, page: str, name: str) -> HttpResponse:
    """A table as CSV. That of teams, `predictions`, has a row per held-out trial and team."""
    chosen = READ[page](study, request.GET)
    return _file(request, chosen, f"{name}.csv", lambda result: result.table_file(name))


@require_safe
@for_study(Right.SEE_DATA)
def numbers(request: HttpRequest, study: Study, page: str) -> HttpResponse:
    """report.json or teams.json."""
    chosen = READ[page](study, request.GET)

    def text(result: StoredResult) -> bytes:
        values = result.values if isinstance(chosen, TeamChosen) else _stored(chosen, result).values
        return (json.dumps(values, indent=1, allow_nan=False) + "\n").encode()

    name = "teams.json" if isinstance(chosen, TeamChosen) else "report.json"
    return _file(request, chosen, name, text)


@require_safe
@for_study(Right.SEE_DATA)
def html(request: HttpRequest, study: Study) -> HttpResponse:
    """The whole page as one file, to be stored or sent."""
    from analysis.report.page import render_file

    chosen = filter_form.read(study, request.GET)
    return _file(request, chosen, "report.html", lambda r: render_file(_stored(chosen, r)).encode())


def file_response(content: Callable[[], bytes], content_type: str, name: str) -> HttpResponse:
    """The file; the sentence of a RefusedError; 404 where the file does not exist, or was deleted meanwhile."""
    try:
        found = content()
    except RefusedError as why:
        return HttpResponse(f"{why}\n", status=400, content_type="text/plain; charset=utf-8")
    except FileNotFoundError as gone:
        raise Http404 from gone
    # Shown where the page embeds it, saved where a link says `download`
    is_saved = content_type.startswith("text/html")
    disposition = content_disposition_header(is_saved, name) or "inline"
    return HttpResponse(
        found, content_type=content_type, headers={"Content-Disposition": disposition}
    )


def _file(
    request: HttpRequest,
    chosen: Chosen | TeamChosen,
    name: str,
    content: Callable[[StoredResult], bytes],
) -> HttpResponse:
    """Named by the study, and by that it is about simulated participants."""
    ending = name.rpartition(".")[2]
    other = {"csv": CSV, "json": "application/json", "html": "text/html; charset=utf-8"}
    prefix = SIMULATED if chosen.kind == Participant.Kind.SIMULATED else ""
    prefix += "team-" if isinstance(chosen, TeamChosen) else ""

    def made() -> bytes:
        # The result that the page showed, which its links name; else today's, computed here if it may be
        if found := chosen.asked.open(request.GET.get("v", "")):
            return content(found)
        if chosen.problems:
            raise RefusedError(" ".join(chosen.problems))
        state = chosen.for_file()
        if isinstance(state, StoredResult):
            return content(state)
        if state is None:
            raise RefusedError("Choose members: members=human&members=NAME.")
        raise RefusedError(state.problem or NOT_COMPUTED)

    return file_response(made, (TYPES | other)[ending], f"{chosen.study.slug}-{prefix}{name}")


def _to_page(chosen: Chosen | TeamChosen) -> HttpResponse:
    return redirect(f"{chosen.address}?{chosen.query}".rstrip("?"))


def _context(chosen: Chosen | TeamChosen, state: StoredResult | Waiting | None) -> dict[str, Any]:
    study, query = chosen.study, f"?{chosen.query}" if chosen.query else ""
    context = {
        "study": study,
        "chosen": chosen,
        "command": chosen.command,
        "note": note_beside_numbers(study, chosen.kind),
        "is_simulated": chosen.kind == "simulated",
        "address": chosen.address,
    }
    if isinstance(state, Waiting):
        return context | {
            "waiting": state,
            "live_url": f"{chosen.address}live/{query}",
            "retry_url": f"{chosen.address}retry/{query}",
            "stop_url": f"{chosen.address}stop/{query}",
            "now_url": f"?{'&'.join(filter(None, (chosen.query, 'now=1')))}",
        }
    if state is None:
        return context
    links = _Links(chosen, state)
    if isinstance(chosen, TeamChosen):
        return context | _of_team(state, links)
    # Here and below, since pages without results do without what computes
    from analysis.report.page import report_context

    def table(source: str, name: str) -> str:
        return links.table(f"{source}_{name}")

    stored = _stored(chosen, state)
    return context | {
        **report_context(stored, links.figure, table, chapter_links(chosen)),
        "report_href": links.to("report"),
        "html_href": links.to("html"),
    }


class _Links:
    """Addresses of a result's files, which name the result that the page shows."""

    def __init__(self, chosen: Chosen | TeamChosen, result: StoredResult) -> None:
        self.name, self.slug, self.tables = chosen.page, chosen.study.slug, result.tables
        self.query = "&".join(filter(None, (chosen.query, f"v={result.key}")))

    def to(self, name: str, *args: str) -> str:
        return f"{reverse(f'lab:{self.name}_{name}', args=[self.slug, *args])}?{self.query}"

    def table(self, stem: str) -> str:
        return self.to("table", stem) if stem in self.tables else ""

    def figure(self, figure: StoredFigure) -> FigureView:
        csv = self.table(f"{figure.source}_figure_{figure.name}".lstrip("_"))
        files = [("CSV", csv)] if csv else []
        files += [(k.upper(), self.to("figure", figure.stem, k)) for k in ("svg", "png", "pdf")]
        return FigureView.of(figure, self.to("figure", figure.stem, "svg"), files)


def _stored(chosen: Chosen, result: StoredResult) -> "StoredReport":
    from analysis.report.report import StoredReport

    return StoredReport(result, chosen.options.source)


def chapter_links(chosen: Chosen) -> dict[str, Link]:
    """Where the readers of chapters go on."""
    teams, traces = (
        reverse(f"lab:{name}", args=[chosen.study.slug])
        for name in ("results_teams", "results_trace")
    )
    if chosen.options.source == "machine":
        teams += "?source=machine"
    return {
        "teams": Link("Combine other members, or use other methods", teams),
        "flips": Link("View any test case of any model", traces),
    }


def _of_team(result: StoredResult, links: _Links) -> dict[str, Any]:
    from analysis.codec import from_json
    from analysis.teams.answer import Answer
    from analysis.teams.page import sections
    from analysis.teams.results import TeamsDocument

    document: TeamsDocument = from_json(TeamsDocument, result.values, "teams")
    answer = Answer.of(document)
    return {
        "document": document,
        "answer": answer,
        "sections": sections(answer, [links.figure(f) for f in result.figures], links.table),
        "not_possible": answer.not_possible(),
        "made_at": datetime.fromisoformat(document.made_at),
        "predictions_href": links.table("predictions"),
        "json_href": links.to("json"),
    }
