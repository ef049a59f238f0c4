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

WHO = {Policy.HUMAN: "the human's choice", Policy.TEAM: "the team"}
ADDING = (
    c.text("Who", "0.team.display_name"),
    c.percent("Accuracy", "1"),
    c.percent("With one additional human", "2"),
    c.points("Change, points", "0.gain.value"),
    c.points_ci("95% CI", "0.gain.ci95"),
    c.p_value("p (Holm)", "0.p_holm"),
)
THRESHOLDS = (
    c.text("Alone where confident", "team.display_name"),
    c.text("Otherwise decided by", lambda row: WHO[row.policy]),
    c.number("Confidence threshold", "threshold"),
    c.percent("Asked", "share_asked", digits=0),
    c.percent("Accuracy", "accuracy"),
    c.share_ci("95% CI", "accuracy_ci95"),
    c.points("Change, points", "gain"),
    c.points_ci("95% CI", "gain_ci95"),
    c.p_value("p (Holm)", "gain_p_holm"),
)
CORRELATIONS = (
    c.text("Pair", "0.team.display_name"),
    c.coefficient("Correlation", "1.mean"),
    c.coefficient_ci("95% credible interval", "1.ci95"),
    c.text("Fit", "2"),
)


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
    accuracy = {row.team.label: row.accuracy for row in found.logistic}
    added = [
        (row, accuracy.get(row.team.label), accuracy.get(row.with_human))
        for row in found.adding_human
        if row.method == Method.LOGISTIC
    ]
    pairs = []
    for team, about, correlation in correlated_pairs(found.bayesian):
        # How far the draws can be relied on
        fit = about.diagnostics
        quality = [] if fit.converged else ["not converged"]
        quality += [
            f"{f.percent(fit.ess_share, 0)} of draws effective",
            f"{f.count(about.n_refitted, 'fold')} refitted",
        ]
        pairs.append((team, correlation, ", ".join(quality)))
    caption = f"Members and their teams, combined by {method}; gain over the best member"
    deferral = "Deferral: confidence thresholds chosen on training trials, evaluated on held-out trials"  # fmt: skip
    latent = "Bayesian fits: correlation of the members' latent evidence, given which version is the original"  # fmt: skip
    return [
        *c.page_table(caption, team_columns("team.display_name", main), main, "teams"),
        *c.page_table("The same teams with other methods", with_method, others, "teams"),
        *c.page_table("Gain from one human", ADDING, added, "figure_teams_adding"),
        *c.page_table(deferral, THRESHOLDS, found.policies_chosen, "team_policies_chosen"),
        *c.page_table(latent, CORRELATIONS, pairs),
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
