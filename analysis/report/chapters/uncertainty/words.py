"""The chapters on crossed uncertainty, on differences by test case and on sensitivity, as sentences, tables and captions."""

from analysis import columns as c
from analysis.charts.texts import HOLLOW
from analysis.codec import need, present
from analysis.presentation import FigureText, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.uncertainty.results import (
    Components,
    Crossed,
    CrossedErrors,
    Differences,
    ItemDifferences,
    Row,
    Sensitivity,
)
from analysis.stats.verdicts import Verdict
from lib import formatting as f

ACCURACIES = (
    c.text("Who", "0"),
    c.percent("Accuracy", "1.accuracy"),
    c.share_ci("95% CI, crossed", "1.errors.ci95"),
    c.share_ci("95% CI, two-way", "1.errors.two_way_ci95"),
    c.points("Minus humans, points", "1.difference"),
    c.points_ci("95% CI, crossed", "1.difference_errors.ci95"),
    c.points_ci("95% CI, two-way", "1.difference_errors.two_way_ci95"),
)
CONCLUSIONS = {
    Verdict.ABOVE: "the models are more accurate",
    Verdict.BELOW: "the models are less accurate",
    Verdict.UNCLEAR: "this is no clear difference",
    Verdict.TOO_FEW: "there are too few participants or test cases to say whether they differ",
}


PARTS = (
    "At least one of the accuracies that this difference consists of has few right or few wrong decisions. The interval and p of the "
    "difference are therefore at least as cautious as the score intervals of these accuracies."
)


def crossed_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Crossed).crossed)
    finding = []
    if gap := own.difference:
        # With the interval that the verdict goes by
        value = f.with_interval(
            f"{f.points(gap.mean)} points", f.points_interval(gap.errors.best_ci95)
        )
        finding.append(
            f"For other participants and other test cases, the difference (models minus humans) is {value}; {CONCLUSIONS[gap.verdict]}."
        )
        if gap.errors.two_way_ci95 and gap.errors.ci95:
            resampled = (
                f"If participants and test cases are resampled together, the interval is {f.points_interval(gap.errors.ci95)} points "
                f"({f.count(own.resamples, 'resample')}, seed {own.seed}). Its width is that of standard errors clustered by participant "
                "and by test case, because resampling both exaggerates the noise of single trials."
            )
            finding.append(PARTS if gap.errors.from_parts else resampled)
    # A single model is its mean
    has_mean = own.models_mean is not None and own.models_mean.n != 1
    rows: list[tuple[str, Row | None]] = [
        ("Humans", own.human_row),
        ("Models, mean", own.mean_row if has_mean else None),
        *((model.label, row) for model, row in own.model_rows),
    ]
    known = [row for row in rows if row[1]]
    caption = "Crossed bootstrap and two-way intervals"
    return Page(
        text=paragraphs(*finding, _components(own.components) if own.components else ""),
        tables=c.page_table(caption, ACCURACIES, known, "crossed"),
        methods=[own.method],
        finding=sentences(*finding),
    )


def _components(found: Components) -> str:
    if not (found.participants_only_se and found.items_only_se):
        return ""  # With one participant or one item nothing is drawn anew
    points = f.percentage_points
    two_way = "" if found.two_way_se is None else f" (two-way: {points(found.two_way_se)})"
    alike = [
        name
        for name, se in (
            ("participants", found.participants_only_se),
            ("test cases", found.items_only_se),
        )
        if se < found.binomial_se
    ]
    less = (
        f" Where {' and '.join(alike)} differ less than by chance, it is below that."
        if alike
        else ""
    )
    return (
        f"Resampling only participants gives the human accuracy a standard error of {points(found.participants_only_se)} points, only test "
        f"cases {points(found.items_only_se)}, both together {points(found.crossed_se)}{two_way}. These standard errors do not add up, because "
        f"each includes the noise of single trials, which alone would give {points(found.binomial_se)}.{less}"
    )


