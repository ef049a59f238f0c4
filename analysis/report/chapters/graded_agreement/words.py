"""The chapter on the agreement of graders, as sentences, tables and captions."""

from collections.abc import Iterator, Sequence

from analysis import columns as c
from analysis.codec import MissingResult, present
from analysis.presentation import FigureText, Table, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.graded_agreement.results import (
    FIRST,
    PEOPLE,
    SECOND,
    Confusion,
    CorrectedModels,
    GradedAgreement,
    Reliability,
    Thresholds,
    Varied,
    corrections,
)
from analysis.report.chapters.graded_rates.captions import OfAnswers, answered_by, caption, listed
from analysis.report.chapters.graded_rates.words import is_telling, rate_columns
from analysis.stats.graded.agreement import Agreement
from analysis.stats.graded.judge_bias import Bias
from analysis.stats.graded.sensitivity import Abstaining
from analysis.stats.verdicts import Verdict
from lib import formatting as f

NAMES = {"rqr": "Response quality", "sr": "Safety", "ar": "Abstention"}
READINGS = {
    Abstaining.RUBRIC: "as in the rubric",
    Abstaining.NEGATIVE: "also any points below 0",
    Abstaining.UNPARSED: "also unreadable grades",
    Abstaining.NO_TEXT: "also answers without a text",
}


CORRECTED = (
    c.text("Respondent", "0.label"),
    c.text("Rate", lambda row: NAMES[row[1]]),
    c.count("Graded by people", "0.found.rqr.n_sample"),
    c.percent("By the judge", "2.judge.value"),
    c.percent("By people", "2.human.value"),
    c.percent("Corrected", "2.value"),
    c.share_ci("95% CI", "2.ci95"),
)


def graded_agreement_page(source: SourceResults, about: About) -> Page:
    found = source.of(GradedAgreement)
    text: list[str] = []
    tables: list[Table] = []
    methods: list[str] = []
    finding = ""
    if own := present(found.graded_agreement):
        finding = _judge_and_people(own)
        text += [finding, *_two_people_and_biases(own)]
        influences = (
            ("for each doubling of an answer's length", present(own.by_length)),
            ("for answers from its model family", present(own.own_family)),
        )
        biases = [row for row in influences if row[1]]
        tables += c.page_table("Agreement between graders", PAIRS, own.pairs, "graded_pairs")
        tables += c.page_table("Influences on the judge", BIASES, biases)
        pair = own.pairs[0]
        told = (pair.kappa, pair.fate_kappa, pair.alpha, own.by_length, own.own_family)
        known = (one for one in told if not isinstance(one, MissingResult))
        methods += [own.method, *(one.method for one in known)]
    if corrected := present(found.graded_corrected):
        text.append(_most_corrected(corrected))
        if corrected.other_rubric:
            others = ", ".join(corrected.other_rubric)
            text.append(
                f"Not corrected, because the judge and people used different rubrics: {others}."
            )
        if n := sum(model.n_contested for model in corrected.models):
            text.append(
                f"On {f.count(n, 'answer')} of the sample, two people disagree, and no third grade has settled it. "
                "The first grade is used."
            )
        title = "Rates corrected by people's grades"
        tables += c.page_table(title, CORRECTED, corrections(corrected), "graded_corrected")
        methods.append(corrected.method)
    if thresholds := present(found.graded_thresholds):
        text.append(_quadrants(thresholds))
        if any(one.rqr.is_unclustered for model in thresholds.models for one in model.thresholds):
            text.append(
                "† Answers from fewer than three templates: the interval treats answers as independent and is too narrow."
            )
        tables += _thresholds_tables(thresholds)
        methods.append(thresholds.method)
    return Page(text=paragraphs(*text), tables=tables, methods=methods, finding=finding)


# --- Agreement.


def _judge_and_people(own: Reliability) -> str:
    pair = next((pair for pair in own.pairs if pair.second == PEOPLE), None)
    if pair is None:
        return ""
    kappa, of_outcomes = _telling(pair.kappa), _telling(pair.fate_kappa)
    return sentences(
        f"{pair.first} and people gave the same points to {f.percent(pair.share_equal)} of {f.count(pair.n, 'answer')}; "
        f"for {f.percent(pair.share_same_fate)} they agreed on the outcome (good, abstained, or bad).",
        f"Beyond chance, they agree by a weighted kappa of {_with_interval(kappa)}."
        if kappa
        else "",
        "For the outcomes on which response quality and safety are based (good, abstained, or bad), kappa is "
        f"{_with_interval(of_outcomes)}."
        if of_outcomes
        else "",
    )


