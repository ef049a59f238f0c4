"""Grades of answers, by judges and by people, and what each answer counts as."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import Q, QuerySet

from analysis.data.graded.answers import ABSTAINED, Answered
from analysis.data.graded.tables import NO_TEXT, NOT_GRADED
from analysis.data.items import read_columns, renumber
from experiment.models import Study
from scoring.domain.generating import Finish
from scoring.domain.grading.rubric import BIOSCORE, TOLERANCE, Rubric
from scoring.models import AnsweringRun, GradingPlan, GradingRun, JudgeGrade, PersonGrade
from scoring.services.grading.targets import is_settled, open_answers, open_judgments

# Answers that are graded as they stand; of others there is no text that could be
GRADABLE = (Finish.STOP.value, Finish.LENGTH.value)
INCOMPLETE = " (incomplete)"
OWN = ["question", "model", "participant", "state", "characters", "words", "prompt_tokens", "completion_tokens", "cost", "seconds", "confidence", "has_text", "points", "human_points", "is_contested", "fate"]  # fmt: skip
JUDGE_COLUMNS = ("name", "family", "is_exact", "is_simulated", "n_graded")
GRADED = {"of_answer": ("answer_id", float), "of_judgment": ("judgment_id", float), "points": ("points", float)}  # fmt: skip


def read_grades(study: Study, answered: Answered) -> dict[str, Any]:
    """The fields of GradedData that grades say something of.

    Whose grades count: of each model's answers those of the judge that graded most of them, of equals who graded most of all
    answers, then the newest, and the exact-match judge last; people's where no judge graded. Of a run that is over before its end those count that nothing is
    asked about again, and its judge is called incomplete.
    """
    answers = answered.answers
    # What people wrote was a text to grade, also where it was taken away since
    of_person = answers["state"] != ABSTAINED
    of_model = answers["state"].isin(GRADABLE) & (answers["words"] > 0)
    has_text = np.where(answers["of_people"], of_person, of_model).astype(bool)
    answers = answers.assign(has_text=has_text)
    runs = list(
        GradingRun.objects.filter(study=study)
        .exclude(status__in=GradingRun.OPEN_STATUSES)
        .select_related("language_model")
        .defer("instructions")
        .order_by("-pk")
    )
    judges, judge_grades, judge_rubrics = _judges(runs, answers)
    plan = GradingPlan.objects.filter(study=study).first()
    of_plan = Rubric.from_json(plan.rubric) if plan else BIOSCORE
    person_grades = _person_grades(study, answered, of_plan)
    rubric = judge_rubrics[0] if person_grades.empty and judge_rubrics else of_plan
    tolerance = plan.tolerance if plan else 0.0
    human, contested = settled(person_grades, len(answers), tolerance, rubric.abstention)
    judge, points, has_grade = _of_models(judge_grades, answers, len(answered.models), human)
    rubrics = [rubric if number < 0 else judge_rubrics[number] for number in judge]
    points, fates = _counted(answers, points, has_grade, rubrics, plan.seed if plan else 0)
    return {
        "judges": judges,
        "judge_grades": judge_grades,
        "person_grades": person_grades,
        "models": answered.models.assign(judge=judge),
        "answers": answers.assign(
            points=points,
            human_points=human,
            is_contested=contested,
            fate=fates,
        )[OWN],
        "rubric": rubric,
        "judge_rubrics": judge_rubrics,
    }


def settled(
    person_grades: pd.DataFrame, n: int, tolerance: float, abstention: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) what people gave each answer: what a third settled, else the first of theirs, NaN without a grade; (n,) whether it is open.

    Open: they differ by more than the tolerance, or one of them is an abstention, and nobody has settled it. Such an answer
    keeps its first grade, which is any person's as that of an answer one person graded: left out, what is hard to
    grade would be missing from the random sample.
    """
    found, contested = np.full(n, np.nan), np.zeros(n, dtype=bool)
    grades = person_grades.assign(abstained=person_grades["points"] == abstention)
    first = grades[~grades["is_adjudication"]].groupby("answer")
    points, abstained = first["points"].agg(["min", "max", "first"]), first["abstained"].mean()
    agree = (points["max"] - points["min"] <= tolerance + TOLERANCE) & abstained.isin([0, 1])
    graded = points.index.to_numpy(dtype=np.int64)
    found[graded], contested[graded] = points["first"], ~agree
    last = grades[grades["is_adjudication"]].groupby("answer")["points"].last()
    over = last.index.to_numpy(dtype=np.int64)
    found[over], contested[over] = last, False
    return found, contested