def crossed_figure(own: CrossedErrors, *, has_two_way: bool, has_chat: bool) -> FigureText:
    judgments = f"{f.count(own.humans.n_trials, 'judgment')}, " if own.humans else ""
    models = f.count(len(own.models), "model")
    told = f"Accuracy of {models}"
    if own.humans:
        ci95 = f.share_interval(own.humans.errors.ci95)
        told = f.with_interval(
            f"People {f.percent(own.humans.accuracy)}", ci95, "95% interval by resampling"
        )
        if gap := own.difference:
            told += f"; models minus people {f.percentage_points(gap.mean)} percentage points"
            if gap.errors.ci95:
                low, high = map(f.percentage_points, gap.errors.ci95)
                told += f", 95% interval by resampling {low} to {high}"
    return FigureText(
        "Accuracy with participants and test cases resampled together",
        sentences(
            f"n = {judgments}{models}.",
            f"Thick lines are 95% percentile intervals of {f.count(own.resamples, 'resample')} of participants and test cases together "
            f"(seed {own.seed}).",
            "They are scaled to the two-way cluster-robust error. The thin line below is the two-way cluster-robust interval: Student's t, or a "
            "score interval for accuracies. Its variance is that of single judgments, and what participants and test cases each add to it. "
            "For a model's own accuracy, it is only the variance between test cases."
            if has_two_way
            else "",
            "Where a mean or a difference consists of accuracies with few right or few wrong decisions, both lines are at least as wide as their "
            "score intervals make it."
            if has_two_way and own.has_parts
            else "",
            HOLLOW if has_chat else "",
        ),
        f"{told}.",
    )


# --- Differences by test case.


def item_differences_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Differences).item_differences)
    columns = (
        c.text("Test case", "item"),
        c.text("Subfield", "subfield"),
        c.percent("Humans", "humans", digits=0),
        c.percent("Models", "models_mean", digits=0),
        c.points("Difference, points", "difference", digits=0),
        c.p_value("p", "p"),
        c.p_value("q (FDR)", "q"),
    )
    caption = "Test cases with the largest differences, those significant by q first"
    n = own.n_significant_fdr
    finding = (
        f"Of {f.count(own.n_items, 'test case')} tested one by one, {f.number(n, 0)} {f.verb(n, 'shows', 'show')} a difference between humans "
        f"and models at a false discovery rate of 5%, {f.number(own.n_significant_holm, 0)} after Holm's correction. With few trials or few "
        "models per test case, most differences go undetected, and models trained on the same texts are not independent. This analysis "
        "suggests test cases to examine; it does not prove anything about a single one."
    )
    return Page(
        text=paragraphs(finding),
        tables=c.page_table(caption, columns, own.items, "item_differences"),
        methods=[own.method],
        finding=finding,
    )


def item_differences_figure(
    own: ItemDifferences, n_items: int, n_above: int, n_drawn: int | None
) -> FigureText:
    """n_above: test cases on which the models do better; n_drawn: None where all are drawn."""
    cases, n = f.count(n_items, "test case"), own.n_significant_fdr
    return FigureText(
        "Differences between models and people, test case by test case",
        sentences(
            f"n = {cases}.",
            f"{f.number(n_drawn, 0)} of them are drawn, evenly spaced." if n_drawn else "",
            "Difference: share of models that are right minus share of judgments that are right.",
            f"Coloured: q < 0.05 (Benjamini and Hochberg); {f.number(n, 0)} by false discovery rate, {f.number(own.n_significant_holm, 0)} by "
            "Holm.",
            "Lines are 95% intervals (Newcombe), not corrected.",
        ),
        f"Models do better than people in {f.number(n_above, 0)} of {cases}; after correction for many tests, {f.number(n, 0)} "
        f"{f.verb(n, 'differs', 'differ')}.",
    )


# --- Sensitivity.

NO_CHANGE = 1e-12  # of sums in another order
CHANGE_OF_MODELS = (
    "The change of the models' accuracy is the mean, over the models that keep a test case, of the accuracy under the choice minus that of the "
    "same model as analysed."
)


def sensitivity_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Sensitivity).sensitivity) or ()
    columns = (
        c.text("Analysis", "what"),
        c.count("Test cases", "n_items"),
        c.percent("Humans", "humans.accuracy"),
        c.points("Change", "difference_humans"),
        c.count("Models", "models_mean.n"),
        c.percent("Models, mean", "models_mean.mean"),
        c.points("Change", "difference_models"),
    )
    changes = [
        abs(change)
        for choice in found
        for change in (choice.difference_humans, choice.difference_models)
        if change is not None
    ]
    finding = ""
    if changes and max(changes) < NO_CHANGE:
        finding = "None of the choices listed here changes an accuracy."
    elif changes:
        finding = (
            "Among these choices, the largest change of the humans' or the models' accuracy is "
            f"{f.percentage_points(max(changes))} percentage points."
        )
    fewer = [
        f"“{choice.what}” leaves no test case of {f.count(lost, 'model')}; the change there is that of the other {f.number(choice.models_mean.n, 0)}."
        for choice in found[1:]
        if choice.models_mean
        and found[0].models_mean
        and (lost := found[0].models_mean.n - choice.models_mean.n) > 0
    ]
    return Page(
        text=paragraphs(finding, sentences(*fewer)),
        tables=c.page_table("Main results under other choices", columns, found, "sensitivity"),
        methods=[
            CHANGE_OF_MODELS,
        ],
        finding=finding,
    )
