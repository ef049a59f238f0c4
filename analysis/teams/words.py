"""Sentences on results of teams: the report, the page of teams and the terminal take them from here."""

from collections.abc import Sequence

from django.utils.text import capfirst

from analysis.presentation import sentences
from analysis.stats.arrays import Interval
from analysis.stats.verdicts import Verdict
from analysis.teams.names import called, the_member
from analysis.teams.results import (
    AddingHuman,
    BayesianAbout,
    FewItems,
    MemberKind,
    MemberResult,
    Method,
    Quantity,
    TeamResult,
    Tried,
)
from lib import formatting as f
from lib.formatting import count, is_known, number, p_value, percent, points

TOO_FEW = "there are too few test cases or participants to say whether"
NO_TEAM = "A team needs two members. Choose another one to see what it adds."
# Of a member that ties, by the way of combining; any other favours neither side
OF_TIES = {
    Method.MAJORITY: "A member that ties has no vote.",
    Method.AVERAGE: "In the mean, a tie is a probability of 50%.",
    Method.MOST_CONFIDENT: "A member that ties decides nothing.",
    Method.AS_PUBLISHED: "A tie adds nothing, so the other members and the intercept decide.",
}


def rows_of(n: int, result: TeamResult) -> str:
    """A number of what a result's rows are: judged trials or, where no one judged, test cases."""
    return count(n, "trial" if result.is_judged else "test case")


def row_noun(result: TeamResult) -> str:
    return "trials" if result.is_judged else "test cases"


def after_holm(p: float | None, n_tests: int | None) -> str:
    """A corrected p, and over how many tests where there are several; "" where there is none.

    >>> from lib.formatting import NO_BREAK
    >>> after_holm(0.03, 2).replace(NO_BREAK, " "), after_holm(None, None)
    ("p = .030 after Holm's correction over 2 comparisons", '')
    """
    if p is None:
        return ""
    if not n_tests or n_tests == 1:
        return p_value(p)
    return f"{p_value(p)} after Holm's correction over {number(n_tests, 0)} comparisons"


def brackets(ci95: Interval | None) -> str:
    """An interval of a difference in points, as it stands behind a number; "" where there is none."""
    low, high = ci95 or (None, None)
    return f" [{points(low)}, {points(high)}]" if is_known(low) and is_known(high) else ""


def few_cases(few: FewItems | None) -> str:
    """Before a table of teams that were tried on few test cases."""
    if few is None:
        return ""
    return (
        f"The accuracy of a team on {count(few.n_items, 'test case')} is not yet informative: on other test cases, it could easily be "
        f"10 percentage points higher or lower. At least {few.fewest} test cases are needed."
    )


def how_accurate(result: TeamResult, best: str) -> str:
    """How a team does against the best of its members, which are called `best`; of a single member, how it does."""
    right = f.with_interval(percent(result.accuracy), f.share_interval(result.accuracy_ci95))
    together = "together were" if len(result.team) > 1 else "by itself was"
    own = f"{called(result.team)} {together} right in {right} of {rows_of(result.n_trials, result)}"
    if result.gain is None:
        return f"{own}."
    p = after_holm(result.gain_p_holm, result.gain_tests)
    verdict: str = {
        None: "",
        Verdict.ABOVE: f"; the team is more accurate ({p})",
        Verdict.BELOW: f"; the team is less accurate ({p})",
        Verdict.UNCLEAR: f"; they do not differ clearly ({p})",
        Verdict.TOO_FEW: f"; {TOO_FEW} they differ",
    }[result.gain_verdict]
    return (
        f"{own}, {points(result.gain)} points{brackets(result.gain_ci95)} compared with the best of its members, {best} "
        f"({percent(result.best_member_accuracy)}){verdict}."
    )


def adding_one(row: AddingHuman, *, is_simulated: bool) -> str:
    """Sentence on the change by one more person."""
    which = "another" if row.team.humans else "one"
    who = "simulated participant" if is_simulated else "human"
    p = after_holm(row.p_holm, row.n_tests)
    verdict: str = {
        None: "",
        Verdict.ABOVE: f"; accuracy rises ({p})",
        Verdict.BELOW: f"; accuracy falls ({p})",
        Verdict.UNCLEAR: f"; this is no clear change ({p})",
        Verdict.TOO_FEW: f"; {TOO_FEW} it changes",
    }[row.verdict]
    own = (
        f"Adding {which} {who} to {called(row.team)} changes accuracy by {points(row.gain.value)} points{brackets(row.gain.ci95)} "
        f"on these test cases{verdict}."
    )
    if not row.is_near_chance:
        return own
    halves = (
        ", and the fit of that team is to random halves of the other test cases instead of all of them"
        if row.method is Method.LOGISTIC
        else ""
    )
    return sentences(
        own,
        f"This change has no interval and no p value, because no member of one of the two teams can be told from chance{halves}.",
    )