def _judges(
    runs: list[GradingRun], answers: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[Rubric, ...]]:
    """Judges, their grades and rubrics. Runs of one judge, prompt and rubric are one judge; the newest grade holds."""
    identities = {run.pk: _identity(run) for run in runs}
    stand = Q(run__status=GradingRun.Status.FINISHED) | is_settled()
    grades = read_columns(
        JudgeGrade.objects.filter(stand, run__in=list(identities)).order_by("pk"),
        {"run": ("run_id", np.int64), **GRADED},
    )
    grades["answer"] = _answer(grades, answers)
    grades = grades[grades["answer"] >= 0]
    grades["identity"] = grades["run"].map(identities)
    grades = grades.drop_duplicates(["identity", "answer"], keep="last")
    counts = Counter(grades["identity"])
    newest = {identity: pk for pk, identity in reversed(identities.items())}
    by_pk = {run.pk: run for run in runs}

    def place(identity: str) -> tuple[bool, int, int]:
        # A test of the set-up takes no answer from a judge that graded as many
        is_exact = by_pk[newest[identity]].is_exact_match
        return is_exact, -counts[identity], -newest[identity]

    known = sorted(counts, key=place)
    own = [by_pk[newest[identity]] for identity in known]
    left = _incomplete(runs, grades, answers)
    endings = [INCOMPLETE if identity in left else "" for identity in known]
    called = _names([run.judge_name for run in own], known)
    names = [f"{name}{ending}" for name, ending in zip(called, endings, strict=True)]
    judges = pd.DataFrame(
        [
            (name, run.language_model.family if run.language_model else "", run.is_exact_match, run.is_simulated, counts[identity])
            for name, run, identity in zip(names, own, known, strict=True)
        ],
        columns=list(JUDGE_COLUMNS),
    ).astype({"is_exact": bool, "is_simulated": bool, "n_graded": np.int64})  # fmt: skip
    places = {identity: n for n, identity in enumerate(known)}
    grades["judge"] = grades["identity"].map(places).astype(np.int64)
    rubrics = tuple(Rubric.from_json(run.rubric) for run in own)
    return judges, grades[["answer", "judge", "points"]].reset_index(drop=True), rubrics


def _incomplete(runs: list[GradingRun], grades: pd.DataFrame, answers: pd.DataFrame) -> set[str]:
    """Judges that stopped before their end, with answers left that no run of theirs has graded."""
    found = set()
    for run in runs:
        if run.status == GradingRun.Status.FINISHED:
            continue
        of_models = [(pk, np.nan) for pk in open_answers(run).values_list("pk", flat=True)]
        of_people = [(np.nan, pk) for pk in open_judgments(run).values_list("pk", flat=True)]
        rows = pd.DataFrame([*of_models, *of_people], columns=["of_answer", "of_judgment"])
        left = {answer for answer in _answer(rows.astype(float), answers).tolist() if answer >= 0}
        if left - set(grades["answer"][grades["identity"] == _identity(run)].tolist()):
            found.add(_identity(run))
    return found


def _identity(run: GradingRun) -> str:
    return json.dumps(run.identity, sort_keys=True) if run.identity else f"run {run.pk}"


def _names(names: Sequence[str], identities: Sequence[str]) -> list[str]:
    """Names of judges; where two have one, each with the first letters of its identity's SHA-256.

    >>> _names(["GPT", "Gemini", "GPT"], ["a", "b", "c"])
    ['GPT [ca9781]', 'Gemini', 'GPT [2e7d2c]']
    """
    n = Counter(names)
    return [
        f"{name} [{hashlib.sha256(identity.encode()).hexdigest()[:6]}]" if n[name] > 1 else name
        for name, identity in zip(names, identities, strict=True)
    ]


def _answer(rows: pd.DataFrame, answers: pd.DataFrame) -> np.ndarray:
    """The number of what each row is about; -1 of what is not among the answers."""
    found = np.full(len(rows), -1, dtype=np.int64)
    for of_people, column in ((False, "of_answer"), (True, "of_judgment")):
        own = answers[answers["of_people"] == of_people]["pk"]
        about = rows[column].notna().to_numpy()
        numbers = dict(zip(own.tolist(), own.index.tolist(), strict=True))
        found[about] = renumber(rows[column][about], numbers)
    return found


