"""Models that took the test by choosing, beside the same models scored by perplexity and people on the same test cases."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import Floats, ModelName, SourceData
from analysis.data.filters import CHOICE
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.choices import (
    AskedOrScored,
    Position,
    Share,
    Stated,
    asked_or_scored,
    clustered_share,
    confidence_of_choice,
    consistency,
    position,
    stated,
)
from analysis.stats.estimates import Proportion, proportion
from analysis.stats.families import together
from analysis.stats.two_way_clustered import two_way
from lib.formatting import known
from lib.points import TIE

NOBODY = (
    "No language model has chosen in these test cases.",
    "Ask one with the method choice: see the Models page of study {study}.",
)
NOT_JUDGED = (
    "No test case has readable answers in both orders.",
    "Ask the model in a form that it answers in both orders.",
)
ONE_ORDER = (
    "No test case was asked in both orders.",
    "Ask the model in both orders.",
)
NO_PROBABILITY = (
    "One answer in each order, without the probabilities of tokens, is no probability of the original.",
    "Ask the model several times (--samples), or through a server that returns top_logprobs.",
)
STATED, P_ORIGINAL = "stated", "p_original"
KINDS = {STATED: "stated", P_ORIGINAL: "P(original)"}
READ = "read"
MODELS = (
    *c.model(),
    *c.data("language_model"),
    c.text("Model", "label"),
    c.text("Family", "family", "family"),
    *c.data("n_parameters", "form", "prompt", "samples"),
    c.count("Test cases", "n_asked", "n_asked"),
    c.count("Judged", "judged.n", "n_judged"),
    c.percent("Accuracy", "judged.accuracy", "accuracy"),
    c.share_ci("95% CI", "judged.ci95", "ci_low ci_high"),
    c.percent("Unreadable as wrong", "strict.accuracy", "accuracy_strict"),
    *c.data("strict=strict.ci95"),
    c.count("Ties", "strict.n_ties", "n_ties"),
    c.percent("Original as A", "by_order.original_a.share", "accuracy_original_a"),
    c.percent("As B", "by_order.original_b.share", "accuracy_original_b"),
    c.percent("“A” answers", "position.answers.share", "share_a"),
    c.share_ci("95% CI", "position.answers.ci95", "share_a_low share_a_high"),
    *c.data("p_a=position.p_a.share", "share_a_p_holm=position.p_holm"),
    c.percent("Same in both orders", "consistent.accuracy", "consistency"),
    c.share_ci("95% CI", "consistent.ci95", "consistency_low consistency_high"),
    *c.data("seconds_median"),
)
PAIRS = (
    *c.model(),
    *c.data("language_model"),
    c.text("Model", "language_label"),
    *c.data("n_parameters"),
    c.count("Test cases", "paired.n", "n_items"),
    c.percent("Scored", "paired.scored", "accuracy_scored"),
    c.percent("Asked", "paired.asked", "accuracy_asked"),
    c.points("Difference, points", "paired.difference", "difference"),
    c.points_ci("95% CI", "paired.ci95", "difference_low difference_high"),
    c.p_value("p (McNemar)", "paired.mcnemar.p", "mcnemar_p"),
    c.p_value("after Holm", "paired.p_holm", "mcnemar_p_holm"),
    c.coefficient("Spearman's rho of margins", "paired.correlation.rho", "rho"),
    c.coefficient_ci("95% CI", "paired.correlation.ci95", "rho_low rho_high"),
    c.count("Both right", "paired.table.both", "n_both"),
    c.count("Only asked", "paired.table.asked_only", "n_asked_only"),
    c.count("Only scored", "paired.table.scored_only", "n_scored_only"),
    c.count("Neither", "paired.table.neither", "n_neither"),
    c.count("Ties", "paired.table.ties", "n_ties"),
)
# Of rows: model, what the confidence is, Stated
CONFIDENCES = (
    *c.model("0"),
    c.text("Model", "0.label"),
    c.text("Confidence", lambda row: KINDS[row[1]]),
    *c.data("kind=1"),
    c.count("n", "2.n", "n"),
    c.percent("Mean confidence", "2.mean_confidence", "mean_confidence"),
    c.percent("Accuracy", "2.accuracy", "accuracy"),
    c.points("Overconfidence, points", "2.overconfidence", "overconfidence"),
    c.points_ci("95% CI", "2.overconfidence_ci95", "overconfidence_low overconfidence_high"),
    c.p_value("p after Holm", "2.p_holm", "overconfidence_p_holm"),
    c.number("Calibration error", "2.error.value", "ece", digits=3),
    c.ci("95% CI", "2.error.ci95", "ece_low ece_high", digits=3),
    c.number("Brier score", "2.brier", "brier", digits=3),
    c.ci("95% CI", "2.brier_ci95", "brier_low brier_high", digits=3),
)
# Of rows: model, what the confidence is, Reliability
BINS = (
    *c.model("0"),
    *c.data("family=0.family", "kind=1", "low=2.low", "high=2.high", "n=2.n"),
    *c.data("mean_confidence=2.mean_confidence", "accuracy=2.accuracy", "ci=2.ci95"),
)
# Of rows: model, State
STATES = (*c.model("0"), *c.data("state=1.state", "n=1.n"))


@dataclass(frozen=True)
class State:
    """How many of a model's answers ended so: read, unparsed, or why there is no whole answer."""

    state: str
    n: int


