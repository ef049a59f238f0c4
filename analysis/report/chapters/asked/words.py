"""The chapter on models that were asked, as sentences, tables and captions."""

from collections.abc import Sequence
from functools import partial

from analysis import columns as c
from analysis.codec import MissingResult, present
from analysis.presentation import FigureText, Paragraph, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.asked.results import (
    CONFIDENCES,
    MODELS,
    NO_PROBABILITY,
    PAIRS,
    READ,
    STATED,
    Asked,
    AskedModel,
    confidences_of,
    paired_of,
)
from analysis.report.families import too_few
from analysis.stats.choices import AskedOrScored, Stated
from analysis.stats.families import TOGETHER
from analysis.stats.verdicts import Verdict
from lib import formatting as f

ELSEWHERE = (
    "Chapters that need perplexities or tokens have no results for models that were asked: memorisation, integration of context, changes of "
    "preference along the text, fine-tuning and the figure of publication dates. Accuracy before and after training cut-offs includes a model "
    "that was asked if it was not scored, too."
)
CONSISTENT = (
    "The same in both orders: share of the test cases with a preference in both orders, of which both favour one version. Test cases are left "
    "out if the answers of an order favour neither version."
)
TOO_FEW = "There are too few test cases to say whether they differ."
LETTERS_ALONE = (
    "whichever version is there. With both orders weighted equally, its letters are therefore right in 50% of the cases. An accuracy other "
    "than 50% comes from its probabilities alone."
)
# People on the test cases that each model judged
PEOPLE = (
    c.text("Model", "label"),
    c.percent("Model's accuracy", "judged.accuracy"),
    c.percent("Its stated confidence", "stated.mean_confidence"),
    c.number("Seconds per answer", "seconds_median", digits=1),
    c.count("Human trials", "people.n_trials"),
    c.percent("Humans' accuracy", "people.accuracy"),
    c.share_ci("95% CI", "people.ci95"),
    c.number("Their confidence, 1 to 100", "people.mean_confidence", digits=1),
    c.number("Seconds per trial", "people.seconds_median", digits=1),
)


def asked_page(source: SourceResults, about: About) -> Page:
    models = present(source.of(Asked).asked) or ()
    pairs = [(model, found) for model in models if (found := present(model.paired))]
    finding = _pairs(pairs) if pairs else _asked_alone(models)
    # A column for each way in which answers ended
    ends = list(dict.fromkeys(state.state for model in models for state in model.states))
    columns = (
        c.text("Model", "label"),
        c.count("Answers", "n_answers"),
        *(c.count(end, partial(AskedModel.n_ended, end=end)) for end in ends),
    )
    judged = "People on the test cases that each model judged; times are medians"
    confidences = [*confidences_of(models)]
    # Each method once: they are the same for all models but for the filled bins
    stated = [own for _model, _kind, own in confidences]
    methods = [found.method for _model, found in pairs]
    methods += [own.method for model in models if (own := present(model.position))]
    methods += [text for one in stated[:1] for text in (one.method, one.error.method)]
    methods += [CONSISTENT, TOGETHER] if models else []
    methods += [one.error.ci_method for one in stated]
    return Page(
        text=[
            *paragraphs(finding),
            *_answers(models),
            *_confidence(models),
            *paragraphs(ELSEWHERE),
        ],
        tables=[
            *c.page_table("Models asked and scored", PAIRS, paired_of(models), "asked_pairs"),
            *c.page_table("Models that were asked", MODELS, models, "asked"),
            *c.page_table("Confidence and accuracy", CONFIDENCES, confidences, "asked_confidence"),
            *c.page_table(judged, PEOPLE, [model for model in models if present(model.people)]),
            *c.page_table("How the answers ended", columns, models, "asked_states"),
        ],
        methods=list(dict.fromkeys(methods)),
        finding=finding,
    )


