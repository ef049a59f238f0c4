"""Tables of the chapter on teams."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analysis import columns as c
from analysis.codec import need, present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.teams.results import Teams
from analysis.stats.verdicts import Verdict
from analysis.teams.names import (
    METHOD_NAMES,
    called,
    capitalised,
    inserted,
    method_name,
    team_columns,
    the_member,
)
from analysis.teams.results import (
    AddingHuman,
    BayesianAbout,
    ChosenPolicy,
    MemberKind,
    MemberResult,
    Method,
    Policy,
    Posterior,
    Sizes,
    TeamingResult,
    TeamResult,
)
from analysis.teams.words import adding_one, few_cases, how_accurate, near_chance, together
from lib import formatting as f
from lib.formatting import listing


def of_panel(found: TeamingResult, rows: Iterable[TeamResult]) -> list[TeamResult]:
    return [row for row in rows if found.is_of_panel(row.team)]


def tables(found: TeamingResult) -> list[Table]:
    """The panel's teams, the other methods, each model with a human, thresholds, correlations."""
    return [
        *_teams(found),
        *_other_methods(found),
        *_adding_table(found),
        *_thresholds(found),
        *_correlations(found),
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
    rows = of_panel(found, found.logistic)
    columns = team_columns("team.display_name", rows)
    caption = _("Members and their teams, combined by %(method)s; gain over the best member")
    named = caption % {"method": method_name(Method.LOGISTIC).lower()}
    return c.page_table(named, columns, rows, "teams")


def _other_methods(found: TeamingResult) -> list[Table]:
    by_method = found.by_method()
    rows = [
        row
        for method in METHOD_NAMES
        if method != Method.LOGISTIC
        for row in of_panel(found, by_method.get(method, ()))
    ]
    method = c.text(_("Method"), lambda row: method_name(row.method))
    columns = (method, *team_columns("team.display_name", rows))
    return c.page_table(_("The same teams with other methods"), columns, rows, "teams")


def _adding_table(found: TeamingResult) -> list[Table]:
    """One human more: the published method's teams."""
    accuracy: dict[str, float | None] = {row.team.label: row.accuracy for row in found.logistic}
    added = [row for row in found.adding_human if row.method == Method.LOGISTIC]
    missing = dict.fromkeys(label for row in added for label in (row.team.label, row.with_human))
    accuracy = {**missing, **accuracy}
    columns = (
        c.text(_("Who"), "team.display_name"),
        c.percent(_("Accuracy"), lambda row: accuracy[row.team.label]),
        c.percent(_("With one additional human"), lambda row: accuracy[row.with_human]),
        c.points(_("Change, points"), "gain.value"),
        c.points_ci(_("95% CI"), "gain.ci95"),
        c.p_value(_("p (Holm)"), "p_holm"),
    )
    return c.page_table(_("Gain from one human"), columns, added, "figure_teams_adding")


def _thresholds(found: TeamingResult) -> list[Table]:
    who = {Policy.HUMAN: _("the human's choice"), Policy.TEAM: _("the team")}
    columns = (
        c.text(_("Alone where confident"), "team.display_name"),
        c.text(_("Otherwise decided by"), lambda row: who[row.policy]),
        c.number(_("Confidence threshold"), "threshold"),
        c.percent(_("Asked"), "share_asked", digits=0),
        c.percent(_("Accuracy"), "accuracy"),
        c.share_ci(_("95% CI"), "accuracy_ci95"),
        c.points(_("Change, points"), "gain"),
        c.points_ci(_("95% CI"), "gain_ci95"),
        c.p_value(_("p (Holm)"), "gain_p_holm"),
    )
    caption = _("Deferral: confidence thresholds chosen on training trials, evaluated on held-out trials")  # fmt: skip
    return c.page_table(caption, columns, found.policies_chosen, "team_policies_chosen")


def _correlations(found: TeamingResult) -> list[Table]:
    columns = (
        c.text(_("Pair"), "0.team.display_name"),
        c.coefficient(_("Correlation"), "2.mean"),
        c.coefficient_ci(_("95% credible interval"), "2.ci95"),
        c.text(_("Fit"), lambda row: _quality(row[1])),
    )
    rows = correlated_pairs(found.bayesian)
    caption = _("Bayesian fits: correlation of the members' latent evidence, given which version is the original")  # fmt: skip
    return c.page_table(caption, columns, rows)


def _quality(about: BayesianAbout) -> str:
    """How far the draws can be relied on."""
    fit, n = about.diagnostics, about.n_refitted
    share = _("%(share)s of draws effective") % {"share": f.percent(fit.ess_share, 0)}
    refitted = ngettext("%(n)s fold refitted", "%(n)s folds refitted", n) % {"n": f.number(n, 0)}
    return ", ".join([*([] if fit.converged else [_("not converged")]), share, refitted])


# --- What the chapter on teams says: which teams and members its sentences are about. tables.py has its tables.


def teams_page(source: SourceResults, about: About) -> Page:
    found = need(source.of(Teams).teaming)
    members = {m.name: m.member for m in found.members}
    every = teams_of(found, Method.LOGISTIC)
    tried = of_panel(found, every) or every
    partner = _partner(found, tried)
    best = max(tried, key=lambda r: r.accuracy, default=None)
    context = {
        "found": found,
        "is_simulated": about.is_simulated,
        "n_members": len(found.members),
        "left_out": listing([the_member(m.member) for m in found.members if m.accuracy is None]),
        "panel": found.panel,
        "panel_names": listing([the_member(members[name]) for name in found.panel]),
        "panel_rule": inserted(found.panel_rule),
        "tried": tried,
        "best": best,
        "few_cases": few_cases(found.few_items),
        "how_accurate": how_accurate(best, the_member(best.best) if best.best else "")
        if best
        else "",
        "near_chance": near_chance(best) if best else "",
        "better": _better_models(found, best),
        "adding": [
            adding_one(row, is_simulated=about.is_simulated) for row in _adding(found, partner)
        ],
        "over_models": _over_models(found),
        "partner": partner,
        "together": together(partner, called(partner.team)) if partner else "",
        "largest": max(tried, key=lambda r: len(r.team), default=None),
        "deciders": _deciders(found),
        "correlated": _correlated(found, partner),
        "sizes": present(found.sizes),
        "size_cells": _size_cells(present(found.sizes)),
    }
    return Page(context, tables(found), _methods(found))


def teams_of(found: TeamingResult, method: Method) -> list[TeamResult]:
    """A method's teams, without members by themselves."""
    return list(found.by_method().get(method, ()))


def _partner(found: TeamingResult, tried: Sequence[TeamResult]) -> TeamResult | None:
    """The pair of a human and the most accurate model, or of the two most accurate members where there is no such pair."""
    alone = (r for r in found.logistic if r.method == Method.ALONE)
    accuracy = {r.team.label: r.accuracy for r in alone}
    pairs = [r for r in tried if len(r.team) == 2]
    mixed = [r for r in pairs if r.n_humans and r.n_models]

    def accuracies(result: TeamResult) -> float:
        return sum(accuracy[name] for name in result.team.names if name in accuracy)

    return max(mixed or pairs, key=accuracies, default=None)


def _better_models(found: TeamingResult, best: TeamResult | None) -> dict[str, Any] | None:
    """The most accurate of single models that are better than every team shown, and how many others there are."""
    top = best.accuracy if best else 1.0
    models = [m for m in found.members if m.kind == MemberKind.MODEL]
    better = [(m.accuracy, m) for m in models if m.accuracy is not None and m.accuracy > top]
    if not better:
        return None
    _accuracy, model = max(better, key=lambda one: one[0])
    alone = (r for r in found.logistic if r.team.names == (model.name,))
    return {"model": model, "alone": next(alone, None), "n_others": len(better) - 1}


def _to_models(found: TeamingResult) -> list[AddingHuman]:
    """What a human adds to teams of models."""
    rows = (row for row in found.adding_human if row.method == Method.LOGISTIC)
    return [row for row in rows if not row.team.humans]


def _adding(found: TeamingResult, partner: TeamResult | None) -> list[AddingHuman]:
    """What a human adds to the best model, and to the panel's models together."""
    rows = _to_models(found)
    if not rows:
        return []
    largest = max(rows, key=lambda row: len(row.team))
    label = partner.team.label if partner else ""
    first = next((row for row in rows if row.with_human == label), largest)
    return [first] if first is largest else [first, largest]


def _over_models(found: TeamingResult) -> dict[str, int] | None:
    """For how many of n models a person helps, harms, or does neither for certain; None where there are too few rows to say."""
    single = {row.team.label: row for row in _to_models(found) if len(row.team) == 1}
    sides = [row.verdict for row in single.values()]
    known = Verdict.ABOVE, Verdict.BELOW, Verdict.UNCLEAR
    n_tests = max((row.n_tests or 0 for row in single.values()), default=0)
    if len(sides) < 2 or any(side not in known for side in sides):
        return None
    return {"n": len(sides), "n_tests": n_tests} | {
        f"n_{of.value}": sides.count(of) for of in known
    }


@dataclass(frozen=True)
class Decider:
    """A model that decides alone where it is sure, by both policies: what a threshold does, and the change of accuracy."""

    model: MemberResult
    n_equal: int
    rows: Sequence[ChosenPolicy]

    @property
    def choices(self) -> list[dict[str, Any]]:
        alone = self.model.accuracy or 0.0
        return [{"row": row, "change": row.accuracy - alone} for row in self.rows]

    @property
    def costs(self) -> bool:
        """Whether asking clearly lowers the accuracy by every policy."""
        return all(row.gain_verdict is Verdict.BELOW for row in self.rows)


def _deciders(found: TeamingResult) -> list[Decider]:
    """The panel's most accurate model; each of them, if several are equally so."""
    models = [
        (m.accuracy, m)
        for m in found.members
        if m.accuracy is not None and m.kind == MemberKind.MODEL and m.name in found.panel
    ]
    most = max((accuracy for accuracy, _m in models), default=None)
    best = [m for accuracy, m in models if accuracy == most]
    deciders = []
    for model in best:
        rows = [row for row in found.policies_chosen if row.team.names == (model.name,)]
        rows.sort(key=lambda row: list(Policy).index(row.policy))
        if rows:
            deciders.append(Decider(model, len(best), rows))
    return deciders


@dataclass(frozen=True)
class Correlated:
    result: TeamResult
    correlation: Posterior

    @property
    def n_people(self) -> int:
        return self.correlation.member_kinds.count(MemberKind.HUMAN)


def _correlated(found: TeamingResult, partner: TeamResult | None) -> Correlated | None:
    """The correlation of the best pair's evidence; of another pair where that one has no fit."""
    pairs = correlated_pairs(teams_of(found, Method.BAYESIAN))
    label = partner.team.label if partner else ""
    own = next((pair for pair in pairs if pair[0].team.label == label), None)
    pair = own or next(iter(pairs), None)
    return Correlated(pair[0], pair[2]) if pair else None


def _size_cells(sizes: Sizes | None) -> list[tuple[float, int, int]]:
    """From the smallest to the largest teams of people, of models and of both: accuracy, people, models."""
    if sizes is None:
        return []
    accuracy = {(c.n_humans, c.n_models): c.accuracy for c in sizes.cells}
    people, models = sizes.max_humans, sizes.max_models
    wanted = dict.fromkeys([(1, 0), (people, 0), (0, 1), (0, models), (people, models)])
    found = [(accuracy[size], *size) for size in wanted if size in accuracy]
    return found if len(found) > 1 else []


def _methods(found: TeamingResult) -> list[str]:
    """How it was computed: what all methods share, then each method's rule."""
    shared = [found.panel_rule, found.folds, found.ratings.rule]
    shared += [found.method, *found.measures.values(), found.multiplicity, found.policies_method]
    if teams_of(found, Method.AS_PUBLISHED):
        shared.append(
            _("The combination as published follows Yáñez, Luo, Valerio Minero and Love (2025).")
        )
    first = [next(iter(teams_of(found, method)), None) for method in METHOD_NAMES]
    rules = [result.about.rule for result in first if result]
    rest = [part.method for part in (present(found.sizes),) if part]
    return [
        capitalised(s) for s in dict.fromkeys([*shared, *rules, *rest, *_not_possible(found)]) if s
    ]


def _not_possible(found: TeamingResult) -> list[str]:
    """Which teams could not be fitted, by reason."""
    by_reason: dict[str, list[str]] = {}
    for row in found.not_possible:
        team = f"{row.team.display_name} ({method_name(row.method)})"
        by_reason.setdefault(row.reason, []).append(team)
    return [
        _("Not possible: %(teams)s. %(reason)s") % {"teams": listing(teams), "reason": reason}
        for reason, teams in by_reason.items()
    ]
