"""Made-up answers and grades whose truth is known, as GradedData; any size, seeded, vectorised."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.graded.tables import GradedData
from scoring.domain.grading.rubric import BIOSCORE

# As printed (CARDBiomedBench): response quality and safety rate
PRINTED = {
    "GPT-4o": (0.37, 0.31), "Perplexity": (0.41, 0.38), "Gemini-1.5-Pro": (0.19, 0.73), "Claude-3.5-Sonnet": (0.25, 0.76),
}  # fmt: skip
# Others, so that each quadrant has one, and seven are there
OTHERS = {"Model E": (0.62, 0.58), "Model F": (0.7, 0.2), "Model G": (0.08, 0.65)}
SEVEN = PRINTED | OTHERS
DIMENSIONS = {
    "Topic": ("Pharmacology", "Drug Gene Relations", "Genomic Location", "Tissue", "SNP Disease Relations"),
    "Reasoning": ("Look up", "Compare", "Conclude"),
}  # fmt: skip
FEW = "Rare"  # a category of three questions


def make_graded(
    *,
    truth: dict[str, tuple[float, float]] | None = None,
    n_questions: int = 400,
    n_templates: int = 40,
    alike: float = 0.3,
    n_people: int = 0,
    human_share: float = 0.2,
    seed: int = 1,
    **others: Any,
) -> GradedData:
    """Models answer with these rates of quality and safety; `alike`: how much the rows of a template share, 0 to 1."""
    rng = np.random.default_rng(seed)
    truth = SEVEN if truth is None else truth
    questions = _questions(rng, n_questions, n_templates)
    models = _models(list(truth), bool(n_people))
    template = questions["template"].astype("category").cat.codes.to_numpy()
    parts = [
        _answers(rng, model, rates, template, alike) for model, rates in enumerate(truth.values())
    ]
    if n_people:
        parts.append(_of_people(rng, len(truth), n_questions, n_people))
    answers = pd.concat(parts, ignore_index=True)
    grades = answers["points"]
    human = rng.random(len(answers)) < human_share
    person_grades = _person_grades(rng, answers, human)
    final = person_grades[person_grades["grader"] == 0].set_index("answer")["points"]
    answers["human_points"] = final.reindex(answers.index).to_numpy()
    second = np.where(rng.random(len(grades)) < 0.1, 1.0, grades)
    judge_grades = pd.concat(
        [
            pd.DataFrame({"answer": answers.index, "judge": judge, "points": points})
            for judge, points in enumerate((grades, second))
        ],
        ignore_index=True,
    )
    values: dict[str, Any] = {
        "questions": questions,
        "categories": _categories(n_questions),
        "models": models,
        "answers": answers,
        "judges": pd.DataFrame(
            {"name": ["Judge A", "Judge B"], "family": ["GPT", "Gemini"], "is_exact": False, "is_simulated": False, "n_graded": len(answers)}
        ),
        "judge_grades": judge_grades[judge_grades["answer"].map(answers["state"]) != "filtered"].reset_index(drop=True),
        "person_grades": person_grades,
        "rubric": BIOSCORE,
        "judge_rubrics": (BIOSCORE, BIOSCORE),
        "read_texts": partial(_texts, answers),
    }  # fmt: skip
    return GradedData(**(values | others))


def _texts(answers: pd.DataFrame, wanted: Any) -> Iterator[pd.DataFrame]:
    """Good answers say what the expert does, others half of it."""
    expert = "The gene raises the risk of the disease in carriers of two copies"
    for some in np.array_split(wanted, 2):
        half = answers["fate"].to_numpy()[some] != "good"
        texts = [expert[: len(expert) // 2] if is_half else expert for is_half in half]
        yield pd.DataFrame({"answer": some, "text": texts, "expert_answer": expert})


def _questions(rng: np.random.Generator, n: int, n_templates: int) -> pd.DataFrame:
    words, answer_words = rng.poisson(15, n) + 3, rng.poisson(30, n) + 3
    return pd.DataFrame(
        {
            "key": [f"question-{k:05d}" for k in range(n)],
            "template": [f"t{k % n_templates}" if n_templates else "" for k in range(n)],
            "words": words,
            "characters": words * 6,
            "answer_words": answer_words,
            "answer_characters": answer_words * 6,
        }
    )


def _categories(n: int) -> pd.DataFrame:
    rows = [
        (k, dimension, names[k % len(names)])
        for dimension, names in DIMENSIONS.items()
        for k in range(n)
    ]
    rows += [(k, "Topic", FEW) for k in range(min(3, n))]
    return pd.DataFrame(rows, columns=["question", "dimension", "category"])


def _models(names: list[str], has_people: bool) -> pd.DataFrame:
    rows = [
        {
            "name": f"lab/{name}",
            "display_name": name,
            "family": name.split("-")[0],
            "is_people": False,
            "is_simulated": False,
            "judge": 0,
            "prompt_price": 2.5,
            "completion_price": 10.0,
        }
        for name in names
    ]
    if has_people:
        unknown = {"prompt_price": np.nan, "completion_price": np.nan}
        people = {"name": "people", "display_name": "People", "family": "", "is_people": True}
        rows.append({**people, "is_simulated": False, "judge": 0, **unknown})
    return pd.DataFrame(rows)


def _answers(
    rng: np.random.Generator, model: int, rates: tuple[float, float], template: Any, alike: float
) -> pd.DataFrame:
    """A shared draw of a template decides for a part of its rows, so that the rates stay what they are."""
    rqr, sr = rates
    n = len(template)
    shared = rng.random((2, template.max() + 1))[:, template]
    own = np.where(rng.random((2, n)) < alike, shared, rng.random((2, n)))
    good, abstained = own[0] < rqr, own[1] < sr
    points = np.where(
        good,
        rng.choice([2.0, 2.5, 3.0], n),
        np.where(abstained, -1.0, rng.choice([0.0, 0.5, 1.0, 1.5], n)),
    )
    words = rng.poisson(40 + 15 * model, n) + 1
    return _table(
        model,
        np.arange(n),
        points,
        words,
        participant=-1,
        seconds=rng.gamma(2, 1, n),
        prompt_tokens=120.0,
        completion_tokens=words * 1.4,
        cost=(120 * 2.5 + words * 14) / 1e6,
        confidence=np.nan,
    )


def _of_people(
    rng: np.random.Generator, model: int, n_questions: int, n_people: int
) -> pd.DataFrame:
    """Ten questions each; the more confident, the more often right."""
    question = rng.integers(0, n_questions, 10 * n_people)
    confidence = rng.integers(1, 101, len(question)).astype(float)
    good = rng.random(len(question)) < 0.2 + 0.5 * confidence / 100
    abstained = ~good & (rng.random(len(question)) < 0.6)
    points = np.where(good, 3.0, np.where(abstained, -1.0, 0.0))
    return _table(
        model,
        question,
        points,
        rng.poisson(20, len(question)) + 1,
        participant=np.repeat(np.arange(n_people), 10),
        seconds=rng.gamma(3, 20, len(question)),
        prompt_tokens=np.nan,
        completion_tokens=np.nan,
        cost=np.nan,
        confidence=confidence,
    )


def _table(model: int, question: Any, points: Any, words: Any, **others: Any) -> pd.DataFrame:
    table = pd.DataFrame({"question": question, "points": points, "words": words, **others})
    return table.assign(
        model=model,
        state="stop",
        has_text=True,
        is_contested=False,
        characters=table["words"] * 6,
        fate=[BIOSCORE.fate(value).value for value in points],
    )


def _person_grades(rng: np.random.Generator, answers: pd.DataFrame, human: Any) -> pd.DataFrame:
    """Two graders, who agree with the judge eight times of ten, and one below by one point else."""
    rows = np.flatnonzero(human)
    points = answers["points"].to_numpy()[rows]
    off = np.where(points > 0, np.maximum(points - 1, 0), points)
    parts = [
        pd.DataFrame(
            {"answer": rows, "grader": grader, "points": np.where(rng.random(len(rows)) < 0.8, points, off)}
        )
        for grader in (0, 1)
    ]  # fmt: skip
    return pd.concat(parts, ignore_index=True).assign(is_adjudication=False, is_simulated=False)
