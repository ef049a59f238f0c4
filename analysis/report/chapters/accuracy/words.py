"""The chapters on accuracy, over all trials, by subfield and by position, as sentences, tables and captions."""

from collections.abc import Iterator, Sequence

from analysis import columns as c
from analysis.charts.texts import HOLLOW
from analysis.codec import MissingResult, present
from analysis.presentation import FigureText, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.accuracy.results import (
    MODELS,
    POSITIONS,
    REST,
    Accuracy,
    HumanAccuracy,
    ModelAccuracy,
    PositionAccuracy,
    Positions,
    SubfieldAccuracy,
    Subfields,
    TopExpertise,
)
from analysis.report.chapters.advised.own_answers import own_answers
from analysis.report.chapters.participants.results import SMALL
from analysis.report.headline import Estimate, Headline, headline
from analysis.stats.estimates import PairedTest
from analysis.stats.verdicts import Verdict
from lib import formatting as f
from lib.extremes import highest, lowest

SAME_POINTS = 0.05  # differences below are shown as no difference
EVERYONE, EXPERTS = "All judgments", "Top fifth by expertise"
NOT_STATED = "not stated"

HUMANS = (
    c.text("Trials", "0"),
    c.count("n", "1.n"),
    c.percent("Accuracy", "1.accuracy"),
    c.share_ci("Binomial 95% CI", "1.ci95"),
)
TESTS = (
    c.text("Comparison", "0"),
    c.count("Pairs", "1.n"),
    c.points("Difference, points", "1.mean_difference"),
    c.points_ci("95% CI", "1.ci95"),
    c.number("t", "1.t"),
    c.count("df", "1.df"),
    c.p_value("p", "1.p"),
    c.number("d (av)", "1.d_av"),
)


def accuracy_page(source: SourceResults, about: About) -> Page:
    own, answer = source.of(Accuracy), headline(source)
    humans, models = present(own.humans), present(own.models) or ()
    versus, chat = present(own.models_vs_humans), present(own.base_vs_chat)
    over_models = versus.test if versus else None
    finding = list(_sample(own, models, answer, is_simulated=about.is_simulated))
    top = present(humans.top_expertise) if humans else None
    over_pairs, pairs = present(chat.test) if chat else None, ""
    if chat and over_pairs:
        numbers = (
            f"95% CI over pairs {f.points_interval(over_pairs.ci95)}, {f.p_value(over_pairs.p)}"
            if over_pairs.ci95
            else "the same in each pair, which allows no test"
        )
        pairs = (
            f"Over {f.count(len(chat.pairs), 'pair')} of a base model and its chat version, the accuracy of the base model minus that of its "
            f"chat version is {f.points(over_pairs.mean_difference)} points on average ({numbers})."
        )
    elif chat and isinstance(chat.test, MissingResult) and chat.pairs:
        labels = {
            model.name: model.label for model in (*models, *(present(own.extra_models) or ()))
        }
        each = [
            f"{labels.get(pair.base, pair.base)} {f.percent(pair.base_accuracy)} and {labels.get(pair.chat, pair.chat)} "
            f"{f.percent(pair.chat_accuracy)}"
            for pair in chat.pairs
        ]
        pairs = f"Base models and their chat versions: {'; '.join(each)}. {chat.test.reason}"
    # One row for each group of trials that has any
    above = present(top.above_p80) if top else None
    shares = (
        ("All trials", humans.trials if humans else None),
        ("Top expertise per test case", top.trials if top else None),
        ("Expertise at or above its 80th percentile", above.trials if above else None),
    )
    tests = [("Models against humans", over_models), ("Base against chat models", over_pairs)]
    return Page(
        text=paragraphs(
            *finding,
            own_answers(source),
            _difference(humans, models, over_models),
            _top_expertise(top) if top else "",
            pairs,
        ),
        tables=[
            *c.page_table(
                "Human accuracy", HUMANS, [row for row in shares if row[1]], "humans_items"
            ),
            *c.page_table("Language models", MODELS, models, "models"),
            *c.page_table("Other models", MODELS, present(own.extra_models) or ()),
            *c.page_table("Tests on accuracies", TESTS, [row for row in tests if row[1]]),
        ],
        methods=[one.method for one in (humans and humans.trials, over_models) if one],
        finding=sentences(*finding),
    )


def _sample(
    own: Accuracy, models: Sequence[ModelAccuracy], answer: Headline, *, is_simulated: bool
) -> Iterator[str]:
    """A sentence on people and one on models, and on whether they are too few to compare."""
    if humans := present(own.humans):
        participant = "simulated participant" if is_simulated else "participant"
        yield (
            f"{f.count(humans.n_participants, participant)} judged {f.count(humans.trials.n, 'trial')} "
            f"and found the original in {_right(humans.trials.accuracy, answer.humans)}."
        )
    if len(models) == 1:
        (model,) = models
        where = "of the set" if present(own.extra_models) else "here"
        cases = f.count(model.items.n, "test case")
        yield (
            f"{model.label}, the only language model {where}, found the original in "
            f"{_right(model.items.accuracy, answer.models)} of {cases}."
        )
    elif models:
        mean, (low, high) = present(own.models_mean), _span(models)
        each = ", and so did each of them" if low == high else f", from {low} to {high}"
        yield (
            f"{len(models)} language models found the original in {_right(mean.mean if mean else None, answer.models)} "
            f"on average{each}."
        )
    if answer.verdict is Verdict.TOO_FEW:
        yield "There are too few participants or test cases to say whether people and models differ."


