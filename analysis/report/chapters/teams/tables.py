"""Tables of the chapter on teams, and which teams they are about."""

from collections.abc import Iterable, Sequence

from analysis import columns as c
from analysis.presentation import Table
from analysis.teams.names import METHOD_NAMES, method_name, team_columns
from analysis.teams.results import (
    BayesianAbout,
    Method,
    Policy,
    Posterior,
    TeamingResult,
    TeamResult,
)
from lib import formatting as f


def tables(found: TeamingResult) -> list[Table]:
    """The panel's teams, the other methods, each model with a human, thresholds, correlations."""
    main = of_panel(found, found.logistic)
    by_method = found.by_method()
    others = [
        row
        for method in METHOD_NAMES
        if method != Method.LOGISTIC
        for row in of_panel(found, by_method.get(method, ()))
    ]
    with_method = (
        c.text("Method", lambda row: method_name(row.method)),
        *team_columns("team.display_name", others),
    )
    method = method_name(Method.LOGISTIC).lower()
    caption = f"Members and their teams, combined by {method}; gain over the best member"
    return [
        *c.page_table(caption, team_columns("team.display_name", main), main, "teams"),
        *c.page_table("The same teams with other methods", with_method, others, "teams"),
        *_adding_table(found),
        *_thresholds(found),
        *_correlations(found),
    ]


def of_panel(found: TeamingResult, rows: Iterable[TeamResult]) -> list[TeamResult]:
    return [row for row in rows if found.is_of_panel(row.team)]


def correlated_pairs(rows: Sequence[TeamResult]) -> list[tuple[TeamResult, BayesianAbout, Posterior]]:  # fmt: skip
    """Bayesian fits in which the members' latent evidence has a known correlation."""
    return [
        (row, row.about, correlation)
        for row in rows
        if isinstance(row.about, BayesianAbout) and (correlation := row.correlation) is not None
    ]


def _adding_table(found: TeamingResult) -> list[Table]:
    """One human more: the published method's teams."""
    accuracy: dict[str, float | None] = {row.team.label: row.accuracy for row in found.logistic}
    added = [row for row in found.adding_human if row.method == Method.LOGISTIC]
    missing = dict.fromkeys(label for row in added for label in (row.team.label, row.with_human))
    accuracy = {**missing, **accuracy}
    columns = (
        c.text("Who", "team.display_name"),
        c.percent("Accuracy", lambda row: accuracy[row.team.label]),
        c.percent("With one additional human", lambda row: accuracy[row.with_human]),
        c.points("Change, points", "gain.value"),
        c.points_ci("95% CI", "gain.ci95"),
        c.p_value("p (Holm)", "p_holm"),
    )
    return c.page_table("Gain from one human", columns, added, "figure_teams_adding")


def _thresholds(found: TeamingResult) -> list[Table]:
    who = {Policy.HUMAN: "the human's choice", Policy.TEAM: "the team"}
    columns = (
        c.text("Alone where confident", "team.display_name"),
        c.text("Otherwise decided by", lambda row: who[row.policy]),
        c.number("Confidence threshold", "threshold"),
        c.percent("Asked", "share_asked", digits=0),
        c.percent("Accuracy", "accuracy"),
        c.share_ci("95% CI", "accuracy_ci95"),
        c.points("Change, points", "gain"),
        c.points_ci("95% CI", "gain_ci95"),
        c.p_value("p (Holm)", "gain_p_holm"),
    )
    caption = "Deferral: confidence thresholds chosen on training trials, evaluated on held-out trials"  # fmt: skip
    return c.page_table(caption, columns, found.policies_chosen, "team_policies_chosen")


def _correlations(found: TeamingResult) -> list[Table]:
    rows = []
    for team, about, correlation in correlated_pairs(found.bayesian):
        # How far the draws can be relied on
        fit = about.diagnostics
        quality = [] if fit.converged else ["not converged"]
        quality += [
            f"{f.percent(fit.ess_share, 0)} of draws effective",
            f"{f.count(about.n_refitted, 'fold')} refitted",
        ]
        rows.append((team, correlation, ", ".join(quality)))
    columns = (
        c.text("Pair", "0.team.display_name"),
        c.coefficient("Correlation", "1.mean"),
        c.coefficient_ci("95% credible interval", "1.ci95"),
        c.text("Fit", "2"),
    )
    caption = "Bayesian fits: correlation of the members' latent evidence, given which version is the original"  # fmt: skip
    return c.page_table(caption, columns, rows)
