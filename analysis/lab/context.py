"""What the template of the results page is given."""

from typing import Any

from django.urls import reverse

from analysis.lab.filter_form import Chosen
from analysis.presentation import FigureView
from analysis.services.compute import Waiting
from analysis.store import StoredFigure, StoredResult
from experiment.models import Study
from experiment.services.participant_kinds import kind_note


def results_context(study: Study, chosen: Chosen, state: StoredResult | Waiting) -> dict[str, Any]:
    context = {
        "study": study,
        "part": "results",
        "chosen": chosen,
        "note": kind_note(study, chosen.kind),
        "is_simulated": chosen.kind == "simulated",
        "address": reverse("lab:results", args=[study.slug]),
    }
    if isinstance(state, Waiting):
        query = f"?{chosen.query}" if chosen.query else ""
        return context | {
            "waiting": state,
            "command": chosen.options.command(study.slug),
            "live_url": reverse("lab:results_live", args=[study.slug]) + query,
            "retry_url": reverse("lab:results_retry", args=[study.slug]) + query,
            "stop_url": reverse("lab:results_stop", args=[study.slug]) + query,
        }
    return context | _computed(study, chosen, state)


def _computed(study: Study, chosen: Chosen, result: StoredResult) -> dict[str, Any]:
    # Here, since pages without results do without what computes
    from analysis.report.page.context import report_context
    from analysis.report.stored import StoredReport

    stored = StoredReport(result, chosen.options.source)
    query = "&".join(filter(None, (chosen.query, f"v={result.key}")))

    def address(name: str, *args: str) -> str:
        return f"{reverse(f'lab:results_{name}', args=[study.slug, *args])}?{query}"

    def link_table(source: str, name: str) -> str:
        return address("table", f"{source}_{name}") if stored.has_table(source, name) else ""

    def view(figure: StoredFigure) -> FigureView:
        csv = address("table", f"{figure.source}_figure_{figure.name}")
        kinds = [
            (kind.upper(), address("figure", figure.stem, kind)) for kind in ("svg", "png", "pdf")
        ]
        return FigureView.of(figure, address("figure", figure.stem, "svg"), [("CSV", csv), *kinds])

    return {
        **report_context(stored, view, link_table),
        "report_href": address("report"),
        "html_href": address("html"),
    }
