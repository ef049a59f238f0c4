"""What answers took, by model, and how they ended, by category: counted by the database, however many there are."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from experiment.models import Study
from scoring.domain.generating import Finish, Usage
from scoring.models import Answer, AnsweringRun
from scoring.services.asking.settings import IS_KNOWN

PER = 1000  # questions
IS_TIMED = Q(seconds__gt=0)  # a line of an import may say no time


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a model's answers; `n_*` count questions.

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

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.name,
            self.display_name,
            self.n + other.n,
            self.n_known + other.n_known,
            self.n_priced + other.n_priced,
            self.usage + other.usage,
            self.n_timed + other.n_timed,
            self.seconds + other.seconds,
            self.money + other.money,
        )

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
    """Of each model that answered questions of the study, by name; runs of one model are taken together."""
    runs = AnsweringRun.objects.filter(study=study).select_related("language_model")
    return costs_of(runs.defer("items", "identity"))


def costs_of(runs: Iterable[AnsweringRun]) -> list[Cost]:
    known = list(runs)
    counted = _by_run(Answer.objects.filter(run__in=[run.pk for run in known]))
    by_model: dict[str, Cost] = {}
    for run in known:
        model = run.language_model
        none = Cost(model.name, model.display_name)
        by_model[model.name] = by_model.get(model.name, none) + _of(run, counted.get(run.pk), none)
    return [by_model[name] for name in sorted(by_model)]


def _by_run(answers: QuerySet[Answer]) -> dict[int, dict[str, Any]]:
    rows = answers.order_by().values("run").annotate(
        n=Count("pk"),
        n_known=Count("pk", filter=IS_KNOWN),
        read=Sum("prompt_tokens", filter=IS_KNOWN, default=0),
        written=Sum("completion_tokens", filter=IS_KNOWN, default=0),
        n_timed=Count("pk", filter=IS_TIMED),
        seconds=Sum("seconds", default=0.0),
    )  # fmt: skip
    return {row["run"]: dict(row) for row in rows}


def _of(run: AnsweringRun, row: dict[str, Any] | None, none: Cost) -> Cost:
    if row is None:
        return none
    usage = Usage(int(row["read"]), int(row["written"]))
    prices = run.prices
    return Cost(
        none.name,
        none.display_name,
        n=row["n"],
        n_known=row["n_known"],
        n_priced=row["n_known"] if prices else 0,
        usage=usage,
        n_timed=row["n_timed"],
        seconds=row["seconds"],
        money=prices.cost(usage) if prices else Decimal(0),
    )


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
        """Of each way to end, in the order of `Finish`: how often, and its share."""
        return [(self.counts[f], self.counts[f] / self.n if self.n else 0.0) for f in Finish]


def states(answers: QuerySet[Answer]) -> list[States]:
    """Of all answers, then of those of each category, by dimension and name."""
    counted: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    rows = answers.order_by().values_list("item__categories", "finish").annotate(n=Count("pk"))
    for categories, finish, n in rows:
        for place in [("", ""), *_places(categories)]:
            counted[place][finish] += n
    return [States(*place, counted[place]) for place in sorted(counted)]


def _places(categories: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    for dimension, names in categories.items():
        yield from ((dimension, name) for name in dict.fromkeys(names))


def finishes(answers: QuerySet[Answer]) -> Counter[str]:
    """How often answers ended in each way."""
    counted = answers.order_by().values_list("finish").annotate(n=Count("pk"))
    return Counter(dict(counted))
