"""Data of the chapters on graded answers: questions, answers and grades of one study. Pure pandas.

Questions, models, judges and answers are numbered from 0; `question`, `model`, `judge` and `answer` in every table are
these numbers, that is rows of `questions`, `models`, `judges` and `answers`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.stats import NotEnough
from analysis.stats.graded.bert_score import Vectors
from scoring.domain.grading.rubric import Fate, Rubric

T = TypeVar("T")
Ints = npt.NDArray[np.int64]

NO_QUESTIONS = ("The study does not contain any questions.", "Add questions with expert answers.")
NO_ANSWERS = (
    "The study's questions do not have any answers yet.",
    "Let models answer them (manage.py answer --study), or people.",
)
NO_GRADES = (
    "No answer has been graded yet.",
    "Let a model judge (manage.py grade --study) or people grade the answers.",
)
NO_READABLE = (
    "None of the grades could be read.",
    "Read the judge's replies on the Grades page, and choose another judge.",
)
PEOPLE = "people"
NO_TEXT = "no answer"  # the fate of an answer in a state without a text, which nobody can grade
NOT_GRADED = ""
FATES = (Fate.GOOD.value, Fate.ABSTAINED.value, Fate.BAD.value, Fate.UNPARSED.value, NO_TEXT, NOT_GRADED)  # fmt: skip
# Whether a row has a fate at all: these are N
COUNTED = FATES[:-1]
READ = FATES[:3]


@dataclass(frozen=True)
class AnswererName:
    """Name of a model, or of people, with which a result about them begins."""

    name: str
    display_name: str
    family: str
    is_people: bool
    is_simulated: bool

    @property
    def label(self) -> str:
        """Name that readers see."""
        return self.display_name or self.name


@dataclass(frozen=True)
class GradedData:
    """Everything about the study's questions.

    questions: key, template (its key, "" none); words, characters, answer_words, answer_characters (int64: of the
        question, and of the expert answer).
    categories, a row for each category of a question: question (int64), dimension, category.
    models: name, display_name, family, is_people, is_simulated (bool), judge (int64: who graded it, -1 nobody),
        prompt_price, completion_price (float: of a million tokens, NaN unknown). People, who are one of them, last.
    answers: question, model, participant (int64; -1 of a model), state (how the answer ended, a value of Finish),
        characters, words (int64), prompt_tokens, completion_tokens, cost, seconds (float, NaN unknown), confidence
        (0 to 100, NaN unknown), has_text (bool: a text that a person could be given to grade), points (of the judge that
        counts, NaN without one), human_points (of people: what a third settled, else the first), is_contested (bool:
        theirs differ, and nobody has settled it), fate (one of FATES).
    judges: name (no two alike), family, is_exact (compares texts, and only tests the set-up), is_simulated (bool), n_graded; who
        graded most answers first.
    judge_grades: answer, judge (int64), points (NaN where nothing could be read).
    person_grades: answer, grader (int64), points (float), is_adjudication, is_simulated (bool).
    rubric: by which people graded; judge_rubrics: by which each judge did.
    read_texts: (answers wanted) -> chunks of (answer, text, expert_answer), of those that have a text; texts are never
        held together.
    vectors: of the model by which BERTScore is computed, where a command has loaded one.
    """

    questions: pd.DataFrame
    categories: pd.DataFrame
    models: pd.DataFrame
    answers: pd.DataFrame
    judges: pd.DataFrame
    judge_grades: pd.DataFrame
    person_grades: pd.DataFrame
    rubric: Rubric
    judge_rubrics: tuple[Rubric, ...]
    seed: int = 42
    read_texts: Callable[[Ints], Iterator[pd.DataFrame]] = lambda _: iter(())
    vectors: Vectors | None = None
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for table in (self.questions, self.models, self.answers, self.judges):
            if not table.index.equals(pd.RangeIndex(len(table))):
                raise ValueError("questions, models, answers and judges are numbered from 0")
        if len(self.judge_rubrics) != len(self.judges):
            raise ValueError("each judge has a rubric")

    def cached(self, compute: Callable[["GradedData"], T]) -> T:
        """`compute(self)`, computed once for these data: for what several chapters need."""
        if compute not in self._cache:
            self._cache[compute] = compute(self)
        found: T = self._cache[compute]
        return found

    def model_name(self, model: int) -> dict[str, Any]:
        """The fields of a model's AnswererName."""
        row = self.models.iloc[model]
        texts = {name: str(row[name]) for name in ("name", "display_name", "family")}
        return texts | {name: bool(row[name]) for name in ("is_people", "is_simulated")}

    def rubric_of(self, model: int) -> Rubric:
        """By which the grades were given that count for this model."""
        judge = int(self.models["judge"].iloc[model])
        return self.rubric if judge < 0 else self.judge_rubrics[judge]

    def grades_as_people(self, judge: int) -> bool:
        """True if this judge's points mean what people's do: both graded by one rubric."""
        return self.judge_rubrics[judge].sha256 == self.rubric.sha256

    def need_answers(self) -> pd.DataFrame:
        if self.answers.empty:
            raise NotEnough(*NO_ANSWERS)
        return self.answers

    def need_graded(self) -> pd.DataFrame:
        """The answers that have a fate, of models of which a grade could be read: all others have no rates, not rates of 0."""
        answers = self.need_answers()
        graded = answers[answers["fate"] != NOT_GRADED]
        if not (graded["fate"] != NO_TEXT).any():
            raise NotEnough(*NO_GRADES)
        known = graded.loc[graded["fate"].isin(READ), "model"]
        if known.empty:
            raise NotEnough(*NO_READABLE)
        return graded[graded["model"].isin(known)]

    def judged_models(self) -> list[int]:
        """Numbers of the models with graded answers, in their order."""
        return sorted(int(model) for model in self.need_graded()["model"].unique())

    def judged_alike(self) -> tuple[int, list[int]]:
        """The judge of most models (of equals the first; of people, where no model was graded), and all whom it graded.

        Others are not compared with them: judges differ in what they call good.
        """
        judged = self.judged_models()
        judge = self.models["judge"].iloc[judged]
        of_models = judge[~self.models["is_people"].iloc[judged]].tolist() or judge.tolist()
        found = max(sorted(set(of_models)), key=of_models.count)
        return found, judge.index[judge == found].tolist()

    def judge_name(self, judge: int) -> str:
        """Its name; "people" of -1, where people's grades count."""
        return PEOPLE if judge < 0 else str(self.judges["name"].iloc[judge])

    def unread_models(self) -> list[int]:
        """Numbers of the models with grades of which none could be read."""
        fates = self.answers.loc[self.answers["fate"].isin(COUNTED), "model"]
        return sorted(set(map(int, fates.unique())) - set(self.judged_models()))

    @property
    def is_simulated(self) -> bool:
        """True if anything here was made up."""
        return bool(
            self.models["is_simulated"].any()
            or self.judges["is_simulated"].any()
            or self.person_grades["is_simulated"].any()
        )

    def cells(self, table: pd.DataFrame) -> pd.DataFrame:
        """Rows of answers once for each of their question's categories: with `dimension` and `category`."""
        return table.merge(self.categories, on="question", how="inner")