def ties(members: Sequence[MemberResult], n_trials: int, method: Method, result: TeamResult) -> str:
    """Sentence on members that tie, and on what the team makes of that. method: of combining, ALONE where there are no teams."""
    if not members:
        return ""
    of = rows_of(n_trials, result)
    alone = len(result.team) == 1
    neither = "A tie favours neither side, so the other members decide."
    return sentences(
        "Ties count half.",
        *(f"{m.display_name} ties on {number(m.n_ties, 0)} of {of}." for m in members),
        "" if alone else OF_TIES.get(method, neither),
        "Where members are compared, a tie is not right." if result.complementarity else "",
    )


def near_chance(result: TeamResult) -> str:
    """Sentence on a team none of whose members can be told from chance."""
    chance = result.near_chance
    if chance is None:
        return ""
    start = (
        "The interval of the accuracy of each member of this team includes 50%, with 95% for all members that were considered together. A "
        "fit to such members may learn only noise."
    )
    if not chance.n_flips:
        return sentences(
            start,
            "Errors on held-out trials are then correlated, so no interval and no p value are given.",
        )
    left_out = ""
    if chance.left_out_accuracy is not None:
        away = (
            f"; these predictions point away from the original (correlation with the side of the original "
            f"{f.coefficient(chance.left_out_correlation)})"
            if chance.is_inverted
            else ""
        )
        left_out = (
            "With a fit to all other test cases, as in Yáñez et al. (2025), the team is right in "
            f"{percent(chance.left_out_accuracy)}{away}."
        )
    return sentences(
        start,
        left_out,
        "Here, each test case is predicted from a random half of the others, balanced over both sides. If all members guessed, such a team "
        f"would be right in {f.share_interval(chance.accuracy_by_chance95)} and gain {f.points_interval(chance.gain_by_chance95)} points "
        f"(95% of {number(chance.n_flips, 0)} random flips of the truth, which also give the p value).",
    )


def together(result: TeamResult, team: str) -> str:
    """On which trials members were right, and what the team, which is called `team`, made of it."""
    found = result.complementarity
    if found is None:
        return ""
    leader = (
        f"It always follows {the_member(result.leader)}, so the other members have no influence."
        if result.leader
        else ""
    )
    n_right, n_none = number(found.all_right.n, 0), number(found.none_right.n, 0)
    first, second, some = found.only_first, found.only_second, found.some_right
    of = rows_of(result.n_trials, result)
    if first is None or second is None:
        disagreed = (
            f"; on the {number(some.n, 0)} on which some were right, the team was right on {_times_right(some)}"
            if some.n
            else ""
        )
        own = f"All {len(result.team)} members of {team} were right on {n_right} of {of}, none on {n_none}{disagreed}."
        return sentences(own, leader)
    one, other = map(the_member, result.team.members[:2])
    followed = " and ".join(
        f"on {_times_right(rows)} if it was {member}"
        for rows, member in ((first, one), (second, other))
        if rows.n
    )
    own = (
        f"{capfirst(one)} and {other} were both right on {n_right} of {of}, only {one} on {number(first.n, 0)}, "
        f"only {other} on {number(second.n, 0)}, neither on {n_none}."
    )
    where = f"Where only one was right, the team followed it {followed}." if followed else ""
    return sentences(own, where, leader)


def _times_right(tried: Tried) -> str:
    """On how many of some rows the team was right: 2 of 3 (67%) and tied on 1."""
    right = f"{number(tried.n_team_right, 0)} of {number(tried.n, 0)} ({percent(tried.share_team_right, 0)})"
    return f"{right} and tied on {number(tried.n_team_ties, 0)}" if tried.n_team_ties else right


def diagnostics(fit: BayesianAbout) -> str:
    found = fit.diagnostics
    converged = (
        "converged;" if found.converged else "did not converge, so these values are approximate;"
    )
    return (
        f"Importance sampling{':' if found.converged else ''} {converged} effective sample size {number(found.ess, 0)} of "
        f"{number(found.n_draws, 0)} weighted draws ({percent(found.ess_share, 0)}); {count(found.n_rounds, 'round')} of sampling to adapt "
        "to the posterior."
    )


def posterior_explained(fit: BayesianAbout) -> list[str]:
    """A paragraph for each word of the table that needs one."""
    found = {(one.quantity, MemberKind.MODEL in one.member_kinds) for one in fit.posterior.values()}
    quantities = {quantity for quantity, _ in found}
    said = []
    if Quantity.SENSITIVITY in quantities:
        said.append(
            "Sensitivity d is the mean of a member's evidence for the original, in units of its standard deviation; 0 is guessing."
        )
    if Quantity.CORRELATION in quantities:
        said.append(
            "Correlations are between two members' evidence on a test case, given which version is the original."
        )
    if (Quantity.ACCURACY, True) in found:
        said.append(
            "In this table, a model's accuracy comes from the normal distribution fitted to its evidence, and each test case counts once. "
            "In the other tables, it is a share of trials, so a test case counts as often as people judged it. The two values therefore "
            "differ."
        )
    if Quantity.POWER in quantities:
        said.append(
            "A model's evidence is raised to a power that the fit estimates. At 1, the evidence is unchanged; below 1, large differences of "
            "perplexity count less than their size."
        )
    return said
