"""Deferral where answers are written and graded: a model answers where it is sure, else a person does."""

import numpy as np
import numpy.typing as npt

from analysis.teams.domain.deferral import Judges
from analysis.teams.results import Policy


def deferring(
    confidence: npt.ArrayLike, model_good: npt.ArrayLike, person_good: npt.ArrayLike
) -> Judges:
    """What `who_decides` and `choose_threshold` take, for n questions that a model and a person answered: (n,) each.

    confidence: 0 to 1 that the model's answer is good. Choices of two are never less sure than .5, so certainty is
    (1 + confidence) / 2; a threshold t of theirs is a confidence of 2 t - 1. Raises ValueError for what is no confidence.

    >>> judges = deferring([0.0, 0.8], [False, True], [True, True])
    >>> judges.p_model.tolist(), judges.asked(Policy.HUMAN, 0.6, judges.p_model < 0.6).accuracy
    ([0.5, 0.9], 1.0)
    """
    sure = np.asarray(confidence, dtype=np.float64)
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError("A confidence is from 0 to 1.")
    right = np.asarray(model_good, dtype=bool), np.asarray(person_good, dtype=bool)
    return Judges((1 + sure) / 2, right[0], {Policy.HUMAN: right[1]})
