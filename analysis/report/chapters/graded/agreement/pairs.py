"""Grades laid side by side, an answer per row."""

import numpy as np
import numpy.typing as npt

from analysis.data.graded.tables import GradedData
from analysis.stats.graded.scale import on_scale

Floats = npt.NDArray[np.float64]


def of_judge(data: GradedData, judge: int) -> Floats:
    """(answers,) points by this judge on the rubric's scale, NaN where it gave none; none of one with another rubric than people's."""
    found = np.full(len(data.answers), np.nan)
    if not data.grades_as_people(judge):
        return found
    rows = data.judge_grades[data.judge_grades["judge"] == judge]
    found[rows["answer"].to_numpy(dtype=np.int64)] = rows["points"]
    return on_scale(found, data.rubric)


def by_grader(data: GradedData) -> Floats:
    """(answers, most people of one answer) what people gave before anyone settled it; NaN where fewer graded."""
    first = data.person_grades[~data.person_grades["is_adjudication"]]
    first = first.sort_values(["answer", "grader"], kind="stable")
    place = first.groupby("answer").cumcount().to_numpy(dtype=np.int64)
    found = np.full((len(data.answers), int(place.max(initial=-1)) + 1), np.nan)
    found[first["answer"].to_numpy(dtype=np.int64), place] = first["points"]
    return on_scale(found, data.rubric)
