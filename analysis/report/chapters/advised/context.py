"""What the chapter on decisions with advice shows."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from analysis import columns as c
from analysis.codec import present
from analysis.data.exclusions import ASSIGNED
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.advised.results import (
    ANALYSES,
    CALIBRATIONS,
    COMPARISONS,
    CONDITIONS,
    DECISIONS,
    FINAL,
    FIRST,
    REALISED,
    RELIANCE,
    TESTS,
    AccuracyWithAdvice,
    Advised,
    Analysis,
    ConditionReliance,
    Contrast,
    RealAndComputed,
    Reliance,
    analyses_of,
    calibrations_of,
    measures_of,
)
from analysis.stats.reliance.moderators import (
    ADVICE_RIGHT,
    ADVISER,
    EXPERTISE,
    INTERCEPT,
    LEARNING,
    OWN,
    POSITION,
    Effect,
    Moderators,
)
from analysis.stats.reliance.trials import Estimate
from analysis.stats.verdicts import Verdict
from analysis.teams.domain.advised import ADVISER as DECIDER_ADVISER
from analysis.teams.results import Method
from lib import formatting as f

WITHIN_SENTENCES = {
    FIRST: gettext_lazy("people before advice"),
    DECIDER_ADVISER: gettext_lazy("the adviser alone"),
    FINAL: gettext_lazy("people after advice"),
    Method.LOGISTIC.value: gettext_lazy("the logistic team"),
    Method.BAYESIAN.value: gettext_lazy("the Bayesian team"),
}
EFFECT_NAMES = {
    INTERCEPT: gettext_lazy("Intercept"),
    ADVICE_RIGHT: gettext_lazy("Right advice, against wrong"),
    OWN: gettext_lazy("Own confidence, per SD"),
    ADVISER: gettext_lazy("Adviser's confidence, per SD"),
    EXPERTISE: gettext_lazy("Expertise, per SD"),
    POSITION: gettext_lazy("Position of the trial, per SD"),
    LEARNING: gettext_lazy("Right advice x position"),
    f"{ADVICE_RIGHT} x {OWN}": gettext_lazy("Right advice x own confidence"),
    f"{ADVICE_RIGHT} x {ADVISER}": gettext_lazy("Right advice x adviser's confidence"),
}


def advised_page(source: SourceResults, about: About) -> Page:
    own = source.of(Advised)
    accuracy, reliance = present(own.advised_accuracy), present(own.advised_reliance)
    teams = present(own.advised_teams)
    context: dict[str, Any] = {"accuracy": accuracy, "reliance": reliance, "teams": teams}
    tables: list[Table] = []
    if accuracy:
        context |= _of_accuracy(accuracy)
        tables += c.page_table(_("Accuracy by arm"), CONDITIONS, accuracy.conditions, "advised")
        tables += c.page_table(
            _("Arms compared"), COMPARISONS, accuracy.comparisons, "advised_arms"
        )
        tables += c.page_table(
            _("Arms compared in other analyses"),
            ANALYSES,
            list(analyses_of(accuracy)),
            "advised_analyses",
        )
    if reliance:
        context |= _of_reliance(reliance)
        tables += c.page_table(
            _("Reliance on advice"), RELIANCE, list(measures_of(reliance)), "advised_reliance"
        )
        tables += c.page_table(
            _("Confidence before and after advice"),
            CALIBRATIONS,
            list(calibrations_of(reliance)),
            "advised_calibration",
        )
    if teams:
        context |= _of_teams(teams)
        tables += c.page_table(
            _("Who decides, on the same trials"), DECISIONS, teams.deciders, "advised_deciders"
        )
        tables += c.page_table(
            _("Computed gain that is realised"), REALISED, teams.teams, "advised_realised"
        )
    if tests := present(own.advised_tests):
        tables += c.page_table(
            _("Tests of this chapter, corrected together"), TESTS, tests.questions, "advised_tests"
        )
    models = _models(accuracy, reliance)
    context["separated"] = [
        (caption, [_effect_name(one) for one in model.effects if one.separates])
        for caption, model in models
        if any(one.separates for one in model.effects)
    ]
    for caption, model in models:
        tables += _effects(caption, model)
    methods = [*_methods(accuracy, reliance, teams), *([tests.method] if tests else ())]
    return Page(context, tables, methods)


def brackets(found: Estimate, p_holm: float | None = None) -> str:
    """Interval and p of a difference of shares, in brackets after a blank; "" where there is neither."""
    parts = []
    if found.ci95 is not None:
        parts.append(_("95%% CI %(ends)s") % {"ends": f.points_interval(found.ci95)})
    if found.p is not None:
        parts.append(f.p_value(found.p))
    if p_holm is not None:
        parts.append(_("after Holm %(p)s") % {"p": f.p_value(p_holm)})
    return f" ({'; '.join(parts)})" if parts else ""


def after_holm(p: float | None) -> str:
    """In brackets after a blank; "" without a test."""
    return "" if p is None else _(" (after Holm %(p)s)") % {"p": f.p_value(p)}


def _of_accuracy(own: AccuracyWithAdvice) -> dict[str, Any]:
    by_name = {one.name: one for one in own.conditions}
    changes = [(one, change) for one in own.conditions if (change := present(one.change))]

    def brackets_of(one: Contrast) -> str:
        return brackets(one.accuracy, one.p_holm)

    return {
        "compared": [
            (
                one,
                by_name[one.name],
                by_name[one.reference],
                one.verdict.value,
                brackets_of(one),
            )
            for one in own.comparisons
        ],
        "changes": [
            (one, present(one.before), change, brackets(change)) for one, change in changes
        ],
        "assigned": list(_assigned(own, brackets_of)),
        "turned": list(_turned(own)),
        "times": [(one, time) for one in own.comparisons if (time := present(one.time))],
    }


def _assigned(
    own: AccuracyWithAdvice, brackets_of: Callable[[Contrast], str]
) -> Iterator[tuple[Analysis, Contrast, str, str]]:
    """Intention to treat: the analysis, a comparison, its brackets, and its verdict, "same" where that is the one of the analysed."""
    verdicts = {one.name: one.verdict for one in own.comparisons}
    for analysis, one in analyses_of(own):
        if analysis.code == ASSIGNED:
            is_same = one.verdict is verdicts.get(one.name)
            yield analysis, one, brackets_of(one), "same" if is_same else one.verdict.value


def _turned(own: AccuracyWithAdvice) -> Iterator[tuple[str, str]]:
    """Arms with another verdict if a rule, or all, exclude nobody: their name and what is done."""
    verdicts = {one.name: one.verdict for one in own.comparisons}
    for analysis, one in analyses_of(own):
        if analysis.code != ASSIGNED and one.verdict is not verdicts.get(one.name):
            yield one.name, analysis.what


def _of_reliance(own: Reliance) -> dict[str, Any]:
    advised = [one for one in own.conditions if one.is_advised]
    both = [(one, present(one.rair), present(one.rsr)) for one in advised]
    return {
        "relied": [(one, rair, rsr) for one, rair, rsr in both if rair and rsr],
        "detected": _those_with(advised, "detection"),
        "weighed": [
            (one, found, after_holm(found.p_holm)) for one, found in _those_with(advised, "weight")
        ],
        "calibrated": [
            (one, found, found.verdict.value, brackets(found.change_overconfidence, found.p_holm))
            for one, found in _those_with(advised, "calibration")
        ],
        "moved": list(_moved(present(own.switching))),
    }


def _those_with(
    conditions: Sequence[ConditionReliance], name: str
) -> list[tuple[ConditionReliance, Any]]:
    """The conditions that have this result, and it."""
    found = [(one, present(getattr(one, name))) for one in conditions]
    return [(one, result) for one, result in found if result]


def _moved(model: Moderators | None) -> Iterator[tuple[str, float, str]]:
    """Name of an effect on switching that is clear of 0 in its family, its size in log-odds, and the side of 0."""
    for one in model.effects if model else ():
        if one.verdict in (Verdict.ABOVE, Verdict.BELOW):
            yield one.name, one.estimate, one.verdict.value


def _of_teams(own: RealAndComputed) -> dict[str, Any]:
    best = next(one for one in own.deciders if one.best_minus is None)
    verdicts = {one.verdict for one in own.deciders if one is not best}
    near = [one for one in own.deciders if one.verdict is Verdict.UNCLEAR]
    return {
        "best": best,
        "best_name": WITHIN_SENTENCES[best.code],
        "is_few": Verdict.TOO_FEW in verdicts,
        "near": f.listing(
            [f"{WITHIN_SENTENCES[one.code]} ({f.percent(one.accuracy.value)})" for one in near]
        ),
        "realised": [
            (
                WITHIN_SENTENCES[one.method.value],
                one.realised,
                present(one.realised.share),
                brackets(one.realised.computed),
            )
            for one in own.teams
        ],
    }


def _models(
    accuracy: AccuracyWithAdvice | None, reliance: Reliance | None
) -> list[tuple[str, Moderators]]:
    found = (
        (_("What accuracy depends on"), accuracy and present(accuracy.model)),
        (
            _("What accuracy after advice depends on"),
            accuracy and present(accuracy.confidence_model),
        ),
        (_("What switching to the advice depends on"), reliance and present(reliance.switching)),
    )
    return [(caption, model) for caption, model in found if model]


def _effects(caption: str, model: Moderators) -> list[Table]:
    has_verdicts = any(one.verdict for one in model.effects)
    columns = (
        c.text(_("Effect"), _marked),
        c.number(_("Log-odds"), "estimate"),
        c.ci(_("95% CI"), "slope.ci95"),
        c.p_value("p", "slope.p"),
        *([c.p_value(_("p (Holm)"), "holm_p")] if has_verdicts else ()),
    )
    n = f.count(model.n_trials, "trial")
    return c.page_table(f"{caption} ({n})", columns, model.effects, "advised_effects")


def _marked(one: Effect) -> str:
    name = _effect_name(one)
    return _("%(effect)s (complete separation)") % {"effect": name} if one.separates else name


def _effect_name(one: Effect) -> str:
    """Names of arms stand for themselves."""
    known = EFFECT_NAMES.get(one.name)
    if known is not None:
        return str(known)
    start = f"{ADVICE_RIGHT} x "
    if one.name.startswith(start):
        return _("Right advice x %(arm)s") % {"arm": one.name.removeprefix(start)}
    return one.name


def _methods(
    accuracy: AccuracyWithAdvice | None,
    reliance: Reliance | None,
    teams: RealAndComputed | None,
) -> Sequence[str]:
    """Each once."""
    found: list[str] = [accuracy.method] if accuracy else []
    if reliance:
        found.append(reliance.method)
        for name in ("weight", "detection", "calibration"):
            found += [part.method for _one, part in _those_with(reliance.conditions, name)]
    for _caption, model in _models(accuracy, reliance):
        found += [model.rule, model.method]
    found += [teams.method] if teams else []
    for team in teams.teams if teams else ():
        found += [team.realised.method, team.rule]
    return list(dict.fromkeys(found))