def _pairs(pairs: Sequence[tuple[AskedModel, AskedOrScored]]) -> str:
    if len(pairs) == 1:
        ((model, own),) = pairs
        corrected = f", after Holm {f.p_value(own.p_holm)}" if f.is_known(own.p_holm) else ""
        numbers = (
            f"95% CI {f.points_interval(own.ci95)}; McNemar {f.p_value(own.mcnemar.p)}{corrected}"
        )
        conclusion = {Verdict.UNCLEAR: "This is no clear difference.", Verdict.TOO_FEW: TOO_FEW}
        return sentences(
            f"{model.language_label} found the original in {f.percent(own.asked)} when it was asked, and in {f.percent(own.scored)} by its "
            f"perplexities, on the same {f.count(own.n, 'test case')}: {f.points(own.difference)} points ({numbers}).",
            conclusion.get(own.verdict, ""),
        )
    found = [own for _model, own in pairs]
    verdicts = [one.verdict for one in found]
    n_lower, n_higher = (
        f.number(verdicts.count(side), 0) for side in (Verdict.BELOW, Verdict.ABOVE)
    )
    differences = [one.difference for one in found]
    low, high = f.points(min(differences)), f.points(max(differences))
    span = f"is {low} points" if low == high else f"ranges from {low} to {high} points"
    return sentences(
        f"For {f.count(len(found), 'model')}, the accuracy when asked minus the accuracy by perplexity {span}.",
        TOO_FEW
        if all(one is Verdict.TOO_FEW for one in verdicts)
        else "After Holm's correction over all tests of this chapter, the accuracy when asked is clearly lower for "
        f"{n_lower} of them, and clearly higher for {n_higher}.",
        "" if all(one is Verdict.TOO_FEW for one in verdicts) else too_few(verdicts),
    )


def _asked_alone(models: Sequence[AskedModel]) -> str:
    shares = [share.accuracy for model in models if (share := present(model.judged))]
    if not shares:
        return ""
    low, high = f.percent(min(shares)), f.percent(max(shares))
    n_unknown = len(models) - len(shares)
    if len(shares) == 1:
        one = (
            "The one model that was asked"
            if len(models) == 1
            else f"Of {f.count(len(models), 'model')} that were asked, one"
        )
        found = f"{one} found the original in {low}."
    elif low == high:
        found = f"{f.count(len(shares), 'model')} were asked, and each found the original in {low}."
    else:
        found = f"{f.count(len(shares), 'model')} were asked, and found the original in {low} to {high}."
    if n_unknown:
        found += f" {f.count(n_unknown, 'model')} {f.verb(n_unknown, 'has', 'have')} no readable answers in both orders."
    these = f.verb(len(models), "this model", "these models")
    return f"{found} This report has no accuracy by perplexity of {these} on the same test cases."


def _answers(models: Sequence[AskedModel]) -> list[Paragraph]:
    """The models that prefer a side, and those with answers that could not be read."""
    known = [(model, own) for model in models if (own := present(model.position))]
    preferred = []
    for model, own in known:
        name, side = model.language_label, "A" if own.verdict is Verdict.ABOVE else "B"
        if own.answers.share in (0.0, 1.0):
            preferred.append(
                f"{name} always answers {'A' if own.answers.share else 'B'}, {LETTERS_ALONE}"
            )
        elif own.verdict.is_clear:
            preferred.append(
                f"{name} prefers side {side}: {f.percent(own.answers.share)} (95% CI {f.share_interval(own.answers.ci95)}) of its answers "
                "name A. This is the mean of the answers with the original on side A and of those with it on side B."
            )
    verdicts = [own.verdict for _model, own in known]
    unclear = "No model showed a clear preference for a side."
    is_none = not preferred and any(one is not Verdict.TOO_FEW for one in verdicts)
    unread = []
    for model in models:
        others = [f"{end.n:,} {end.state}" for end in model.states if end.state != READ]
        judged, strict = present(model.judged), present(model.strict)
        if not (model.n_unread or model.n_one_order):
            continue
        unread.append(
            sentences(
                f"Of {f.count(model.n_answers, 'answer')} of {model.language_label}, {f.number(model.n_unread, 0)} could not be read "
                f"({f.listing(others)})."
                if model.n_unread
                else "",
                f"{f.number(model.n_one_order, 0)} of the {f.count(model.n_asked, 'test case')} that {model.language_label} was asked about "
                f"{f.verb(model.n_one_order, 'was', 'were')} asked in one order only, and {f.verb(model.n_one_order, 'has', 'have')} no decision."
                if model.n_one_order
                else "",
                f"Its accuracy is {f.percent(judged.accuracy)} on the {f.count(judged.n, 'test case')} for which the answers in both "
                "orders could be read."
                if judged
                else "No test case has readable answers in both orders, so this model has no accuracy.",
                f"It is {f.percent(strict.accuracy)} on all {f.count(strict.n, 'test case')} asked in both orders if the others count as wrong."
                if judged and strict and model.n_unread
                else "",
            )
        )
    return [
        *([Paragraph("", items=preferred)] if preferred else []),
        *paragraphs(sentences(unclear, too_few(verdicts)) if is_none else "", *unread),
    ]