def _two_people_and_biases(own: Reliability) -> Iterator[str]:
    pair = next((pair for pair in own.pairs if pair.first == FIRST), None)
    if pair:
        alpha = _telling(own.people_alpha)
        yield sentences(
            f"Two people gave the same points to {f.percent(pair.share_equal)} of {f.count(pair.n, 'answer')}.",
            f"Krippendorff's alpha among people is {_with_interval(alpha)}." if alpha else "",
        )
    biases = []
    if by_length := present(own.by_length):
        changes = (
            f"the difference between the judge's and people's points changes by {_points(by_length)}"
            if own.n_by_length == 1
            else f"the {own.n_by_length} judges' points minus people's points change by {_points(by_length)}, within each judge"
        )
        biases += [f"With each doubling of an answer's length, {changes}.", _unclear(by_length)]
    if own_family := present(own.own_family):
        biases += [
            (
                "For answers from a judge's own model family, the judge's points minus people's points differ by "
                f"{_points(own_family)} from those for other answers."
            ),
            _unclear(own_family),
        ]
    yield sentences(*biases)


def _telling(found: Agreement | MissingResult) -> Agreement | None:
    known = present(found)
    return known if known and is_telling(known.ci95, -1, 1) else None


def _with_interval(found: Agreement) -> str:
    return f.with_interval(f.coefficient(found.value), f.coefficient_interval(found.ci95))


def _points(bias: Bias) -> str:
    return f.with_interval(f.number(bias.estimate), f.interval(bias.ci95))


def _unclear(bias: Bias) -> str:
    if bias.verdict is Verdict.UNCLEAR:
        return "This is not clearly different from zero."
    if bias.verdict is Verdict.TOO_FEW:
        return "There are too few templates or questions without one to say whether this differs from zero."
    return ""


def _named(name: str) -> str:
    return {PEOPLE: "people", FIRST: "a first person", SECOND: "a second"}.get(name, name)


PAIRS = (
    c.text("Grades of", lambda row: _named(row.first)),
    c.text("and of", lambda row: _named(row.second)),
    c.count("Answers", "n"),
    c.percent("Equal", "share_equal"),
    c.percent("Same outcome", "share_same_fate"),
    c.number("Difference, points", "mean_difference"),
    c.coefficient("Weighted kappa", "kappa.value"),
    c.coefficient_ci("95% CI", "kappa.ci95"),
    c.coefficient("Kappa of outcomes", "fate_kappa.value"),
    c.coefficient_ci("95% CI", "fate_kappa.ci95"),
    c.coefficient("Alpha", "alpha.value"),
    c.coefficient_ci("95% CI", "alpha.ci95"),
)
BIASES = (
    c.text("The judge compared with people", "0"),
    c.number("Points", "1.estimate"),
    c.ci("95% CI", "1.ci95"),
    c.p_value("p", "1.p"),
    c.p_value("p after Holm", "1.p_holm"),
    c.count("Grades", "1.n"),
)


def confusion_figure(own: OfAnswers, table: Confusion) -> FigureText:
    n = sum(sum(row) for row in table.counts)
    n_equal = sum(row[k] for k, row in enumerate(table.counts))
    answers = f.count(n, "answer")
    return FigureText(
        "Points by the judge and by people",
        caption(
            own,
            f"n = {answers} that {table.judge} and people graded. Numbers are answers; shades are shares of the answers to which "
            "people gave that many points. Counts have no interval.",
        ),
        f"Of {answers}, {f.number(n_equal, 0)} have the same points from both.",
    )


# --- Rates corrected for the judge's errors.