def _person_grades(study: Study, answered: Answered, rubric: Rubric) -> pd.DataFrame:
    """Those by this rubric: a run of another study may have been graded by another. Simulated ones where no person has graded."""
    plans = AnsweringRun.objects.filter(pk__in=answered.runs).values_list(
        "pk", "study__grading_plan__rubric"
    )
    same = [pk for pk, own in plans if not own or Rubric.from_json(own).sha256 == rubric.sha256]
    rows: QuerySet[PersonGrade] = PersonGrade.objects.filter(
        Q(answer__run__in=same) | Q(judgment__trial__participant__study=study)
    )
    columns: Mapping[str, tuple[str, Any]] = {
        **GRADED,
        "grader": ("grader_id", float),
        "is_adjudication": ("is_adjudication", bool),
        "is_simulated": ("is_simulated", bool),
    }
    table = read_columns(rows.order_by("pk"), columns)
    table["answer"] = _answer(table, answered.answers)
    table = table[table["answer"] >= 0]
    if not table["is_simulated"].all():
        table = table[~table["is_simulated"]]
    # From 0. Those who have no account, or none any more, count as one for each grade that an answer has of them
    unknown = table["grader"].isna()
    nth = table[unknown].groupby("answer").cumcount()
    named = table["grader"].where(~unknown, -1 - nth.reindex(table.index))
    table["grader"] = np.asarray(pd.factorize(named, sort=True)[0], dtype=np.int64)
    wanted = ["answer", "grader", "points", "is_adjudication", "is_simulated"]
    return table[wanted].reset_index(drop=True)


def _of_models(
    judge_grades: pd.DataFrame, answers: pd.DataFrame, n_models: int, human: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(models,) the judge that graded most of its answers, of equals the first; -1 none: people's grades count then.

    And (answers,) points, NaN none or not to be read, and whether there is a grade.
    """
    judge = np.full(n_models, -1, dtype=np.int64)
    model = answers["model"].to_numpy()
    graded = judge_grades["answer"].to_numpy(dtype=np.int64)
    by = judge_grades["judge"].to_numpy(dtype=np.int64)
    counts = np.zeros((n_models, int(by.max(initial=0)) + 1), dtype=np.int64)
    np.add.at(counts, (model[graded], by), 1)
    judged = counts.any(axis=1)
    judge[judged] = counts[judged].argmax(axis=1)
    points = np.where(judge[model] < 0, human, np.nan)
    has_grade = ~np.isnan(points)
    counting = by == judge[model[graded]]
    points[graded[counting]] = judge_grades["points"].to_numpy()[counting]
    has_grade[graded[counting]] = True
    return judge, points, has_grade


def _counted(
    answers: pd.DataFrame,
    points: np.ndarray,
    has_grade: np.ndarray,
    rubrics: Sequence[Rubric],
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """(answers,) points, and what each answer counts as, by its model's rubric: what has a grade, and of what nobody can grade
    the same share as of texts. rubrics: (models,).

    Whoever graded a tenth of a model's texts has seen a tenth of its failures, too, and of a participant's "I do not know":
    the seed draws which. All of either would stand beside a sample of the texts, and rates would be no rates of all answers.
    """
    counts, points = has_grade.copy(), points.copy()
    fates = np.full(len(answers), NOT_GRADED, dtype=object)
    has_text, model = answers["has_text"].to_numpy(), answers["model"].to_numpy()
    unasked = (answers["state"] == ABSTAINED).to_numpy()
    for number, rubric in enumerate(rubrics):
        own = model == number
        texts, without = own & has_text, np.flatnonzero(own & ~has_text)
        # Who never wrote a text never needed a grade; nobody has graded a model all of whose answers failed
        share = has_grade[texts].mean() if texts.any() else float(unasked[own].any())
        n_more = round(share * len(without)) - int(has_grade[without].sum())
        waiting = without[~has_grade[without]]
        if n_more > 0:
            drawn = [
                hashlib.sha256(f"{seed}/{pk}".encode()).hexdigest()
                for pk in answers["pk"].to_numpy()[waiting]
            ]
            counts[waiting[np.argsort(drawn)[:n_more]]] = True
        abstains = 0.0 if rubric.abstention is None else rubric.abstention
        points[own & counts & unasked & ~has_grade] = abstains
        counted = np.flatnonzero(own & counts)
        fates[counted] = [rubric.fate(value).value for value in points[counted]]
    fates[counts & ~has_text & ~unasked & np.isnan(points)] = NO_TEXT
    return points, fates
