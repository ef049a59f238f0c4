"""Tables of the chapter on teams."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analysis.codec import present
from analysis.presentation import Table, number_column, table, text_column
from analysis.teams.columns import team_columns, team_row
from analysis.teams.names import METHOD_NAMES, method_name
from analysis.teams.results import (
    BayesianAbout,
    FoldsKind,
    Method,
    Policy,
    Posterior,
    TeamingResult,
    TeamResult,
)
from lib import formatting as f


def of_panel(found: TeamingResult, rows: Iterable[TeamResult]) -> list[TeamResult]:
    return [row for row in rows if found.is_of_panel(row.team)]


def tables(found: TeamingResult) -> list[Table]:
    """The panel's teams, the other methods, each model with a human, thresholds, correlations, the search."""
    return [
        *_teams(found),
        *_other_methods(found),
        *_adding(found),
        *_thresholds(found),
        *_correlations(found),
        *_search(found),
    ]


def correlated_pairs(rows: Sequence[TeamResult]) -> list[tuple[TeamResult, BayesianAbout, Posterior]]:  # fmt: skip
    """Bayesian fits in which the members' latent evidence has a known correlation."""
    return [
        (row, row.about, correlation)
        for row in rows
        if isinstance(row.about, BayesianAbout)
        and (correlation := row.about.pair_correlation) is not None
    ]


def _teams(found: TeamingResult) -> list[Table]:
    rows = [team_row(row.team.display_name, row) for row in of_panel(found, found.logistic)]
    caption = _("Members and their teams, combined by %(method)s; gain over the best member")
    named = caption % {"method": method_name(Method.LOGISTIC).lower()}
    return table(named, team_columns(), rows, "teams")


def _other_methods(found: TeamingResult) -> list[Table]:
    by_method = found.by_method()
    rows = [
        (method_name(method), *team_row(row.team.display_name, row))
        for method in METHOD_NAMES
        if method != Method.LOGISTIC and method in by_method
        for row in of_panel(found, by_method[method])
    ]
    columns = [text_column(_("Method")), *team_columns()]
    return table(_("The same teams, combined in other ways"), columns, rows, "teams")


def _adding(found: TeamingResult) -> list[Table]:
    """One human more: the published method's teams."""
    accuracy: dict[str, float | None] = {row.team.label: row.accuracy for row in found.logistic}
    added = [row for row in found.adding_human if row.method == Method.LOGISTIC]
    missing = dict.fromkeys(label for row in added for label in (row.team.label, row.with_human))
    accuracy = {**missing, **accuracy}
    columns = [
        text_column(_("Who")),
        number_column(_("Accuracy")),
        number_column(_("With one human more")),
        number_column(_("Change, points")),
        number_column(_("95% CI")),
        number_column(_("p (Holm)")),
    ]
    rows = [
        (
            row.team.display_name,
            f.percent(accuracy[row.team.label]),
            f.percent(accuracy[row.with_human]),
            f.points(row.gain.value),
            f.points_interval(row.gain.ci95),
            f.p_cell(row.p_holm),
        )
        for row in added
    ]
    return table(_("What one human adds"), columns, rows, "figure_teams_adding")


def _thresholds(found: TeamingResult) -> list[Table]:
    who = {Policy.HUMAN: _("the human's choice"), Policy.TEAM: _("the team")}
    columns = [
        text_column(_("Alone where it is sure")),
        text_column(_("Else decides")),
        number_column(_("Sure from")),
        number_column(_("Asked")),
        number_column(_("Accuracy")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            row.team.display_name,
            who[row.policy],
            f.number(row.threshold),
            f.percent(row.share_asked, 0),
            f.percent(row.accuracy),
            f.share_interval(row.accuracy_ci95),
        )
        for row in found.policies_chosen
    ]
    caption = _("Who decides: thresholds of certainty chosen on training trials, tried on held-out ones")  # fmt: skip
    return table(caption, columns, rows, "team_policies_chosen")


def _correlations(found: TeamingResult) -> list[Table]:
    columns = [
        text_column(_("Pair")),
        number_column(_("Correlation")),
        number_column(_("95% credible interval")),
        text_column(_("Fit")),
    ]
    rows = [
        (
            row.team.display_name,
            f.coefficient(correlation.mean),
            f.coefficient_interval(correlation.ci95),
            _quality(about),
        )
        for row, about, correlation in correlated_pairs(found.bayesian)
    ]
    caption = _("Bayesian fits: correlation of the members' latent evidence, given which version is the original")  # fmt: skip
    return table(caption, columns, rows)


def _quality(about: BayesianAbout) -> str:
    """How far the draws can be relied on."""
    fit, n = about.diagnostics, about.n_refitted
    share = _("%(share)s of draws effective") % {"share": f.percent(fit.ess_share, 0)}
    refitted = ngettext("%(n)s fold refitted", "%(n)s folds refitted", n) % {"n": f.number(n, 0)}
    return ", ".join([*([] if fit.converged else [_("not converged")]), share, refitted])


def _search(found: TeamingResult) -> list[Table]:
    search = present(found.greedy)
    if search is None:
        return []
    columns = [
        text_column(_("Member added")),
        number_column(_("Members")),
        number_column(_("Accuracy")),
        number_column(_("Log loss")),
    ]
    rows = [
        (
            step.added_member.display_name,
            f.number(len(step.team), 0),
            f.percent(step.accuracy),
            f.number(step.log_loss_nats, 3),
        )
        for step in search.steps
    ]
    usual = _("single ones") if found.folds_kind == FoldsKind.ITEM else _("other blocks")
    caption = _(
        "Members added one by one, each time the one that lowers the held-out log loss most. Held out in turn are "
        "%(n)s blocks of test cases, in the other tables %(usual)s, so that the same team's accuracy differs a little; the first "
        "member by itself counts by its fit, in the other tables by its own choice"
    )
    return table(caption % {"n": search.n_folds, "usual": usual}, columns, rows)