def _most_corrected(own: CorrectedModels) -> str:
    # The model whose response quality the correction moves most, where it moves it by what can be told
    model = max(own.models, key=lambda model: abs(model.found.rqr.error), default=None)
    if model is None or not is_telling(model.found.rqr.ci95, 0, 1):
        return ""
    rate = model.found.rqr
    if f.percent(rate.judge.value) == f.percent(rate.value):
        return ""
    rates = (
        f"is {f.percent(rate.judge.value)} by the judge and {f.percent(rate.value)} corrected "
        f"({f.share_interval(rate.ci95)})"
    )
    return sentences(
        "Where people graded a sample, the rates can be corrected for the judge's errors.",
        f"The correction changes {model.label} most: its response quality {rates}."
        if len(own.models) > 1
        else f"The response quality of {model.label} {rates}.",
    )


def corrected_figure(own: CorrectedModels) -> FigureText:
    n_sample = sum(model.found.rqr.n_sample for model in own.models)
    n_text = sum(model.found.rqr.n_text for model in own.models)
    return FigureText(
        "Rates corrected for the judge's errors",
        caption(
            own,
            f"n = {f.count(n_sample, 'answer')} that people graded, of {f.number(n_text, 0)} with a text.",
            "Hollow: by the judge; diamonds: by people, estimated for all texts from the sample of answers that they graded; "
            "filled: by the judge, corrected by people. Lines are 95% intervals clustered by template.",
            "Not shown, because the judge and people used different rubrics: "
            f"{', '.join(own.other_rubric)}."
            if own.other_rubric
            else "",
        ),
        listed(
            f"{model.label}: quality {f.percent(model.found.rqr.judge.value, 0)} by the judge, "
            f"{f.percent(model.found.rqr.value, 0)} corrected"
            for model in own.models
        ),
    )


# --- Rates under other thresholds.


def _quadrants(own: Thresholds) -> str:
    """Sentence on respondents that another rule moves to another quadrant."""
    moving = [model for model in own.models if len(model.quadrants) > 1]
    if not moving:
        return "All respondents stay in their quadrant under every other threshold of points and definition of abstention."
    n = len(moving)
    where = "; ".join(f"{model.label} ({', '.join(model.quadrants)})" for model in moving)
    return (
        f"With another threshold of points, or another definition of abstention, {f.count(n, 'respondent')} would move to another "
        f"quadrant of quality and safety. All quadrants in which {f.verb(n, 'this respondent', 'each of them')} can be, including "
        f"the present one: {where}."
    )


def _thresholds_tables(own: Thresholds) -> list[Table]:
    """Quality and safety under each threshold of the points, the rubric's own marked; safety and abstention by each reading."""
    respondent = c.text("Respondent", "0.label")
    good, safe, abstained = (rate_columns(name, f"1.{rate}") for rate, name in NAMES.items())
    by_points = [
        (model, one)
        for model in own.models
        for one in model.thresholds
        if one.abstaining == Abstaining.RUBRIC
    ]
    by_reading = [(model, one) for model in own.models for one in model.readings]
    return [
        *c.page_table(
            "Rates under other thresholds (* the rubric's)",
            (
                respondent,
                c.shown(
                    "Good from", lambda row: f.percent(row[1].good_from, 0) + " *" * row[1].is_rule
                ),
                *good,
                *safe,
            ),
            by_points,
            "graded_thresholds",
        ),
        *c.page_table(
            "Rates under other definitions of abstention",
            (
                respondent,
                c.text("Abstained", lambda row: READINGS[Abstaining(row[1].abstaining)]),
                *safe,
                *abstained,
            ),
            by_reading,
            "graded_thresholds",
        ),
    ]


def thresholds_figure(own: Thresholds, n_questions: int) -> FigureText:
    return FigureText(
        "Rates under other thresholds and definitions",
        caption(
            own,
            answered_by(n_questions, own.models),
            "Left of the line: the share of points from which an answer is good; a filled mark is the rubric's own share. Right of "
            "it, at the rubric's own share: other definitions of abstention, namely any points below 0, grades that cannot be read, or "
            "answers without a text. Lines are 95% intervals clustered by template.",
        ),
        listed(
            f"{model.label}: quality {_from_to([one.rqr for one in model.thresholds])}, "
            f"safety {_from_to([one.sr for one in model.thresholds])}"
            for model in own.models
        ),
    )


def _from_to(found: Sequence[Varied | None]) -> str:
    values = [one.value for one in found if one is not None]
    if not values:
        return "not defined"
    low, high = f.percent(min(values), 0), f.percent(max(values), 0)
    return low if low == high else f"from {low} to {high}"
