"""The chapters on calibration and on expertise, as sentences, tables and captions."""

from collections.abc import Iterator, Sequence
from typing import Any

from analysis import columns as c
from analysis.charts.texts import HOLLOW
from analysis.codec import MissingResult, need, present
from analysis.presentation import FigureText, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.confidence.results import (
    S3,
    Calibration,
    ConfidenceFits,
    Expertise,
    HumanCalibration,
    ModelCalibration,
    Ratings,
    RatingSlope,
)
from analysis.report.families import family_sentences, too_few
from analysis.stats.calibration import Binned, CalibrationError
from analysis.stats.families import Family
from analysis.stats.verdicts import Verdict
from lib import formatting as f

FEWEST_PER_BIN = 4
ASKED = (
    "For models that were asked and not scored, the log-odds of their answers take the place of the difference of perplexities. Test cases on which "
    "a model's answers favour neither version are left out for that model."
)


REGRESSIONS = (
    # Rows: who, fits, what the line over bins is of
    c.text("Who", "0"),
    c.count("n", "2.n"),
    c.coefficient("r of the bins", "2.line.r"),
    c.p_value("p", "2.line.p"),
    c.compact("Logistic slope", "1.logistic.slope"),
    c.compact_ci("95% CI", "1.slope_ci95"),
    c.p_value("p of the slope after Holm", "1.slope_holm_p"),
)
ERRORS = (
    c.text("Who", "0"),
    c.count("n", "1.n"),
    c.number("Error", "1.value", digits=3),
    c.ci("95% CI", "1.ci95", digits=3),
    c.number("If calibrated, mean", "1.when_calibrated", digits=3),
    c.number("If calibrated, 97.5th percentile", "1.when_calibrated_q975", digits=3),
    c.count("Bins", "1.n_bins"),
)
HUMANS_OVER_CONFIDENCE = {
    Verdict.ABOVE: "Human accuracy rose with confidence",
    Verdict.BELOW: "Human accuracy fell with confidence",
    Verdict.UNCLEAR: "Human accuracy showed no clear slope over confidence",
    Verdict.TOO_FEW: "Too few participants or test cases to say whether human accuracy changed with confidence",
}
MODEL_OVER_DIFFERENCE = {
    Verdict.ABOVE: "accuracy rises with its confidence (full-sample logistic fit)",
    Verdict.BELOW: "accuracy falls with its confidence (full-sample logistic fit)",
    Verdict.UNCLEAR: "accuracy shows no clear slope over its confidence (full-sample logistic fit)",
    Verdict.TOO_FEW: "there are too few test cases to say whether accuracy changes with confidence",
}


def is_drawn(binned: Binned) -> bool:
    """False if a bin has too few judgments for its interval to say anything."""
    return binned.n >= FEWEST_PER_BIN * len(binned.bins)


def not_drawn(fits: Sequence[tuple[str, Binned]]) -> str:
    """Sentence on the bins that have no figure; "" if there are none. fits: with a name of each."""
    names = [name for name, binned in fits if not is_drawn(binned)]
    if not names:
        return ""
    return (
        f"Not drawn, because their bins have fewer than {FEWEST_PER_BIN} judgments each: {f.listing(names)}. "
        "Their regressions are in the table."
    )


