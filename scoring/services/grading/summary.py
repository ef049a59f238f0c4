"""What a judge found, counted by whose answers they are."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count, Q

from scoring.domain.grading.rubric import ABSTAINED, TOLERANCE, Fate, Rubric
from scoring.models import GradingRun
from scoring.services.grading.targets import PEOPLE


@dataclass(slots=True)
class Counts:
    """Answers by fate."""

    good: int = 0
    abstained: int = 0
    bad: int = 0
    unparsed: int = 0

    @property
    def n(self) -> int:
        return self.good + self.abstained + self.bad + self.unparsed

    def add(self, fate: Fate, n: int) -> None:
        setattr(self, fate.value, getattr(self, fate.value) + n)


def summary(run: GradingRun) -> dict[str, Counts]:
    """Of each model by its name in tables, and of "people"."""
    rubric, found = Rubric.from_json(run.rubric), defaultdict[str, Counts](Counts)
    rows = run.grades.order_by().values_list("answer__run__language_model__display_name", "points")
    for name, points, n in rows.annotate(n=Count("pk")):
        found[name or PEOPLE].add(rubric.fate(points), n)
    return dict(sorted(found.items()))


def with_fate(rubric: Rubric, fate: Fate) -> Q:
    """Grades of this fate: `Rubric.fate`, as the database tells it."""
    is_good = Q(points__gte=rubric.good_from * rubric.top - TOLERANCE)
    abstained = Q(points=ABSTAINED) if rubric.abstention is not None else Q(pk__in=[])
    unparsed = Q(points__isnull=True)
    known = {Fate.GOOD: is_good, Fate.ABSTAINED: abstained, Fate.UNPARSED: unparsed}
    return known.get(fate, ~is_good & ~abstained & ~unparsed)
