"""Lists of test cases, of a field and of a study: which, in which order, and what is known of those on the page.

Figures are counted for the rows of one page, and for all that fit only where they decide which rows these are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import F, Q

from analysis.data.item_figures import (
    Items,
    ModelFigures,
    PeopleFigures,
    known_cutoffs,
    model_figures,
    people_figures,
)
from analysis.services.items.wanted import Order, Wanted
from analysis.stats import item_marks
from analysis.stats.estimates import Proportion, proportion_of_counts
from analysis.stats.item_marks import Mark
from experiment.domain.roles import Right
from experiment.models import Item, ResearchField, Study, StudyItem
from experiment.models.items import ItemQuerySet
from experiment.models.studies import StudyQuerySet
from experiment.services.curation.reviews import difficulty_seen_by, waiting_for
from experiment.services.rights import fields_of, studies_with


def marks_of(
    kind: str, published: date | None, people: PeopleFigures, cutoffs: Iterable[date]
) -> tuple[Mark, ...]:
    """None of catch and practice items: everyone is meant to be right on them."""
    if kind != Item.Kind.TEST:
        return ()
    by_people = item_marks.of_people(people.n, people.n_right, people.n_asked, people.n_recognised)
    return by_people + item_marks.of_date(published, cutoffs)


def beside(item: Item) -> Items:
    """It and the other test cases of its field, which whoever may read it may know of; of no field it stands alone."""
    own = Item.objects.filter(field=item.field) if item.field else Item.objects.filter(pk=item.pk)
    return own.values("pk")


def marks_for(item: Item, user: User) -> tuple[Mark, ...]:
    """By the people of the studies whose data the user may see."""
    studies = studies_with(user, Right.SEE_DATA)
    found = people_figures([item.pk], studies)
    cutoffs = [day for _, day in known_cutoffs(beside(item), studies)]
    figures = found.get(item.pk, PeopleFigures())
    return marks_of(item.kind, item.publication_date, figures, cutoffs)


PER_PAGE = 50
UNSEEN = PeopleFigures()


_IN_ROWS = {
    Order.NEWEST: (F("created_at").desc(), F("pk").desc()),
    Order.PUBLISHED: (F("publication_date").desc(nulls_last=True), F("key"), F("version").desc()),
}
_BY_KEY = (F("key"), F("version").desc())


class Row(NamedTuple):
    """Columns that are read of every version that fits."""

    pk: int
    status: str
    kind: str
    published: date | None


@dataclass(frozen=True, slots=True)
class Line:
    """A version. models: None where no model scored it, or where this person may not know (`is_hidden`)."""

    item: Item
    people: PeopleFigures
    models: ModelFigures | None
    is_hidden: bool
    marks: tuple[Mark, ...]

    @property
    def accuracy(self) -> Proportion | None:
        return proportion_of_counts(self.people.n_right, self.people.n) if self.people.n else None


@dataclass(frozen=True, slots=True)
class Listed:
    """A page with its lines; and how many there are in each state on all pages."""

    page: "Page[Row]"
    lines: tuple[Line, ...]
    states: Mapping[str, int]

    @property
    def said_states(self) -> list[str]:
        states = Item.Status
        return [f"{self.states[each]} {each.label}" for each in states if self.states.get(each)]

    @property
    def select_all(self) -> str:
        """The label of the box that ticks the page."""
        n = len(self.lines)
        return "Select the test case shown" if n == 1 else f"Select all {n} shown"


@dataclass(frozen=True)
class Figures:
    """Figures that one person may see of some versions."""

    items: Items
    user: User
    research_field: ResearchField

    @cached_property
    def studies(self) -> StudyQuerySet:
        return studies_with(self.user, Right.SEE_DATA)

    @cached_property
    def people(self) -> Mapping[int, PeopleFigures]:
        return people_figures(self.items, self.studies)

    @cached_property
    def seen(self) -> frozenset[int]:
        """Versions whose difficulty the person may know."""
        own = Item.objects.filter(difficulty_seen_by(self.user, self.research_field))
        return frozenset(own.filter(pk__in=self.items).values_list("pk", flat=True))

    @cached_property
    def models(self) -> Mapping[int, ModelFigures]:
        found = model_figures(self.items, self.studies)
        return {pk: figures for pk, figures in found.items() if pk in self.seen}

    @cached_property
    def cutoffs(self) -> list[date]:
        own = Item.objects.filter(field=self.research_field.name)
        return [day for _, day in known_cutoffs(own.values("pk"), self.studies)]

    def marks(self, row: "Row") -> tuple[Mark, ...]:
        people = self.people.get(row.pk, UNSEEN)
        return marks_of(row.kind, row.published, people, self.cutoffs)


def listed(user: User, research_field: ResearchField, wanted: Wanted, number: str | None) -> Listed:
    """One page; a number that is none leads to the first, one beyond the last to the last."""
    rows = narrowed(user, research_field, wanted)
    ordered = rows.order_by(*_IN_ROWS.get(wanted.order, _BY_KEY))
    columns = ("pk", "status", "kind", "publication_date")
    found = [Row(*values) for values in ordered.values_list(*columns)]
    figures = Figures(rows.order_by().values("pk"), user, research_field)
    if wanted.mark:
        found = [row for row in found if wanted.mark in figures.marks(row)]
    # In an order that figures give, those without any last; else as the rows came
    order = wanted.order
    sign = -1 if order in (Order.MOST, Order.BEST) else 1
    if order in (Order.FEWEST, Order.MOST):
        found.sort(key=lambda row: sign * figures.people.get(row.pk, UNSEEN).n)
    elif order in (Order.WORST, Order.BEST, Order.HARDEST):
        if order == Order.HARDEST:
            values = {pk: one.difficulty for pk, one in figures.models.items()}
        else:
            shares = {pk: one.accuracy for pk, one in figures.people.items()}
            values = {pk: sign * share for pk, share in shares.items() if share is not None}
        found.sort(key=lambda row: (row.pk not in values, values.get(row.pk, 0.0)))
    page = Paginator(found, PER_PAGE).get_page(number)
    # Of the page alone from here on
    pks = [row.pk for row in page.object_list]
    figures = Figures(pks, user, research_field)
    items = Item.objects.defer("markup", "original", "altered", "note").in_bulk(pks)
    lines = tuple(
        Line(
            items[row.pk],
            figures.people.get(row.pk, UNSEEN),
            figures.models.get(row.pk),
            row.pk not in figures.seen,
            figures.marks(row),
        )
        for row in page.object_list
    )
    return Listed(page, lines, Counter(row.status for row in found))


def narrowed(user: User, research_field: ResearchField, wanted: Wanted) -> ItemQuerySet:
    """The versions that fit, but for their marks."""
    rows = Item.objects.filter(field=research_field.name)
    if wanted.kind != Item.Kind.QUESTION:  # they have a list of their own
        rows = rows.exclude(kind=Item.Kind.QUESTION)
    if not wanted.all_versions:
        rows = rows.latest_versions()
    for column in ("status", "kind", "source", "subfield"):
        if value := getattr(wanted, column):
            rows = rows.filter(**{column: value})
    if wanted.study:
        rows = rows.filter(studies__slug=wanted.study)
    if wanted.is_waiting:
        rows = rows.filter(waiting_for(user))
    if wanted.text:
        columns = ("key", "doi", "original", "altered", "expert_answer")
        places = (Q(**{f"{column}__icontains": wanted.text}) for column in columns)
        rows = rows.filter(reduce(or_, places))
    return rows


@dataclass(frozen=True, slots=True)
class StudyLine:
    """field_slug: of its field where the user belongs to it, else empty. people, marks: empty where data are not theirs to see."""

    item: Item
    paused_at: datetime | None
    field_slug: str
    people: PeopleFigures
    marks: tuple[Mark, ...]

    @property
    def accuracy(self) -> Proportion | None:
        return proportion_of_counts(self.people.n_right, self.people.n) if self.people.n else None


def study_lines(
    study: Study, rows: Sequence[StudyItem], user: User, *, with_data: bool
) -> list[StudyLine]:
    """Lines of these rows of the study, in their order."""
    slugs = dict(fields_of(user).values_list("name", "slug"))
    figures: Mapping[int, PeopleFigures] = {}
    cutoffs = []
    if with_data:
        own = Study.objects.filter(pk=study.pk)
        figures = people_figures([row.item_id for row in rows], own)
        shown = Item.objects.shown_by([study])
        cutoffs = [day for _, day in known_cutoffs(shown.values("pk"), own)]
    lines = []
    for row in rows:
        item, people = row.item, figures.get(row.item_id, UNSEEN)
        marks = marks_of(item.kind, item.publication_date, people, cutoffs)
        lines.append(StudyLine(item, row.paused_at, slugs.get(item.field, ""), people, marks))
    return lines