def _right(share: float | None, answer: Estimate | None) -> str:
    """A share with the interval of the report's answer."""
    return f.with_interval(f.percent(share), f.share_interval(answer.ci95 if answer else None))


def _span(models: Sequence[ModelAccuracy]) -> tuple[str, str]:
    """The lowest and the highest accuracy."""
    shares = [model.items.accuracy for model in models]
    return f.percent(min(shares)), f.percent(max(shares))


def _difference(
    humans: HumanAccuracy | None, models: Sequence[ModelAccuracy], test: PairedTest | None
) -> str:
    """The models' mean accuracy, or the only model's, beside people's; test: over models."""
    if test:
        difference = test.mean_difference
    elif humans and len(models) == 1:
        difference = models[0].items.accuracy - humans.trials.accuracy
    else:
        return ""
    which, was = ("the models", "were on average") if test else (models[0].label, "was")
    side = "above" if difference > 0 else "below"
    found = f"In this sample, {which} {was} {f.percentage_points(abs(difference))} points {side} the human accuracy"
    if abs(100 * difference) < SAME_POINTS:
        which = "On average the models" if test else which
        found = f"{which} and the participants had the same accuracy in this sample"
    if not test:
        return f"{found}; a single model allows no test over models."
    if not test.ci95:
        return f"{found} (all models have the same accuracy, which allows no test over models)."
    numbers = (
        f"95% CI over models {f.points_interval(test.ci95)}; t({f.number(test.df, 0)}) = {f.number(test.t)}, "
        f"{f.p_value(test.p)}"
    )
    return sentences(
        f"{found} ({numbers}).",
        "This test treats the human accuracy as fixed and the models as independent. The crossed interval below makes neither assumption, and "
        "decides whether they differ.",
    )


def _top_expertise(top: TopExpertise) -> str:
    n_without = top.n_items_without
    low, high = f.percent(top.tie_min_accuracy), f.percent(top.tie_max_accuracy)
    return sentences(
        f"Among the {f.count(top.trials.n, 'trial')} in the top {f.percent(top.share, 0)} by self-rated expertise within each test case, "
        f"{f.percent(top.trials.accuracy)} (binomial 95% CI {f.share_interval(top.trials.ci95)}) were right.",
        "One test case has too few trials to contribute."
        if n_without == 1
        else f"{f.number(n_without, 0)} test cases have too few trials to contribute."
        if n_without
        else "",
        f"Depending on how ties in expertise are broken, this value lies between {low} and {high}."
        if low != high
        else "",
    )


def accuracy_figure(
    humans: HumanAccuracy | None, models: Sequence[ModelAccuracy], *, is_extra: bool = False
) -> FigureText:
    """is_extra: of the models outside the study's set."""
    counted, right = [], []
    if humans:
        people = f.count(humans.n_participants, "person", "people")
        judged = f"{f.count(humans.trials.n, 'judgment')} by {people}"
        if top := present(humans.top_expertise):
            judged += (
                f" ({f.number(top.trials.n, 0)} of these judgments in the top fifth by expertise)"
            )
        counted.append(judged)
        right.append(f"People were right in {f.percent(humans.trials.accuracy)} of their judgments")
    if models:
        items = [model.items.n for model in models]
        least = "" if min(items) == max(items) else f"{f.number(min(items), 0)} to "
        cases = f"{least}{f.count(max(items), 'test case')}"
        counted.append(f"{f.count(len(models), 'model')} on {cases}")
        low, high = _span(models)
        mean = f.percent(sum(model.items.accuracy for model in models) / len(models))
        # After people, the sentence has its verb already
        were_right = "" if humans else f" {f.verb(len(models), 'was', 'were')} right"
        average = f" on average ({low} to {high})" if len(models) > 1 else ""
        which = f.count(len(models), "language model")
        right.append(f"{which}{were_right} in {mean} of the test cases{average}")
    return FigureText(
        "Accuracy of further language models"
        if is_extra
        else "Accuracy of people and language models",
        sentences(
            f"n = {'; '.join(counted)}.",
            "Lines are 95% score intervals.",
            HOLLOW if any(model.is_chat for model in models) else "",
        ),
        f"{'; '.join(right)}. Chance is 50%.",
    )


# --- Subfields.


def _subfield(one: SubfieldAccuracy) -> str:
    return one.subfield or NOT_STATED


SUBFIELDS = (
    c.text("Subfield", _subfield),
    c.count("Test cases", "n_items"),
    c.count("Human trials", "humans.n"),
    c.percent("Humans", "humans.accuracy"),
    c.share_ci("Binomial 95% CI", "humans.ci95"),
    c.percent("Models, mean", "models_mean.over_models.mean"),
    c.percent("SD", "models_mean.over_models.sd"),
    c.count("Models", "models_mean.over_models.n"),
    c.count("Models below humans", "n_models_below_humans"),
)


