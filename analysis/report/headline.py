"""The answer in three numbers: people, models, and how they differ. The page, the terminal and report.json lead with them.

Each interval takes neither the participants nor the test cases as given (clustered by both).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from analysis.codec import present
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import Accuracy
from analysis.report.chapters.uncertainty.results import Crossed, Errors
from analysis.stats.arrays import Interval
from analysis.stats.verdicts import Concludes, Verdict
from lib.levels import ENOUGH

METHOD = (
    "ci95: 95% interval from standard errors clustered by participants and test cases (for models alone, by test "
    "cases), otherwise from the crossed bootstrap; null if the data are insufficient."
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share, or a difference of shares, of n trials, test cases or models; the interval as METHOD says."""

    value: float
    n: int
    ci95: Interval | None


@dataclass(frozen=True, slots=True)
class Few:
    """Fewer participants, or test cases, than ENOUGH: no direction is concluded."""

    n_participants: int
    n_items: int

    @property
    def words(self) -> str:
        return (
            f"Participants: {self.n_participants}; test cases: {self.n_items}. Fewer than {ENOUGH} of either are too few to say who is more "
            "accurate. Intervals clustered by both hold, but those of single trials, and of the mixed model, are too narrow."
        )


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer for one source. models: of the only model, which `model` then names, else the mean over models.

    few: None where there are enough participants and test cases, or no participants. verdict: of the difference, None without one.
    """

    humans: Estimate | None
    models: Estimate | None
    model: str | None
    n_models: int
    difference: Estimate | None
    few: Few | None
    verdict: Annotated[
        Verdict | None, Concludes("whether the models, on average, or people are right more often")
    ]
    method: str = METHOD

    @property
    def is_empty(self) -> bool:
        return not (self.humans or self.models or self.difference)


def headline(source: SourceResults) -> Headline:
    """The first thing to read."""
    own, of_crossed = source.of(Accuracy), source.results.get(Crossed)
    crossed = present(of_crossed.crossed) if of_crossed else None
    humans = few = None
    if people := present(own.humans):
        errors = crossed.humans.errors if crossed and crossed.humans else None
        humans = Estimate(people.trials.accuracy, people.trials.n, _best(errors))
        if min(people.n_participants, people.n_items) < ENOUGH:
            few = Few(people.n_participants, people.n_items)
    # The only model by itself, else the mean over models
    models, answer = present(own.models) or (), None
    if len(models) == 1:
        (model,) = models
        every = {one.name: one.errors for one in (crossed.models if crossed else ())}
        answer = Estimate(model.items.accuracy, model.items.n, _best(every.get(model.name)))
    elif mean := present(own.models_mean):
        errors = crossed.models_mean.errors if crossed and crossed.models_mean else None
        answer = Estimate(mean.mean, mean.n, _best(errors))
    gap, versus = crossed and crossed.difference, present(own.models_vs_humans)
    # Without crossed uncertainty, the difference is that of the paired test, and has no interval
    difference = None
    if gap:
        difference = Estimate(gap.mean, gap.n, _best(gap.errors))
    elif versus:
        difference = Estimate(versus.test.mean_difference, versus.test.n, None)
    return Headline(
        humans=humans,
        models=answer,
        model=models[0].label if len(models) == 1 else None,
        n_models=len(models),
        difference=difference,
        few=few,
        verdict=(gap.verdict if gap else Verdict.TOO_FEW) if difference else None,
    )


def headlines(sources: Mapping[str, SourceResults]) -> Sequence[tuple[str, Headline]]:
    """Source and answer, for each source that has anything."""
    found = [(name, headline(source)) for name, source in sources.items()]
    return [(name, answer) for name, answer in found if not answer.is_empty]


def _best(errors: Errors | None) -> Interval | None:
    return errors.best_ci95 if errors else None
