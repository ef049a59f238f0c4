"""Trials that would be in the analysis if a rule did not exclude anybody. Pure pandas."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.data.dataset import Bools
from experiment.domain.exclusion import (
    BY_HAND,
    NOT_FINISHED,
    PARTICIPANT_REASONS,
    TRIAL_REASONS,
    WITHDRAWN,
)

ASSIGNED, NO_RULES = "assigned", "no_rules"
RULES = {
    reason.code: reason
    for reason in (*PARTICIPANT_REASONS, *TRIAL_REASONS)
    if reason is not WITHDRAWN
}


@dataclass(frozen=True)
class Undone:
    """code: ASSIGNED, everybody who answered; NO_RULES, of those who finished all; else that of the only reason that is undone."""

    code: str
    what: str
    kept: Bools


def undone(judged: pd.DataFrame) -> Iterator[Undone]:
    """judged: with the columns `reasons` and `person_reasons` of SourceData. Nothing where nothing is left out.

    A reason is undone alone: what has another one stays out.
    """
    if judged.empty:
        return
    codes = _codes(judged["reasons"]), _codes(judged["person_reasons"])
    known = {code for column in codes for own in column for code in own}
    if not known:
        return
    everybody = np.ones(len(judged), dtype=bool)
    yield Undone(
        ASSIGNED, "All answers, also of those who did not finish or were excluded.", everybody
    )
    rules = [reason for code, reason in RULES.items() if code in known]
    if any(reason is not NOT_FINISHED for reason in rules):
        finished = np.array([NOT_FINISHED.code not in own for own in codes[1]])
        nobody = (
            "no rule excludes any, nor does a person"
            if BY_HAND in rules
            else "no rule excludes any"
        )
        yield Undone(NO_RULES, f"All answers of those who finished; {nobody}.", finished)
    said = {
        NOT_FINISHED: "Those who did not finish are included.",
        BY_HAND: "Those whom the researchers excluded by hand are included.",
    }
    for reason in rules:
        without = said.get(reason, f"Nothing is excluded as “{reason.label}”.")
        only = {reason.code}
        kept = [not (trial | person) - only for trial, person in zip(*codes, strict=True)]
        yield Undone(reason.code, without, np.array(kept))


def _codes(column: pd.Series) -> list[frozenset[str]]:
    each = {value: frozenset(str(value).split()) for value in column.unique()}
    return [each[value] for value in column]
