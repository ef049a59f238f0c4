"""A version's marks, from what people made of it and when it was published."""

from collections.abc import Iterable
from datetime import date

from analysis.data.item_figures import PeopleFigures
from analysis.stats import item_marks
from analysis.stats.item_marks import Mark
from experiment.models import Item


def marks_of(
    kind: str, published: date | None, people: PeopleFigures, cutoffs: Iterable[date]
) -> tuple[Mark, ...]:
    """None of catch and practice items: everyone is meant to be right on them."""
    if kind != Item.Kind.TEST:
        return ()
    by_people = item_marks.of_people(people.n, people.n_right, people.n_asked, people.n_recognised)
    return by_people + item_marks.of_date(published, cutoffs)
