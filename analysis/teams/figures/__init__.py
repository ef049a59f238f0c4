"""Figures of teams: one module per figure."""

from collections.abc import Callable, Iterator, Mapping

from analysis.charts.figure import Figure
from analysis.stats import NotEnough
from analysis.teams.figures.accuracy import accuracy, gain
from analysis.teams.figures.adding import adding
from analysis.teams.figures.deciding import complementarity, deferral
from analysis.teams.results import TeamResults, TeamsDocument

# Results, whether participants are simulated -> figure; raises NotEnough
Draw = Callable[[TeamResults, bool], Figure]
FIGURES: Mapping[str, Draw] = {
    "teams": accuracy,
    "teams_gain": gain,
    "teams_adding": adding,
    "teams_complementarity": complementarity,
    "teams_policy": deferral,
}


def draw_teams(document: TeamsDocument) -> Iterator[Figure]:
    """The figures that a trial of chosen teams supports."""
    for draw in FIGURES.values():
        try:
            yield draw(document.tried, document.participants.is_simulated)
        except NotEnough:
            continue
