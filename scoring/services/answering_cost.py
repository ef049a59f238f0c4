"""Costs of answers, by model, and how they ended, by category: counted by the database, however many there are."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from experiment.models import Study
from scoring.domain.generating import Finish, Prices, Usage
from scoring.models import Answer, AnsweringRun
from scoring.services.asking.settings import IS_KNOWN
from scoring.services.model_facts import told_apart

PER = 1000  # questions
IS_TIMED = Q(seconds__gt=0)  # a line of an import may say no time


@dataclass(slots=True)
class Cost:
    """The cost of a model's answers; `n_*` count questions.

    n_known: the server said what the answer took. usage, money: of these. n_priced: of these, those with a price, whose
    cost `money` is. n_timed: those that say how long they took. seconds: of these from asking to the end, added up, whatever
    went on at the same time.
    """

    name: str
    display_name: str
    n: int = 0
    n_known: int = 0
    n_priced: int = 0
    usage: Usage = field(default_factory=Usage)
    n_timed: int = 0
    seconds: float = 0.0
    money: Decimal = Decimal(0)

    def add(self, row: Mapping[str, Any], prices: Prices | None) -> None:
        """Count a run's answers, summed up."""
        usage = Usage(int(row["read"]), int(row["written"]))
        self.n += row["n"]
        self.n_known += row["n_known"]
        self.usage += usage
        self.n_timed += row["n_timed"]
        self.seconds += row["seconds"]
        if prices:
            self.n_priced += row["n_known"]
            self.money += prices.cost(usage)

    @property
    def read_per_1000(self) -> float | None:
        return _per(self.usage.prompt_tokens, self.n_known)

    @property
    def written_per_1000(self) -> float | None:
        return _per(self.usage.completion_tokens, self.n_known)

    @property
    def seconds_per_1000(self) -> float | None:
        return _per(self.seconds, self.n_timed)

    @property
    def money_per_1000(self) -> float | None:
        return _per(float(self.money), self.n_priced)


def _per(total: float, n: int) -> float | None:
    """
    >>> _per(50, 200), _per(0, 0)
    (250.0, None)
    """
    return PER * total / n if n else None


def costs(study: Study) -> list[Cost]:
    """The costs of each model that answered questions of the study, by name; runs of one model are taken together."""
    runs = AnsweringRun.objects.filter(study=study).select_related("language_model")
    by_number = {run.pk: run for run in runs.defer("items", "identity")}
    names = told_apart(run.language_model for run in by_number.values())
    by_model: dict[str, Cost] = {}
    for run in by_number.values():
        model = run.language_model
        by_model.setdefault(model.name, Cost(model.name, names[model.pk]))
    answers = Answer.objects.filter(run__in=list(by_number))
    rows = (
        answers.order_by("run")
        .values("run")
        .annotate(
            n=Count("pk"),
            n_known=Count("pk", filter=IS_KNOWN),
            read=Sum("prompt_tokens", filter=IS_KNOWN, default=0),
            written=Sum("completion_tokens", filter=IS_KNOWN, default=0),
            n_timed=Count("pk", filter=IS_TIMED),
            seconds=Sum("seconds", default=0.0),
        )
    )
    for row in rows:
        run = by_number[row["run"]]
        by_model[run.language_model.name].add(row, run.prices)
    return [by_model[name] for name in sorted(by_model)]


@dataclass(frozen=True, slots=True)
class States:
    """How often answers ended in each way; a question in several categories of a dimension counts in each."""

    dimension: str  # "" for all questions
    category: str
    counts: Counter[str]

    @property
    def n(self) -> int:
        return self.counts.total()

    @property
    def cells(self) -> list[tuple[int, float]]:
        """For each way to end, in the order of `Finish`: how often, and its share."""
        return [(self.counts[f], self.counts[f] / self.n if self.n else 0.0) for f in Finish]


def states(answers: QuerySet[Answer]) -> list[States]:
    """The states of all answers, then of those of each category, by dimension and name."""
    counted: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    rows = answers.order_by().values_list("item__categories", "finish").annotate(n=Count("pk"))
    for categories, finish, n in rows:
        named = {(dimension, name) for dimension, names in categories.items() for name in names}
        for place in [("", ""), *named]:
            counted[place][finish] += n
    return [States(*place, counted[place]) for place in sorted(counted)]


def finishes(answers: QuerySet[Answer]) -> Counter[str]:
    """How often answers ended in each way."""
    counted = answers.order_by().values_list("finish").annotate(n=Count("pk"))
    return Counter(dict(counted))
