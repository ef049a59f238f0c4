"""A team's numbers as cells of a table, on the team page and in the report's chapter."""

from django.utils.translation import gettext as _

from analysis.presentation import Column, number_column, text_column
from analysis.teams.results import TeamResult
from lib import formatting as f


def team_columns() -> list[Column]:
    return [
        text_column(_("Team")),
        number_column(_("Accuracy")),
        number_column(_("95% CI")),
        number_column(_("Gain, points")),
        number_column(_("95% CI")),
        number_column(_("p (Holm)")),
        number_column(_("Log loss")),
    ]


def team_row(name: str, result: TeamResult) -> tuple[str, ...]:
    """`name`: what the team is called there."""
    return (
        name,
        f.percent(result.accuracy),
        f.share_interval(result.accuracy_ci95),
        f.points(result.gain),
        f.points_interval(result.gain_ci95),
        f.p_cell(result.gain_p_holm),
        f.number(result.log_loss_nats, 3),
    )
