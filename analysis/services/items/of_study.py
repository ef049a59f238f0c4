"""A study's test cases, with what its people made of them and whether they are drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from analysis.data.item_figures import PeopleFigures, known_cutoffs, people_figures
from analysis.services.items.marks import marks_of
from analysis.stats.estimates import Proportion, proportion_of_counts
from analysis.stats.item_differences import Mark
from experiment.models import Item, Study, StudyItem
from experiment.services.rights import fields_of

UNSEEN = PeopleFigures()


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
    """Of these rows of the study, in their order."""
    slugs = dict(fields_of(user).values_list("name", "slug"))
    figures: Mapping[int, PeopleFigures] = {}
    cutoffs = []
    if with_data:
        figures = people_figures([row.item_id for row in rows], Study.objects.filter(pk=study.pk))
        cutoffs = [day for _, day in known_cutoffs()]
    lines = []
    for row in rows:
        item, people = row.item, figures.get(row.item_id, UNSEEN)
        marks = marks_of(item.kind, item.publication_date, people, cutoffs)
        lines.append(StudyLine(item, row.paused_at, slugs.get(item.field, ""), people, marks))
    return lines
