"""Data of one report's estimators: the trials and scores on the items of one source. Pure pandas.

Items, participants and models are numbered from 0; `item`, `participant` and `model` in every table are these
numbers, that is rows of `items`, `participants` and `models`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.filters import CHOICE
from analysis.data.graded.tables import NO_QUESTIONS, GradedData
from analysis.stats import NotEnough
from analysis.stats.flips import Ends
from lib.points import TIE

T = TypeVar("T")
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NO_TRIALS = ("The analysis does not contain any trials yet.", "Let participants finish the study.")
ALL_ADVISED = (
    "All analysed trials had advice before any answer, so that they do not show what people answer by themselves.",
    "Let participants finish an arm without advice, or with advice after a first answer.",
)
NONE_OF_THE_SET = (
    "No model of the study's set has scored these test cases.",
    "Score a model of the set, or choose other models.",
)


MODEL_NAME = ("name", "display_name", "method")  # what a row about one model begins with in files


@dataclass(frozen=True)
class ModelName:
    """Name of a model, with which a result about one begins. method: perplexity or choice, "" of people."""

    name: str
    display_name: str
    family: str
    method: str

    @property
    def label(self) -> str:
        """Name that readers see."""
        return self.display_name or self.name

    @property
    def named(self) -> dict[str, str]:
        """The cells under MODEL_NAME."""
        return {name: getattr(self, name) for name in MODEL_NAME}


@dataclass(frozen=True)
class Tokens:
    """A model's token log-probabilities: columns of scoring.services.token_store, with `item` as in SourceData."""

    table: pd.DataFrame
    sentence_ends: Ends = field(default_factory=dict[int, Any])


@dataclass(frozen=True)
class Exclusion:
    """How many were left out for a reason: its code, and its name for readers."""

    reason: str
    label: str
    n: int


@dataclass(frozen=True)
class ArmCounts:
    """Counts of those assigned to an arm, which happens at consent: how far they came, as in FlowCounts.

    under_way: neither finished nor known to have left; answered: with a judged test case, or an answer to a question.
    """

    arm: str
    consented: int
    started: int
    under_way: int
    finished: int
    withdrawn: int
    answered: int
    excluded: tuple[Exclusion, ...]
    analysed: int


@dataclass(frozen=True)
class AnswerCounts:
    """Answers to questions, of which each one that is left out is counted under the first of its reasons."""

    given: int = 0
    excluded: tuple[Exclusion, ...] = ()
    analysed: int = 0


@dataclass(frozen=True)
class FlowCounts:
    """Over the whole study; None where it is not known. Whoever has several reasons is counted under the first.

    kind: of the participants. is_after_publication: people and trials were left out before the data were published;
    `recruited` and the exclusions are read from the gaps in their numbering. withdrawn_since: those of the
    withdrawn who had finished. by_hand: everybody whom a person excluded, by the reason that they gave, whether or not a rule does too. analysed: with a trial in the analysis, on a test case or a question; trials_…: on test cases.
    """

    kind: str
    recruited: int | None
    consented: int | None
    started: int | None
    finished: int | None
    withdrawn: int
    excluded: tuple[Exclusion, ...]
    analysed: int
    trials_judged: int
    trials_excluded: tuple[Exclusion, ...]
    trials_analysed: int
    is_after_publication: bool = False
    arms: tuple[ArmCounts, ...] = ()
    withdrawn_since: int = 0
    answers: AnswerCounts = AnswerCounts()
    by_hand: tuple[Exclusion, ...] = ()


@dataclass(frozen=True)
class TakingPart:
    """Participants of one kind; the same for both sources of test cases.

    people: participants with an analysed trial, on a test case or a question; columns as in SourceData. rt_ms: of their analysed
    trials on test cases, or on questions where there is none on a test case; NaN where not measured. first_day, last_day: of consent; None where it is not known. routes: platform ("" a plain link) -> people who
    consented; empty where it is not known. other_kinds: kind -> people who are not described here. ethics_number,
    ethics_body: "" where no approval is stated. payment: what they were promised, in sentences.
    """

    kind: str
    people: pd.DataFrame
    rt_ms: Floats
    first_day: date | None = None
    last_day: date | None = None
    routes: Mapping[str, int] = field(default_factory=dict)
    other_kinds: Mapping[str, int] = field(default_factory=dict)
    ethics_number: str = ""
    ethics_body: str = ""
    payment: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingSummary:
    """None where it is not known. documents, corpus_tokens: of the corpus's training part; last_published: the last day of
    its documents, where all have a date. Losses are those of its held-out part in nats per token, untrained and of the weights that were kept."""

    corpus: str
    mode: str
    documents: int | None
    corpus_tokens: int | None
    last_published: date | None
    tokens_seen: int
    trainable_parameters: int | None
    held_out_before: float | None
    held_out_after: float | None


