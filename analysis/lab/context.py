"""What the template of the results page is given."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django_stubs_ext import StrOrPromise

from analysis.data.filters import PARTICIPANTS
from analysis.lab.filter_form import Chosen
from analysis.presentation import FigureView
from analysis.services.compute import Waiting
from analysis.store import StoredFigure, StoredResult
from experiment.models import Participant, Study
from experiment.services.counts import kind_counts
from experiment.services.participant_kinds import is_joined, published_elsewhere
from experiment.services.rules_under_way import note_beside_numbers

Kind = Participant.Kind


@dataclass(frozen=True, slots=True)
class OtherKind:
    """Participants that there are where there are none of the kind that is shown."""

    kind: str
    label: StrOrPromise
    n: int
    href: str
    is_pilot: bool


def other_kinds(study: Study, kind: str) -> list[OtherKind]:
    """Pilots are no result: they are watched."""
    counts = kind_counts(study)
    if kind in counts or (is_joined(study, kind) and published_elsewhere(study).exists()):
        return []
    results = f"{reverse('lab:results', args=[study.slug])}?participants="
    watching = f"{reverse('lab:study', args=[study.slug])}?kind="
    return [
        OtherKind(
            k.value,
            k.label,
            counts[k],
            f"{results if k in PARTICIPANTS else watching}{k}",
            k == Kind.PILOT,
        )
        for k in Kind
        if counts.get(k)
    ]


def only_kind(study: Study, kind: str) -> str:
    """The kind to open on where there are none of the usual one, and one other kind that has results; else ""."""
    others = other_kinds(study, kind)
    return others[0].kind if len(others) == 1 and not others[0].is_pilot else ""


def results_context(study: Study, chosen: Chosen, state: StoredResult | Waiting) -> dict[str, Any]:
    context = {
        "study": study,
        "part": "results",
        "chosen": chosen,
        "note": note_beside_numbers(study, chosen.kind, chosen.options.rules),
        "other_kinds": other_kinds(study, chosen.kind),
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
