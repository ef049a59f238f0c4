"""Whether a version tells able people from others: item-rest correlation, and the 2PL model of the field."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from django.contrib.auth.models import User

from analysis.data.item_figures import valid_judgments
from analysis.data.items import read_columns
from analysis.stats import MissingResult, NotEnough
from analysis.stats.item_response import (
    FEWEST_ANSWERS,
    ItemRest,
    TwoParameters,
    item_rest,
    two_parameters,
)
from experiment.domain.roles import Right
from experiment.models import Item
from experiment.models.studies import StudyQuerySet
from experiment.services.rights import studies_with

MOST_ANSWERS = 300_000  # read for a page
MOST_FITTED = 20_000  # answers that a page waits for a fit of


@dataclass(frozen=True)
class Fitted:
    """One item's part of a fit."""

    fit: TwoParameters
    at: int
    n_items: int

    @property
    def has_enough(self) -> bool:
        return bool(self.fit.n[self.at] >= FEWEST_ANSWERS)

    @property
    def a(self) -> tuple[float, float]:
        return float(self.fit.a[self.at]), float(self.fit.a_se[self.at])

    @property
    def b(self) -> tuple[float, float]:
        return float(self.fit.b[self.at]), float(self.fit.b_se[self.at])


def fitted(item: Item, user: User) -> Fitted | MissingResult:
    """The 2PL model of the field's test cases that were judged often enough, for this one."""
    try:
        table = _answers(item, studies_with(user, Right.SEE_DATA), MOST_FITTED)
        pks, number, counts = np.unique(table["item"], return_inverse=True, return_counts=True)
        enough = counts >= FEWEST_ANSWERS
        if item.pk not in pks[enough]:
            n = int(counts[pks == item.pk].sum())
            raise NotEnough(
                f"This test case has {n} judgments.", f"At least {FEWEST_ANSWERS} are needed."
            )
        keep = enough[number]
        numbers = np.searchsorted(pks[enough], table["item"][keep])
        n_items = int(enough.sum())
        fit = two_parameters(table["person"][keep], numbers, table["right"][keep], n_items=n_items)
        return Fitted(fit, int(np.searchsorted(pks[enough], item.pk)), n_items)
    except NotEnough as error:
        return MissingResult.of(error)


def rest_correlation(item: Item, studies: StudyQuerySet) -> ItemRest | MissingResult:
    try:
        table = _answers(item, studies, MOST_ANSWERS)
        pks, number = np.unique(table["item"], return_inverse=True)
        at = int(np.searchsorted(pks, item.pk))
        if at == len(pks) or pks[at] != item.pk:
            raise NotEnough("Nobody has judged it.", "At least 10 people are needed.")
        return item_rest(table["person"], number, table["right"], at)
    except NotEnough as error:
        return MissingResult.of(error)


def _answers(
    item: Item, studies: StudyQuerySet, most: int
) -> "Mapping[str, np.ndarray[tuple[int], np.dtype[np.int64]]]":
    """Person, item and whether right, of the valid judgments of the field's test cases."""
    rows = valid_judgments(studies).filter(
        trial__item__field=item.field, trial__item__kind=Item.Kind.TEST
    )
    if rows.count() > most:
        raise NotEnough(
            f"The field has more than {most:,} judgments.",
            "That is more than a page waits for; analysis/stats computes it from Python.",
        )
    columns = {
        "person": ("trial__participant_id", np.int64),
        "item": ("trial__item_id", np.int64),
        "right": ("correct", bool),
    }
    table = read_columns(rows, columns)
    return {name: table[name].to_numpy() for name in columns}