def calibration_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Calibration).calibration)
    humans = present(own.humans)
    binned = present(humans.binned) if humans else None
    if not binned:
        humans = None
    # A slope and an error need no bins of a line, which few test cases do not give
    models = [m for m in own.models if any(map(present, (m.binned, m.logistic, m.ece)))]
    finding = _people(binned, present(humans.slope)) if humans and binned else ""
    rows: list[tuple[str, Any, Any]] = []
    groups: list[tuple[str, ConfidenceFits]] = [(model.label, model) for model in models]
    if humans:
        rows.append(("Humans", humans, humans.binned))
        if untouched := present(humans.without_untouched):
            rows.append(("Humans, without untouched sliders", None, untouched))
        groups.insert(0, ("Humans", humans))
    rows += [(model.label, model, model.binned) for model in models]
    errors = [(who, ece) for who, fits in groups if (ece := present(fits.ece))]
    fitted = [row for row in own.table_s3 if present(row.fit)]
    # By reason; a model without a slope is not named again for its bins and its error
    without: dict[tuple[str, str], list[str]] = {}
    for model in own.models:
        if isinstance(model.logistic, MissingResult):
            without.setdefault(("is no slope", model.logistic.reason), []).append(model.label)
        elif isinstance(model.binned, MissingResult):
            without.setdefault(("are no bins", model.binned.reason), []).append(model.label)
        elif isinstance(model.ece, MissingResult):
            without.setdefault(("is no calibration error", model.ece.reason), []).append(
                model.label
            )
    for row in own.table_s3:
        if isinstance(row.fit, MissingResult):
            without.setdefault(("is no row in Table S3", row.fit.reason), []).append(row.label)
    lacking = [
        f"There {what} of {f.listing(names)}. {why}" for (what, why), names in without.items()
    ]
    slopes = "Confidence and accuracy: regression over bins, and the full-sample logistic fit"
    error = "Expected calibration error, and the error that chance alone produces under perfect calibration"
    s3 = "The BrainBench paper's Table S3 procedure; its t is not a valid test because the samples overlap"
    return Page(
        text=paragraphs(
            finding,
            not_drawn([(who, fit) for who, fits in groups if (fit := present(fits.binned))]),
            _models(models, own.models_tests),
            sentences(*lacking),
            ASKED if source.of(Accuracy).has_asked else "",
        ),
        tables=[
            *c.page_table(slopes, REGRESSIONS, rows, "calibration_bins"),
            *c.page_table(error, ERRORS, errors),
            *c.page_table(s3, S3, fitted, "table_s3"),
        ],
        methods=list(_methods(humans, models, own.table_s3_note)),
        finding=finding,
    )


def _people(binned: Binned, slope: RatingSlope | None) -> str:
    brackets = (
        f"r = {f.coefficient(binned.line.r)} over {f.count(len(binned.bins), 'bin')}; "
        f"{f.count(binned.n, 'trial')}"
    )
    if not slope:
        return f"Human accuracy is plotted against confidence ({brackets})."
    fit = slope.slope
    return (
        f"{HUMANS_OVER_CONFIDENCE[slope.direction]} ({brackets}; logistic slope {f.compact(fit.slope)} log-odds "
        f"[95% CI {f.compact_interval(fit.ci95)}, {f.p_value(fit.p)}, after Holm {f.p_value(slope.holm_p)}] per point of confidence)."
    )


def _models(models: Sequence[ModelCalibration], tests: Family | None) -> str:
    directions = [model.direction for model in models if model.direction]
    if not directions:
        return ""
    if len(directions) == 1:
        return f"For the one language model, {MODEL_OVER_DIFFERENCE[directions[0]]}."
    counted = f.count(len(directions), "model")
    if set(directions) == {Verdict.TOO_FEW}:
        return f"For {counted}, there are too few test cases to say whether accuracy changes with confidence."
    n_rising, n_falling = (directions.count(side) for side in (Verdict.ABOVE, Verdict.BELOW))
    return sentences(
        f"For {n_rising} of {counted}, accuracy clearly rises with the model's confidence, and for {n_falling} it clearly falls (full-sample "
        "logistic fit over the difference of perplexities or, if the model was asked, over its log-odds).",
        too_few(directions),
        family_sentences(tests) if tests else "",
    )


def _methods(
    humans: HumanCalibration | None, models: Sequence[ModelCalibration], s3_note: str
) -> Iterator[str]:
    if humans:
        if binned := present(humans.binned):
            yield binned.bin_rule
        if slope := present(humans.slope):
            yield slope.slope.method
    people = present(humans.ece) if humans else None
    # They differ between models in numbers only
    model = next((ece for m in models if (ece := present(m.ece))), None)
    errors: list[tuple[str, CalibrationError]] = []
    errors += [("Humans", people)] if people else []
    errors += [("Models", model)] if model else []
    yield from (error.method for _who, error in errors[:1])
    yield from (f"{who}: {error.ci_method}" for who, error in errors)
    yield s3_note
    yield from (f"Bins of the calibration error: {error.rule}." for _who, error in errors)


