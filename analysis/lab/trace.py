"""The page of one test case and one model: its text, and how the preference runs through it."""

from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from analysis.lab.results import TYPES, file_response
from analysis.services.items.words import trace_text
from experiment.domain import markup
from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Study
from lib.http import row_number

if TYPE_CHECKING:
    from analysis.report.services.traces import RunTraces

# Without white space of its own, which would be read as that of the text
ALTERNATION = (
    '<span class="trace-alternation"><ins><span class="visually-hidden">original: </span>{}</ins><span aria-hidden="true"> / </span>'
    '<del><span class="visually-hidden">altered: </span>{}</del></span>'
)


@require_safe
@for_study(Right.SEE_DATA)
def trace(request: HttpRequest, study: Study) -> HttpResponse:
    from analysis.report.chapters.flips.results import PATTERN
    from analysis.report.services.traces import traceable_runs

    found = _read(request, study)
    context: dict[str, Any] = {"study": study, "runs": traceable_runs(study)}
    if found is not None:
        key = _chosen_key(request, found)
        score = found.score(key)
        assert score is not None
        segments = (
            format_html(ALTERNATION, segment.original, segment.altered)
            if isinstance(segment, markup.Alternation)
            else segment.text
            for segment in markup.parse(score.item.markup).segments
        )
        patterns = found.patterns.items()
        context |= {
            "run": found.run,
            "score": score,
            "key": key,
            "query": urlencode({"run": str(found.run.pk), "item": key}),
            "text": trace_text(str(found.run.language_model), key),
            "marked": format_html_join("", "{}", ((segment,) for segment in segments)),
            "sign_flips": found.sign_flips(key),
            "patterns": [(PATTERN.get(name, ""), keys, name) for name, keys in patterns if keys],
        }
    return render(request, "analysis/trace.html", context)


@require_safe
@for_study(Right.SEE_DATA)
def trace_picture(request: HttpRequest, study: Study) -> HttpResponse:
    found = _read(request, study)
    if found is None:
        raise Http404
    key = _chosen_key(request, found)

    def picture() -> bytes:
        from analysis.charts.save import specification, svg
        from analysis.report.chapters.flips.figures import item_trace

        drawn = item_trace(trace_text(str(found.run.language_model), key), found.traces(key))
        return svg(specification(drawn)).encode()

    return file_response(picture, TYPES["svg"], f"{study.slug}-trace.svg")


def _read(request: HttpRequest, study: Study) -> "RunTraces | None":
    """Traces of the run that the address names; else of the newest that has token records."""
    from analysis.report.services.traces import read_traces, traceable_runs

    runs = traceable_runs(study)
    if pk := request.GET.get("run"):
        runs = runs.filter(pk=row_number(pk))
        if not runs:
            raise Http404
    return next(filter(None, (read_traces(run, study) for run in runs)), None)


def _chosen_key(request: HttpRequest, found: "RunTraces") -> str:
    """Key in the address; else that of the typical test case of the first pattern there is."""
    key = request.GET.get("item") or next(keys[0] for keys in found.patterns.values() if keys)
    if found.score(key) is None:
        raise Http404
    return key
