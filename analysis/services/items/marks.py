"""A version's marks, from what people made of it and when it was published."""

from collections.abc import Iterable
from datetime import date

from django.contrib.auth.models import User

from analysis.data.item_figures import PeopleFigures, known_cutoffs, people_figures
from analysis.stats import item_differences
from analysis.stats.item_differences import Mark
from experiment.domain.roles import Right
from experiment.models import Item
from experiment.services.rights import studies_with


def marks_of(
    kind: str, published: date | None, people: PeopleFigures, cutoffs: Iterable[date]
) -> tuple[Mark, ...]:
    """None of catch and practice items: everyone is meant to be right on them."""
    if kind != Item.Kind.TEST:
        return ()
    by_people = item_differences.of_people(
        people.n, people.n_right, people.n_asked, people.n_recognised
    )
    return by_people + item_differences.of_date(published, cutoffs)


def marks_for(item: Item, user: User) -> tuple[Mark, ...]:
    """By the people of the studies whose data the user may see."""
    found = people_figures([item.pk], studies_with(user, Right.SEE_DATA))
    cutoffs = [day for _, day in known_cutoffs()]
    figures = found.get(item.pk, PeopleFigures())
    return marks_of(item.kind, item.publication_date, figures, cutoffs)