def calibration_humans_figure(binned: Binned) -> FigureText:
    bins, least, most = f.count(len(binned.bins), "bin"), binned.bins[0], binned.bins[-1]
    accuracies = [one.accuracy for one in binned.bins]
    low, high = f.percent(min(accuracies), 0), f.percent(max(accuracies), 0)
    r, p = f.number(binned.line.r), f.p_value(binned.line.p)
    return FigureText(
        "People's accuracy at each level of their confidence",
        f"n = {f.count(binned.n, 'judgment')} in {bins}. Vertical lines are 95% binomial intervals; the sloping line is the linear "
        f"regression over bins, not truncated at 0 or 100% (r = {r}, {p}); the dashed line is chance.",
        f"People's accuracy is {f.percent(least.accuracy, 0)} in the least confident bin and {f.percent(most.accuracy, 0)} in the most "
        f"confident, and between {low} and {high} over all bins; r = {r}, {p} over {bins}.",
    )


def calibration_models_figure(
    fits: Sequence[Binned], *, has_asked: bool, has_chat: bool
) -> FigureText:
    """fits: one of each model that is shown."""
    models = f.count(len(fits), "model")
    cases = f"on up to {f.count(max(fit.n for fit in fits), 'test case')}"
    # r is not defined where a model is right in as many cases of each bin
    known = [fit.line.r for fit in fits if f.is_known(fit.line.r)]
    if known:
        low, high = f.number(min(known)), f.number(max(known))
        span = low if low == high else f"from {low} to {high}"
        n_rising = sum(r > 0 for r in known)
        shown = f"The correlation over bins is positive in {n_rising} of {models}: r {span}."
    else:
        shown = f"Accuracy over confidence of {models}."
    return FigureText(
        "Language models' accuracy at each level of their confidence",
        sentences(
            f"n = {models} {cases}, in bins of equal size."
            if len(fits) == 1
            else f"n = {models}, each {cases}, in bins of equal size.",
            "Confidence is the absolute difference of the two perplexities.",
            "For models that were asked, it is the absolute log-odds of their answers."
            if has_asked
            else "",
            "Vertical lines are 95% binomial intervals; the sloping line is the linear regression over bins, not truncated at 0 or 100%; "
            "the dashed line is chance.",
            HOLLOW if has_chat else "",
        ),
        shown,
    )


def table_s3_figure(
    most: int, n_models: int, slopes: Sequence[float], *, has_chat: bool
) -> FigureText:
    """most: observations in a fit; slopes: of the fits to all data."""
    n_positive = sum(slope > 0 for slope in slopes)
    return FigureText(
        "Confidence as a predictor of correct answers",
        sentences(
            f"n = {f.count(most, 'observation')} at most per fit, {f.count(n_models, 'model')}. Dots: maximum likelihood on all data "
            "with 95% intervals, of people for other participants and test cases. Triangles: the BrainBench paper's procedure, the "
            "mean of five penalised fits, each to a random 80% of the data; the penalty shrinks the coefficient. Its five samples "
            "overlap, so it has no valid interval.",
            HOLLOW if has_chat else "",
        ),
        f"The coefficient of confidence is positive in {n_positive} of {f.count(len(slopes), 'fit')} to all data.",
    )


# --- Expertise.


def subfield_name(subfield: str) -> str:
    return subfield or "not stated"


DISTRIBUTIONS = (
    c.text("Subfield", lambda row: subfield_name(row.subfield)),
    c.count("Trials", "ratings.n"),
    c.number("Mean", "ratings.mean", digits=1),
    c.number("SD", "ratings.sd", digits=1),
    c.count("Median", "ratings.median"),
    c.ci("Quartiles", lambda row: (row.ratings.q1, row.ratings.q3), digits=0),
    c.number("80th percentile", "ratings.p80", digits=1),
    c.ci("95% CI", "ratings.p80_ci95", digits=0),
)
SLOPES = (
    c.text("Subfield", lambda row: subfield_name(row.subfield)),
    c.count("Trials", "slope.n"),
    c.number("Slope, log-odds per point", "slope.slope", digits=4),
    c.ci("95% CI, two-way", "slope.ci95", digits=4),
    c.p_value("p", "slope.p"),
    c.p_value("p after Holm", "holm_p"),
)
OVER_EXPERTISE = {
    Verdict.ABOVE: "Over trials, accuracy rises with expertise",
    Verdict.BELOW: "Over trials, accuracy falls with expertise",
    Verdict.TOO_FEW: "There are too few participants or test cases to say whether accuracy changes with expertise",
    Verdict.UNCLEAR: "Over trials, accuracy shows no clear direction over expertise",
}