@dataclass(frozen=True)
class ByOrder:
    """Share of the answers that name the original, where it is A, and where it is B; a tie counts half."""

    original_a: Share
    original_b: Share


@dataclass(frozen=True)
class People:
    """On the test cases that the model judged; ci95 is two-way clustered. confidence: 1 to 100; seconds of a trial."""

    n_trials: int
    accuracy: float
    ci95: Interval | None
    mean_confidence: float | None
    seconds_median: float | None


@dataclass(frozen=True, kw_only=True)
class AskedModel(ModelName):
    """judged: test cases for which the answers in both orders could be read; strict: all asked in both orders, the others as wrong.

    seconds_median: of an answer, None where it is not known. stated: of answers by the confidence that they state; p_original: of test cases.
    """

    language_model: str
    language_label: str
    n_parameters: float
    form: str
    prompt: str
    samples: int
    n_asked: int
    judged: Proportion | MissingResult
    strict: Proportion | MissingResult
    states: tuple[State, ...]
    position: Position | MissingResult
    by_order: ByOrder | MissingResult
    consistent: Proportion | MissingResult
    stated: Stated | MissingResult
    p_original: Stated | MissingResult
    seconds_median: float | None
    people: People | MissingResult
    paired: AskedOrScored | MissingResult

    @property
    def n_one_order(self) -> int:
        """Test cases that were asked in one order alone, which therefore have no decision."""
        strict = present(self.strict)
        return self.n_asked - (strict.n if strict else 0)

    @property
    def n_unread(self) -> int:
        return sum(state.n for state in self.states if state.state != READ)

    @property
    def n_answers(self) -> int:
        return sum(state.n for state in self.states)

    def n_ended(self, end: str) -> int:
        """Answers that ended in this way."""
        return sum(state.n for state in self.states if state.state == end)


@dataclass(frozen=True)
class Asked:
    """Results of all models that were asked, members of the study's set or not."""

    asked: tuple[AskedModel, ...] | MissingResult


def build_asked(data: SourceData) -> Built:
    """Raises NotEnough without an answer of a model."""
    if data.choices.empty:
        raise NotEnough(NOBODY[0], NOBODY[1].format(study=data.study_slug))
    numbers = data.choices["model"]
    found = [_model(data, int(m), data.choices[numbers == m]) for m in np.unique(numbers)]
    # The p values of all tests of the chapter are one family
    tests = {name: [present(getattr(model, name)) for model in found] for name in QUESTIONS}
    after = together({name: [one.p if one else None for one in own] for name, own in tests.items()})
    for name, own in tests.items():
        for n, (one, p) in enumerate(zip(own, after[name], strict=True)):
            if one and p is not None:
                found[n] = replace(found[n], **{name: one.corrected(p)})
    models = tuple(found)
    confidences = list(confidences_of(models))
    bins = [(model, kind, one) for model, kind, own in confidences for one in own.bins]
    states = [(model, state) for model in models for state in model.states]
    return Built(
        Asked(models),
        {
            "asked": c.tidy(MODELS, models),
            "asked_pairs": c.tidy(PAIRS, paired_of(models)),
            "asked_confidence": c.tidy(CONFIDENCES, confidences),
            "asked_reliability": c.tidy(BINS, bins),
            "asked_states": c.tidy(STATES, states),
        },
    )


# Each of them is one question of the chapter, with a test of each model
QUESTIONS = ("paired", "position", STATED, P_ORIGINAL)


def paired_of(models: Sequence[AskedModel]) -> list[AskedModel]:
    """Those that were scored too."""
    return [model for model in models if not isinstance(model.paired, MissingResult)]


def confidences_of(models: Sequence[AskedModel]) -> Iterator[tuple[AskedModel, str, Stated]]:
    for model in models:
        for kind in (STATED, P_ORIGINAL):
            found: Stated | MissingResult = getattr(model, kind)
            if not isinstance(found, MissingResult):
                yield model, kind, found