def subfields_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Subfields).subfields) or ()
    finding = ""
    judged = [(one.humans, _subfield(one)) for one in found if one.humans]
    if len(judged) > 1:
        ends = [of(judged, lambda pair: pair[0].accuracy) for of in (lowest, highest)]
        least, most = (f.percent(end[0][0].accuracy) for end in ends)
        low, high = (
            f.listing(
                [
                    f"{name} ({f.percent(humans.accuracy)}, {f.count(humans.n, 'trial')})"
                    for humans, name in end
                ]
            )
            for end in ends
        )
        finding = (
            f"In this sample, the observed human accuracy was {least} in each subfield."
            if least == most
            else f"In this sample, the lowest observed human accuracy was in {low} and the highest in {high}. "
            "This is descriptive; there are no tests by subfield."
        )
    are_above = [
        one.models_mean.over_models.mean > one.humans.accuracy
        for one in found
        if one.humans and one.models_mean
    ]
    above = ""
    if are_above:
        has_one_model = len(present(source.of(Accuracy).models) or ()) == 1
        whose = "the model's accuracy" if has_one_model else "the models' mean"
        above = (
            f"In this sample, {whose} was above the human accuracy in {sum(are_above)} of "
            f"{f.count(len(are_above), 'subfield')}."
        )
    n_models = {one.models_mean.over_models.n for one in found if one.models_mean}
    over = (
        f"The models' mean is over those that judged a test case of the subfield ({min(n_models)} to {max(n_models)})."
        if len(n_models) > 1
        else ""
    )
    return Page(
        text=paragraphs(finding, sentences(above, over)),
        tables=c.page_table("Accuracy by subfield", SUBFIELDS, found, "subfields"),
        finding=finding,
    )


def subfields_figure(found: Sequence[SubfieldAccuracy], *, has_chat: bool) -> FigureText:
    n_trials = sum(one.humans.n for one in found if one.humans)
    subfields = f.count(len(found), "subfield")
    cases = f"n = {f.count(sum(one.n_items for one in found), 'test case')} in {subfields}"
    with_people = (
        f"{cases}, with {f.count(n_trials, 'judgment')} by people. Lines are 95% score intervals; the vertical line is people's accuracy in "
        f"the subfield, and the dashed line is chance. {EXPERTS}: at or above the subfield's 80th percentile of expertise."
    )
    accuracies = []
    for one in found:
        told = [f"people {f.percent(one.humans.accuracy)}"] if one.humans else []
        if mean := one.models_mean:
            told.append(f"models {f.percent(mean.over_models.mean)} on average")
        accuracies.append(f"{_subfield(one)}: {' and '.join(told)}")
    without = f"{cases}. Lines are 95% score intervals; the dashed line is chance."
    return FigureText(
        "Accuracy by subfield",
        sentences(with_people if n_trials else without, HOLLOW if has_chat else ""),
        f"Accuracy in {subfields}. {'; '.join(accuracies)}.",
    )


# --- Positions.


def positions_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Positions).positions) or ()
    named = [one for one in found if one.position != REST]
    has_rest = len(named) < len(found)
    shares = [one.trials.accuracy for one in named]
    if not named:
        finding = ""
    elif len(named) == 1 and not has_rest:
        finding = f"All trials come from one position: {named[0].position}."
    elif len(named) == 1:
        finding = (
            f"Accuracy in the only position that at least {SMALL} participants gave, {named[0].position}, was "
            f"{f.percent(shares[0])}."
        )
    else:
        low, high = f.percent(min(shares)), f.percent(max(shares))
        finding = sentences(
            f"Accuracy in each of the {len(named)} positions was {low}."
            if low == high
            else f"Accuracy in the {len(named)} positions was between {low} and {high}.",
            "The intervals treat the trials of one person as independent and are therefore somewhat too narrow. Positions also differ in more "
            "than expertise.",
            f"Positions that fewer than {SMALL} people gave are counted together with missing answers, so that nobody can be recognised."
            if has_rest
            else "",
        )
    return Page(
        text=paragraphs(finding),
        tables=c.page_table("Accuracy by position", POSITIONS, found, "positions"),
        finding=finding,
    )


def positions_figure(names: Sequence[str], found: Sequence[PositionAccuracy]) -> FigureText:
    """names: of the positions, as the figure shows them."""
    n_participants = sum(one.n_participants for one in found)
    judgments = f.count(sum(one.trials.n for one in found), "judgment")
    shares = "; ".join(
        f"{name} {f.percent(one.trials.accuracy)}" for name, one in zip(names, found, strict=True)
    )
    return FigureText(
        "Accuracy by career position",
        f"n = {judgments} by {f.count(n_participants, 'person', 'people')}. Lines are 95% binomial intervals.",
        f"Accuracy of people by career position: {shares}. Chance is 50%.",
    )