def expertise_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Expertise).expertise)
    slope, subfields = present(own.slope), present(own.slopes_by_subfield)
    rated = own.distributions[-1].ratings
    q1, q3 = f.number(rated.q1, 0), f.number(rated.q3, 0)
    spread = (
        "at least half of the ratings were about the same"
        if q1 == q3
        else f"half of the ratings lay between {q1} and {q3}"
    )
    finding = f"Self-rated expertise had a median of {f.number(rated.median, 0)} of 100 over {f.count(rated.n, 'trial')}; {spread}."
    over_bins, over_trials, within = "", "", ""
    if (binned := present(own.calibration[0].binned)) and f.is_known(binned.line.r):
        over_bins = (
            f"Over {f.count(len(binned.bins), 'bin')} of expertise its correlation with accuracy was "
            f"r = {f.coefficient(binned.line.r)} ({f.p_value(binned.line.p)}); with so few bins, this is a description and not a test."
        )
    if slope:
        fit = slope.slope
        over_trials = (
            f"{OVER_EXPERTISE[slope.direction]} (slope {f.number(fit.slope, 4)} log-odds per point, 95% CI {f.interval(fit.ci95, 4)}, "
            f"{f.p_value(fit.p)}, after Holm {f.p_value(slope.holm_p)}; {f.count(fit.n, 'trial')})."
        )
    if subfields and (together := family_sentences(subfields.tests)):
        few = too_few([one.direction for one in subfields.subfields], "participants or test cases")
        described = {row.subfield for row in own.distributions[:-1]}  # the last is of all
        without = [
            subfield_name(name)
            for name in sorted(described - {row.subfield for row in subfields.subfields})
        ]
        within = sentences(
            f"Slopes of accuracy over expertise within subfields: {together}",
            few,
            f"There is no slope within {f.listing(without)}, because there are too few participants or test cases, or expertise or accuracy "
            "does not vary enough."
            if without
            else "",
        )
    return Page(
        text=paragraphs(finding, over_bins, over_trials, within),
        tables=[
            *c.page_table(
                "Self-rated expertise, 1 to 100",
                DISTRIBUTIONS,
                own.distributions,
                "expertise_histogram",
            ),
            *c.page_table(
                "Accuracy over expertise within subfields",
                SLOPES,
                subfields.subfields if subfields else (),
            ),
        ],
        methods=[
            *(one.method for one in own.p80_by_subfield[:1]),
            *([slope.slope.method] if slope else ()),
            *([subfields.tests.method] if subfields else ()),
        ],
        finding=finding,
    )


def expertise_figure(groups: Sequence[Ratings]) -> FigureText:
    most = f.count(max(own.ratings.n for own in groups), "judgment")
    percentiles = "; ".join(
        f"{subfield_name(own.subfield)} {f.number(own.ratings.p80, 0)}" for own in groups
    )
    return FigureText(
        "Self-rated expertise by subfield",
        f"n = {most}, each with its own rating. The dashed line is the 80th percentile. Bars are shares of all ratings in the panel, "
        "so there is no interval.",
        f"Histograms of self-rated expertise from 1 to 100. 80th percentiles: {percentiles}.",
    )


def expertise_calibration_figure(panels: Sequence[tuple[str, Binned]]) -> FigureText:
    """panels: their names, and what they show."""
    most = f.count(max(binned.n for _name, binned in panels), "judgment")
    bins = f.count(len(panels[0][1].bins), "bin")
    correlations = "; ".join(f"{name} {f.number(binned.line.r)}" for name, binned in panels)
    return FigureText(
        "Accuracy at each level of expertise",
        f"n = {most} in {bins} of equal size per panel. Vertical lines are 95% binomial intervals; the sloping line is the linear "
        "regression over bins; the dashed line is chance.",
        f"Accuracy over self-rated expertise in bins; correlation r over the bins: {correlations}.",
    )