def _model(data: SourceData, model: int, answers: pd.DataFrame) -> AskedModel:
    about, read = data.models.iloc[model], answers[answers["is_read"]]
    points = data.model_correct[model]
    # As decisions do, shares by order rest on the test cases that were read in both: the orders then differ in nothing else
    n_orders = read.groupby("item")["original_side"].transform("nunique")
    whole = read[n_orders == 2]
    orders = answers.groupby("item")["original_side"].nunique()
    # The name of the language model, not as the one that was asked
    twin = _twin(data, model)
    named = data.models.iloc[model if twin is None else twin]
    # Answers that were read come first, then the most frequent other ends
    ends = answers.loc[~answers["is_read"], "state"].value_counts().items()
    others = sorted(ends, key=lambda one: (-one[1], str(one[0])))
    own = data.full[data.full["model"] == model]
    run = own["run"].iloc[0] if len(own) else 0
    return AskedModel(
        **data.model_name(model),
        language_model=str(about["language_model"]),
        language_label=str(named["display_name"] or named["name"]),
        n_parameters=float(about["n_parameters"]),
        form=str(answers["form"].iloc[0]),
        prompt=data.run_prompts.get(int(run), ""),
        samples=int(answers["sample"].max()) + 1,
        n_asked=len(orders),
        judged=try_estimate(proportion, points),
        strict=try_estimate(_strict, points[orders.index[orders == 2]]),
        states=(
            State(READ, len(read)),
            *(State(str(end), int(n)) for end, n in others),
        ),
        position=try_estimate(_position, whole),
        by_order=try_estimate(_by_order, whole),
        consistent=try_estimate(_consistency, read, data.n_items),
        stated=try_estimate(
            stated, read["confidence"] / 100, _towards(read), read["item"], data.seed
        ),
        p_original=try_estimate(_p_original, own, data.seed),
        seconds_median=known(float(answers["seconds"].median())),
        people=try_estimate(_people, data, np.flatnonzero(np.isfinite(points))),
        paired=try_estimate(_paired, data, model),
    )


def _twin(data: SourceData, model: int) -> int | None:
    """The row of the same model scored by perplexity."""
    models = data.models
    same = models["language_model"] == models["language_model"].iloc[model]
    found = np.flatnonzero(same & (models["method"] != CHOICE))
    return int(found[0]) if len(found) else None


def _towards(read: pd.DataFrame) -> Floats:
    """(answers,) 1 for the original, 0 for the altered version, 1/2 for neither."""
    is_original = (read["side"] == read["original_side"]).to_numpy(dtype=float)
    return np.where(read["side"] == "", TIE, is_original)


def _strict(points: Floats) -> Proportion:
    """points: (items asked in both orders,), NaN where an answer could not be read."""
    if not len(points):
        raise NotEnough(*ONE_ORDER)
    return proportion(np.nan_to_num(points))


def _position(whole: pd.DataFrame) -> Position:
    """whole: the answers about items that were read in both orders."""
    if whole.empty:
        raise NotEnough(*NOT_JUDGED)
    is_first = whole["original_side"] == "A"
    return position(is_first, whole["side"], whole["log_odds"], whole["item"])


def _by_order(whole: pd.DataFrame) -> ByOrder:
    if whole.empty:
        raise NotEnough(*NOT_JUDGED)
    towards, first = _towards(whole), (whole["original_side"] == "A").to_numpy()
    items = whole["item"].to_numpy()
    return ByOrder(
        clustered_share(towards[first], items[first]),
        clustered_share(towards[~first], items[~first]),
    )


def _consistency(read: pd.DataFrame, n_items: int) -> Proportion:
    """By log-odds where all answers about the item have them, as decisions are."""
    odds = read["log_odds"].where(read["original_side"] == "A", -read["log_odds"])
    has_odds = read["log_odds"].notna().groupby(read["item"]).transform("all")
    preference = odds.where(has_odds, _towards(read) - 0.5)
    by_order = preference.groupby([read["original_side"], read["item"]]).mean()
    both = [by_order.get(side, pd.Series(dtype=float)).reindex(range(n_items)) for side in "AB"]
    return consistency(*both)


def _p_original(own: pd.DataFrame, seed: int) -> Stated:
    if own.empty:
        raise NotEnough(*NOT_JUDGED)
    if own["p_original"].isna().all():
        raise NotEnough(*NO_PROBABILITY)
    return stated(*confidence_of_choice(own["p_original"]), own["item"], seed)


def _people(data: SourceData, items: np.ndarray) -> People:
    if not len(items):
        raise NotEnough(*NOT_JUDGED)
    trials = data.need_trials()
    trials = trials[trials["item"].isin(items)]
    if trials.empty:
        raise NotEnough("Nobody judged these test cases.", "Let participants finish the study.")
    found = two_way(*(trials[n].to_numpy() for n in ("participant", "item", "is_correct")))
    rt_ms = known(float(trials["rt_ms"].median()))
    return People(
        n_trials=len(trials),
        accuracy=found.estimate,
        ci95=found.share_ci95 if found.is_known else None,
        mean_confidence=known(float(trials["confidence"].mean())),
        seconds_median=None if rt_ms is None else rt_ms / 1000,
    )


def _paired(data: SourceData, model: int) -> AskedOrScored:
    twin = _twin(data, model)
    if twin is None:
        raise NotEnough(
            "The report has no perplexities of this model.",
            "Score the model by perplexity, and include both methods in the report.",
        )
    correct, margins = data.model_correct, data.difficulty_nats
    return asked_or_scored(correct[model], correct[twin], margins[model], margins[twin])
