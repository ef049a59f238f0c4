"""What the templates of the team page are given."""

from datetime import datetime
from typing import Any

from django.urls import reverse

from analysis.lab.team_form import MOST_SLOW, TeamChosen
from analysis.presentation import FigureView
from analysis.services.compute import Waiting
from analysis.store import StoredFigure, StoredResult
from analysis.teams.options import MOST_HUMANS
from experiment.models import Study
from experiment.services.rules_under_way import note_beside_numbers

State = StoredResult | Waiting | None  # None: no members were chosen


def teams_context(study: Study, chosen: TeamChosen, state: State) -> dict[str, Any]:
    context = {
        "study": study,
        "part": "results",
        "page": "teams",
        "chosen": chosen,
        "command": chosen.command(study.slug),
        "note": note_beside_numbers(study, chosen.shared.kind),
        "is_simulated": chosen.shared.kind == "simulated",
        "most_humans": MOST_HUMANS,
        "address": reverse("lab:results_teams", args=[study.slug]),
    }
    if isinstance(state, Waiting):
        return context | {
            "waiting": state,
            "live_url": f"{reverse('lab:results_teams_live', args=[study.slug])}?{chosen.query}",
            "retry_url": f"{reverse('lab:results_teams_retry', args=[study.slug])}?{chosen.query}",
            "stop_url": f"{reverse('lab:results_teams_stop', args=[study.slug])}?{chosen.query}",
        }
    return context | (_computed(study, chosen, state) if state is not None else {})


def _computed(study: Study, chosen: TeamChosen, result: StoredResult) -> dict[str, Any]:
    # Here, since a page without a result does without them
    from analysis.codec import from_json
    from analysis.teams.page import Answer, sections
    from analysis.teams.results import TeamsDocument

    query = f"{chosen.query}&v={result.key}"

    def address(name: str, *args: str) -> str:
        return f"{reverse(f'lab:results_teams_{name}', args=[study.slug, *args])}?{query}"

    def link(name: str) -> str:
        return address("table", name) if name in result.tables else ""

    def view(figure: StoredFigure) -> FigureView:
        csv = link(f"figure_{figure.name}")
        files = [("CSV", csv)] if csv else []
        files += [(k.upper(), address("figure", figure.name, k)) for k in ("svg", "png", "pdf")]
        return FigureView.of(figure, address("figure", figure.name, "svg"), files)

    document: TeamsDocument = from_json(TeamsDocument, result.values, "teams")
    answer = Answer.of(document)
    return {
        "document": document,
        "answer": answer,
        "most_slow": MOST_SLOW,
        "sections": sections(answer, [view(figure) for figure in result.figures], link),
        "not_possible": answer.not_possible(),
        "made_at": datetime.fromisoformat(document.made_at),
        "predictions_href": link("predictions"),
        "json_href": address("json"),
    }