@dataclass(frozen=True)
class SourceData:
    """Everything of one source (`human` or `machine`: who wrote the altered versions), or of OF_STUDY, which has no items.

    items: key, subfield, published (datetime64, NaT unknown), is_damaged (its published text differs from what
        was meant). In the published order, else by key.
    participants: gender, country (codes of the questionnaire), career (what position they hold, in words), each ""
        where not stated; experience_years, age (float, NaN not stated), minutes (from consent to the end, float, NaN
        not known).
    trials, in the order in which they were stored (the published file's order for an import):
        participant, item (int64); is_correct (bool); confidence, expertise (float 1..100, NaN not given);
        slider_moved (bool: any of the two); rt_ms (float, NaN not measured); side (chosen: "A", "B", "" unknown);
        original_side (the same levels); trial_position (1..).
    models: name, display_name, method (perplexity or choice: the same model has a row for each), language_model (its name
        without ASKED), family, is_chat (bool), n_parameters (float, NaN unknown), base_partner, tuned_from (names, "" none,
        and of models that were asked), is_demo (bool), cutoff, released (datetime64, NaT unknown), in_set (bool). Members of
        the study's set first, in its order.
    full, isolated, swapped, one row per model and item (and sentence; and seed): model, item, unit (int64; 0 but in
        isolated), seed (int64, swapped only), ppl_original, ppl_altered (float), margin_nats (log(ppl_altered / ppl_original)),
        points (1 where ppl_original < ppl_altered, 1/2 for a tie, else 0), is_near_tie (|margin_nats| < 0.001), zlib_original_bytes, zlib_altered_bytes (float, NaN unknown), run (int64), original_side
        ("" unknown). In full also p_original and stated, NaN here, and rows of models that were asked, about items of which both
        orders could be read: perplexities and lengths are NaN, margin_nats is the log-odds of the original, p_original its
        probability, stated that by the stated confidence (NaN where none was), run is negative.
    choices: one row per answer of a model that was asked: model, item, original_side, sample, side ("" none, or a tie),
        is_read (bool), state (stop, unparsed, or why there is no whole answer), confidence (50 to 100 percent, NaN not
        stated), log_odds (of side A, nats, NaN not known), seconds, form (of the answer).
    advised: in a study with arms that have advice, one row per analysed trial of who is in an arm: the columns of
        analysis.stats.reliance.trials.AdvisedTrials, arm_number and original_side. `trials` then hold people's own answers
        alone: the first answer of a trial with advice, and no trial with advice from the start. adviser_name: as participants see it.
    judged, assigned: as `trials` and `advised`, but of everybody's trials, with the codes that leave them out: `reasons` of a trial and
        `person_reasons` of its participant ("" none); judged has no other columns than participant, item and is_correct.
    corpora: model, corpus, prompt, in_training (known, likely, unknown, absent), is_anchor (bool), row, ppl, zlib_bytes
        (float).
    flow, taking_part: participants of the whole study, by step, and who they are; the same for both sources.
    graded: answers to the study's questions and their grades; None where it has none, and in the data of a source.
    """

    source: str
    items: pd.DataFrame
    participants: pd.DataFrame
    trials: pd.DataFrame
    models: pd.DataFrame
    full: pd.DataFrame
    isolated: pd.DataFrame
    swapped: pd.DataFrame
    corpora: pd.DataFrame = field(default_factory=pd.DataFrame)
    choices: pd.DataFrame = field(default_factory=pd.DataFrame)
    advised: pd.DataFrame = field(default_factory=pd.DataFrame)
    judged: pd.DataFrame = field(default_factory=pd.DataFrame)
    assigned: pd.DataFrame = field(default_factory=pd.DataFrame)
    adviser_name: str = ""
    # Career levels in the order of the questionnaire
    position_order: tuple[str, ...] = ()
    flow: FlowCounts | None = None
    taking_part: TakingPart | None = None
    graded: GradedData | None = None
    run_prompts: Mapping[int, str] = field(default_factory=dict)  # run -> prompt
    # model -> how it was made, of those that were trained here
    trainings: Mapping[int, TrainingSummary] = field(default_factory=dict)
    is_brainbench: bool = False
    study_slug: str = "SLUG"  # for commands that a missing result names
    # Whether the study has a set of models, even where a filter leaves none of it; None: as `models` says
    has_set: bool | None = None
    is_filtered: bool = False  # models, a method or subfields were chosen
    has_all_trials: bool = False  # also those that are not analysed
    seed: int = 42
    resamples: int = 10_000
    # (model) -> the tokens of its full run; None: none
    read_tokens: Callable[[int], Tokens | None] = lambda _: None
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Numbers are places: a table that was filtered and not numbered anew would give one model another's values
        for table in (self.items, self.participants, self.models):
            if not table.index.equals(pd.RangeIndex(len(table))):
                raise ValueError("items, participants and models are numbered from 0")

    def cached(self, compute: Callable[["SourceData"], T]) -> T:
        """`compute(self)`, computed once for these data: for what takes long and several chapters need."""
        if compute not in self._cache:
            self._cache[compute] = compute(self)
        found: T = self._cache[compute]
        return found

    @property
    def no_scores(self) -> tuple[str, str]:
        """Reason and remedy where no model has scored anything."""
        return (
            "No language model has scored these test cases.",
            f"Score a model on the Models page of study {self.study_slug}.",
        )

    def model_name(self, model: int) -> dict[str, str]:
        """The fields of a model's ModelName."""
        row = self.models.iloc[model]
        return {f.name: str(row[f.name]) for f in fields(ModelName)}

    @property
    def n_items(self) -> int:
        return len(self.items)

    def need_graded(self) -> GradedData:
        if self.graded is None:
            raise NotEnough(*NO_QUESTIONS)
        return self.graded

    @property
    def no_trials(self) -> tuple[str, str]:
        """Why `trials` is empty, and what is needed."""
        return ALL_ADVISED if len(self.advised) else NO_TRIALS

    def need_trials(self) -> pd.DataFrame:
        if self.trials.empty:
            raise NotEnough(*self.no_trials)
        return self.trials

    def need_trials_or_models(self) -> None:
        """Raises NotEnough with neither trials nor scores of the set."""
        if self.trials.empty and not len(self.set_models):
            reason, needed = self.no_trials
            raise NotEnough(f"{reason} {self.no_scores[0]}", needed)

    def need_models(self) -> npt.NDArray[np.int64]:
        """Numbers of the models of the set that scored full texts."""
        if not len(self.set_models):
            raise NotEnough(*(NONE_OF_THE_SET if len(self.extra_models) else self.no_scores))
        return self.set_models

    @cached_property
    def members(self) -> npt.NDArray[np.int64]:
        """Models of the study's set, scored or not, in its order; without a set all models, each by one method.

        A model that took the test both ways counts by its perplexities; as one that was asked it is an extra model, since
        means, intervals and agreement would take it for two.
        """
        in_set = self.models["in_set"].to_numpy(dtype=bool)
        if in_set.any() if self.has_set is None else self.has_set:
            return np.flatnonzero(in_set)
        number = np.arange(len(self.models))
        is_asked = (self.models["method"] == CHOICE).to_numpy(dtype=bool)
        is_scored = ~is_asked & np.isin(number, self.full["model"].to_numpy())
        same = self.models["language_model"].to_numpy()
        return np.flatnonzero(~(is_asked & np.isin(same, same[is_scored])))

    @cached_property
    def set_models(self) -> npt.NDArray[np.int64]:
        """Models of the study's set with full scores, in its order; without a set, all that have full scores."""
        scored = np.unique(self.full["model"].to_numpy())
        return scored[np.isin(scored, self.members)]

    @cached_property
    def extra_models(self) -> npt.NDArray[np.int64]:
        """Models with full scores that are not in the study's set, or were asked and are in it by their perplexities."""
        return np.setdiff1d(np.unique(self.full["model"].to_numpy()), self.set_models)

    @cached_property
    def difficulty(self) -> Floats:
        """(models, items) PPL(altered) - PPL(original) on full texts, large = easy; NaN where not scored.

        Of a model that was asked, its margin: what compares models takes ranks, or fits each in its own unit.
        """
        difference = self.full["ppl_altered"] - self.full["ppl_original"]
        return self._matrix(difference.fillna(self.full["margin_nats"]))

    @cached_property
    def difficulty_nats(self) -> Floats:
        """(models, items) log PPL(altered) - log PPL(original) on full texts, in nats per token; NaN where not scored.

        Unlike the difference of perplexities, that of their logarithms has one unit for all models that were scored. Of a model
        that was asked, the log-odds of the original in nats.
        """
        return self._matrix(self.full["margin_nats"])

    @cached_property
    def model_correct(self) -> Floats:
        """(models, items) 1 correct, 0 wrong, 1/2 a tie, NaN not scored; full texts."""
        return self._matrix(self.full["points"])

    @cached_property
    def model_decided(self) -> Floats:
        """(models, items) as `model_correct`, but NaN for ties: for how sure a model is of the decisions that it makes."""
        correct = self.model_correct
        return np.where(correct == TIE, np.nan, correct)

    @cached_property
    def item_counts(self) -> Floats:
        """(items,) number of trials."""
        return np.bincount(self.trials["item"], minlength=self.n_items).astype(float)

    @cached_property
    def item_accuracy(self) -> Floats:
        """(items,) share of its trials that are correct; NaN where no one judged it."""
        right = np.bincount(
            self.trials["item"], weights=self.trials["is_correct"], minlength=self.n_items
        )
        with np.errstate(invalid="ignore"):
            return np.where(self.item_counts > 0, right / self.item_counts, np.nan)

    def _matrix(self, values: pd.Series) -> Floats:
        matrix = np.full((len(self.models), self.n_items), np.nan)
        matrix[self.full["model"], self.full["item"]] = values
        return matrix
