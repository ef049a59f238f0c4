"""The chapters on the mixed model and on power, as sentences, tables and captions."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis import columns as c
from analysis.codec import need
from analysis.presentation import FigureText, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.mixed_model.results import (
    ItemShare,
    Mixed,
    Power,
    PowerAnalysis,
    RandomEffects,
    two_digits,
)
from analysis.stats.power import Target
from analysis.stats.verdicts import Verdict
from lib import formatting as f
from lib.levels import ENOUGH, LEVEL

NONE_FOUND = 0.005  # a standard deviation below it is shown as 0
NO_FLOOR = 0.0005  # a width below it is shown as 0


def mixed_model_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Mixed).mixed_model)
    marginal = f.with_interval(
        f.percent(own.accuracy_marginal), f.share_interval(own.accuracy_marginal_ci95)
    )
    finding = (
        "In a logistic model with participants and test cases as random effects, a typical participant on a typical test case is right "
        f"with probability {f.percent(own.accuracy_typical)}; averaged over both, it is {marginal}."
    )
    # The model without variation between participants, where the test does not reject it
    test, without = own.lrt.participants, ""
    if own.sd_participants > 0 and test.p >= LEVEL and test.without is not None:
        without = (
            f"A likelihood ratio test against no variation between participants gives {f.p_value(test.p)}. In the model without this "
            f"variation, the SD of test cases is {f.number(test.without.sd_other, 3)}."
        )
    is_few = min(own.n_participants, own.n_items) < ENOUGH
    has_no_variation = min(own.sd_participants, own.sd_items) < NONE_FOUND
    columns = (c.text("Parameter", "0"), c.number("Estimate", "1"), c.ci("95% CI", "2"))
    rows = (
        ("Intercept, log-odds", own.intercept, own.intercept_ci95),
        ("SD of participants, log-odds", own.sd_participants, own.sd_participants_ci95),
        ("SD of test cases, log-odds", own.sd_items, own.sd_items_ci95),
    )
    return Page(
        text=paragraphs(
            finding,
            _which_vary_more(own, own.items_share),
            without,
            "There are too few participants or test cases for the intervals of this model, which are too narrow."
            if is_few
            else "",
            "An SD of 0 means that these trials show no variation, not that there is none."
            if has_no_variation
            else "",
            "" if own.converged else "The fit did not converge, so these values are approximate.",
        ),
        tables=c.page_table("Mixed-effects logistic model", columns, rows),
        methods=[own.method, own.items_share.method],
        finding=finding,
    )


def _which_vary_more(own: RandomEffects, found: ItemShare) -> str:
    items, people = f.number(own.sd_items), f.number(own.sd_participants)
    if found.value is None:
        return "According to this fit, neither test cases nor participants vary, so it is not defined which vary more."
    share = f.with_interval(f.percent(found.value, 0), f.share_interval(found.ci95))
    if found.verdict.is_clear:
        more = "more" if found.verdict is Verdict.ABOVE else "less"
        return f"Test cases vary {more} than participants (SD {items} against {people} log-odds): {share} of the two variances together."
    sds = f"The SD of test cases is {items} log-odds and that of participants {people}"
    if found.verdict is Verdict.TOO_FEW:
        return f"{sds}. There are too few of them to say which vary more."
    return f"{sds}, which is not clearly different: test cases have {share} of the two variances together."


def mixed_model_figure(own: RandomEffects) -> FigureText:
    people, items = f.number(own.sd_participants), f.number(own.sd_items)
    return FigureText(
        "Variation between people and between test cases",
        f"n = {f.count(own.n_trials, 'judgment')} by {f.count(own.n_participants, 'person', 'people')} on "
        f"{f.count(own.n_items, 'test case')}. Logistic model with random intercepts of participants and test cases; lines are 95% "
        "intervals where the fit gives them.",
        f"Standard deviations of the log-odds of a correct answer: between people {people}; between test cases {items}. Typical accuracy "
        f"{f.percent(own.accuracy_typical)}.",
    )


# --- Power.


@dataclass(frozen=True)
class Aim:
    """A wanted width in percentage points, and what it takes, to two digits; None where out of reach."""

    points: float
    n_participants: int | None
    n_participants_low: int | None
    n_participants_high: int | None
    n_items_needed: int | None
    is_out_of_reach: bool

    @classmethod
    def of(cls, target: Target, own: PowerAnalysis) -> "Aim":
        return cls(
            100 * target.width,
            two_digits(target.n_participants),
            two_digits(target.n_participants_low),
            two_digits(target.n_participants_high),
            two_digits(target.n_items_needed),
            own.is_out_of_reach(target),
        )


CURVE = (
    c.count("Participants", "n_participants"),
    c.shown("Width of the two-way 95% CI, points", lambda row: _points(row.ci_width)),
    c.shown("If test cases vary least (lower end)", lambda row: _points(row.ci_width_low)),
    c.shown("If they vary most (upper end)", lambda row: _points(row.ci_width_high)),
)


def power_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Power).power)
    aims = [Aim.of(target, own) for target in own.targets]
    has_ends = own.fitted.sd_items_ci95 is not None
    finding = _reached(own, [aim for aim in aims if not aim.is_out_of_reach], has_ends)
    floor = (
        f"With only the test cases of this study, no number of participants narrows the interval below {f.number(100 * own.floor_width, 1)} "
        "points, according to the fit. A narrower interval needs more test cases."
    )
    columns = (
        c.count("Width wanted, points", "points"),
        c.shown("Participants", lambda row: _participants(row.n_participants)),
        c.shown(
            "If test cases vary least (lower end)",
            lambda row: _participants(row.n_participants_low) if has_ends else f.DASH,
        ),
        c.shown(
            "If they vary most (upper end)",
            lambda row: _participants(row.n_participants_high) if has_ends else f.DASH,
        ),
        c.count("Test cases needed instead", "n_items_needed"),
    )
    needed = "Participants needed for a given width, by the variance formula"
    widths = "Width of the interval, by the variance formula"
    return Page(
        text=paragraphs(
            finding,
            *(_out_of_reach(aim) for aim in aims if aim.is_out_of_reach),
            "" if own.floor_width < NO_FLOOR else floor,
        ),
        tables=[
            *c.page_table(needed, columns, aims),
            *c.page_table(widths, CURVE, own.curve, "power_curve"),
        ],
        methods=[own.method],
        finding=finding,
    )


def _reached(own: PowerAnalysis, aims: Sequence[Aim], has_ends: bool) -> str:
    if not aims:
        return ""
    told = []
    for aim in aims:
        low, high = f.number(aim.n_participants_low, 0), f.number(aim.n_participants_high, 0)
        ends = f" ({low} to {high})"
        if aim.n_participants_high is None:
            ends = f" ({low} at the lower end, out of reach at the upper)"
        points = f"{f.number(aim.n_participants, 0)} for {f.number(aim.points, 0)} points"
        told.append(points + (ends if has_ends else ""))
    needed = "; ".join(told)
    return sentences(
        f"By the variance formula of the fitted mixed model, with about {_trials_each(own, 'trial')} per participant and "
        f"{f.count(own.n_items, 'test case')} in the study, a two-way 95% CI of a given width needs about this many "
        f"participants: {needed}.",
        "Brackets give the numbers for an SD of test cases at either end of its 95% CI."
        if has_ends
        else "",
    )


def _trials_each(own: PowerAnalysis, noun: str) -> str:
    return f.count(int(own.trials_per_participant + 0.5), noun)


def _out_of_reach(aim: Aim) -> str:
    """Or hardly within reach, where the fit gives a number that means little."""
    fitted, low, unless = aim.n_participants, aim.n_participants_low, ""
    if low is not None:
        unless = f" (about {f.count(low, 'participant')} at the lower end of the CI of their SD)"
    instead = ""
    if aim.n_items_needed is not None:
        cases = f.count(aim.n_items_needed, "test case")
        instead = f"; at the estimated variation, this width would need about {cases}"
    width = f"A width of {f.number(aim.points, 0)} points is"
    if fitted is not None:
        needs = f"it needs about {f.count(fitted, 'participant')} as fitted"
        return f"{width} hardly within reach with these test cases: {needs}{unless}{instead}."
    unless = unless and f" unless they vary less than estimated{unless}"
    return f"{width} out of reach with these test cases{unless}{instead}."


def _participants(n: int | None) -> str:
    return "out of reach" if n is None else f.number(n, 0)


def _points(width: float | None) -> str:
    return f.DASH if width is None else f.number(100 * width, 1)


def power_figure(own: PowerAnalysis) -> FigureText:
    sd_items, ci95 = own.fitted.sd_items, own.fitted.sd_items_ci95
    targets = "; ".join(target_text(target, own) for target in own.targets)
    return FigureText(
        "Participants needed for an interval of a given width",
        sentences(
            f"n = {_trials_each(own, 'judgment')} per person on {f.count(own.n_items, 'test case')}, as in this study. Expected width of "
            "the two-way 95% interval in percentage points, by the variance that the fitted mixed model implies; both axes logarithmic.",
            f"Band: width for a standard deviation of test cases ({f.number(sd_items)} log-odds) at either end of its 95% interval "
            f"({f.interval(ci95)})."
            if ci95
            else "",
        ),
        sentences(
            "Width of the 95% interval of people's accuracy by number of participants.",
            f"{targets}." if targets else "",
        ),
    )


def target_text(target: Target, own: PowerAnalysis) -> str:
    """At a line of the figure: a wanted width, and what it takes."""
    n, items = two_digits(target.n_participants), two_digits(target.n_items_needed)
    takes = "out of reach"
    if n is not None and own.is_near_floor(target.width):
        takes = "hardly within reach"
    elif n is not None:
        takes = f.count(n, "person", "people")
    elif items is not None:
        takes = f"needs {f.count(items, 'test case')}"
    return f"{f.compact(100 * target.width)} points: {takes}"