def _confidence(models: Sequence[AskedModel]) -> list[Paragraph]:
    """The confidence that each model stated, and which models have no probability of the original."""
    told = []
    for model, kind, own in confidences_of(models):
        if kind != STATED:
            continue
        name = model.language_label
        said = (
            f"states {f.percent(own.mean_confidence)} on average over {f.count(own.n, 'answer')}, and {f.percent(own.accuracy)} of them "
            "are correct"
        )
        if own.verdict.is_clear:
            side = "overconfident" if own.verdict is Verdict.ABOVE else "underconfident"
            apart = f.percentage_points(abs(own.overconfidence))
            told.append(f"{name} is {side}: it {said} ({apart} points apart).")
        else:
            told.append(f"{name} {said}.")
    without = [
        model.language_label
        for model in models
        if isinstance(model.p_original, MissingResult)
        and model.p_original.reason == NO_PROBABILITY[0]
    ]
    no_probability = (
        f"There is no P(original) to calibrate for {f.listing(without)}: one answer in each order, without the probabilities of tokens, "
        "is no probability."
    )
    fewer = [
        f"{model.language_label} {f.number(own.n, 0)} of {f.number(judged.n, 0)}"
        for model, kind, own in confidences_of(models)
        if kind != STATED and (judged := present(model.judged)) and own.n != judged.n
    ]
    left_out = (
        "P(original) is compared with accuracy on the test cases on which it is known and favours a version. Of the test cases judged, "
        f"these are: {f.listing(fewer)}."
    )
    return [
        *([Paragraph("", items=told)] if told else []),
        *paragraphs(no_probability if without else "", left_out if fewer else ""),
    ]


# --- Figures.


def asked_figure(models: Sequence[AskedModel], n_models: int, most_items: int) -> FigureText:
    """n_models, most_items: of those that are shown."""
    accuracies = []
    for model in models:
        if found := present(model.paired):
            scored, asked = f.percent(found.scored), f.percent(found.asked)
            accuracies.append(f"{model.language_label} {scored} by perplexity, {asked} when asked")
        elif share := present(model.judged):
            accuracies.append(f"{model.language_label} {f.percent(share.accuracy)} when asked")
    return FigureText(
        "Accuracy of language models when asked and by perplexity",
        f"n = {f.count(n_models, 'model')} on up to {f.count(most_items, 'test case')}. For a model that was both asked and scored, only test "
        "cases that have both are used. Thin lines are 95% score intervals; the upper line is for perplexity, the lower one for asking. "
        "A tie counts half.",
        f"{'; '.join(accuracies)}. Chance is 50%.",
    )


def sizes_figure(pairs: Sequence[tuple[AskedModel, AskedOrScored]]) -> FigureText:
    """pairs: models of known size."""
    cases = f.count(max(found.n for _model, found in pairs), "test case")
    smallest, largest = min(pairs, key=_n_parameters), max(pairs, key=_n_parameters)
    ends = (
        f"{model.language_label} {f.points(found.difference)} points"
        for model, found in (smallest, largest)
    )
    return FigureText(
        "Difference between asking and scoring by the size of the model",
        f"n = {f.count(len(pairs), 'model')} of known size on up to {cases}. Below 0, a model is less accurate when it is asked than by its "
        "perplexities. Lines are 95% intervals (Agresti and Min's).",
        f"{'; '.join(ends)}.",
    )


def _n_parameters(pair: tuple[AskedModel, AskedOrScored]) -> float:
    return pair[0].n_parameters


def reliability_figure(models: Sequence[tuple[AskedModel, Stated]]) -> FigureText:
    most = f.count(max(own.n for _model, own in models), "answer")
    shares = (
        f"{model.language_label} states {f.percent(own.mean_confidence)} on average over {f.count(own.n, 'answer')}, and {f.percent(own.accuracy)} "
        "of them are correct"
        for model, own in models
    )
    return FigureText(
        "Reliability diagram of the confidence that language models state",
        f"n = {f.count(len(models), 'model')}, each with up to {most}, in ten bins of equal width from 50% to 100%. Vertical lines are 95% "
        "intervals clustered by test cases; the dashed line is perfect calibration. The error is the expected calibration error. Answers "
        "that state no confidence, or one below 50%, are left out.",
        f"{'; '.join(shares)}.",
    )


def panel_error(own: Stated) -> str:
    """Below the name of a model's panel."""
    return f"error {f.number(own.error.value)}, n = {f.number(own.n, 0)}"
