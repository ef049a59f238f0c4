"""The answer in three numbers: people, models, and how they differ. The page, the terminal and report.json lead with them.

Each interval takes neither the participants nor the test cases as given (clustered by both); beside it stands the naive one, which
does, under that name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import Accuracy, HumanAccuracy, ModelAccuracy
from analysis.report.chapters.uncertainty.results import Crossed, CrossedErrors, Errors
from analysis.stats.arrays import Interval
from analysis.stats.estimates import Mean
from lib.formatting import lies
from lib.levels import ENOUGH

METHOD = (
    "ci95: 95% interval from standard errors clustered by participants and test cases (for models alone, by test "
    "cases), otherwise from the crossed bootstrap; null if the data are insufficient. naive_ci95 treats trials as "
    "independent (humans, binomial), test cases as independent (one model, binomial), or people and test cases as "
    "fixed and models as a random sample (Student's t)."
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share, or a difference of shares, of n trials, test cases or models; intervals as METHOD says."""

    value: float
    n: int
    ci95: Interval | None
    naive_ci95: Interval | None

    @property
    def side(self) -> str:
        """Of 0 on which the clustered interval lies, "" where there is none."""
        return lies(self.ci95)


@dataclass(frozen=True, slots=True)
class Few:
    """Fewer participants, or test cases, than ENOUGH: no direction is concluded."""

    n_participants: int
    n_items: int

    @property
    def words(self) -> str:
        return _(
            "Participants: %(people)s; test cases: %(cases)s. Fewer than %(enough)s of either are too few to say who is more accurate. "
            "Intervals clustered by both hold, but those of single trials, and of the mixed model, are too narrow."
        ) % {"people": self.n_participants, "cases": self.n_items, "enough": ENOUGH}


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer for one source. models: of the only model, which `model` then names, else the mean over models.

    few: None where there are enough participants and test cases, or no participants.
    """

    humans: Estimate | None
    models: Estimate | None
    model: str | None
    n_models: int
    difference: Estimate | None
    few: Few | None
    method: str = METHOD

    @property
    def is_empty(self) -> bool:
        return not (self.humans or self.models or self.difference)


def headline(source: SourceResults) -> Headline:
    """The first thing to read."""
    own, crossed = source.of(Accuracy), present(source.of(Crossed).crossed)
    models = present(own.models) or ()
    is_one = len(models) == 1
    return Headline(
        humans=_humans(own, crossed),
        models=_model(models[0], crossed) if is_one else _mean(present(own.models_mean), crossed),
        model=models[0].label if is_one else None,
        n_models=len(models),
        difference=_difference(own, crossed),
        few=_few(present(own.humans)),
    )


def headlines(sources: Mapping[str, SourceResults]) -> Sequence[tuple[str, Headline]]:
    """Source and answer, for each source that has anything."""
    found = [(name, headline(source)) for name, source in sources.items()]
    return [(name, answer) for name, answer in found if not answer.is_empty]


def _few(humans: HumanAccuracy | None) -> Few | None:
    if humans is None or min(humans.n_participants, humans.n_items) >= ENOUGH:
        return None
    return Few(humans.n_participants, humans.n_items)


def _humans(own: Accuracy, crossed: CrossedErrors | None) -> Estimate | None:
    humans = present(own.humans)
    if humans is None:
        return None
    share = humans.trials
    errors = crossed.humans.errors if crossed and crossed.humans else None
    return Estimate(share.accuracy, share.n, _best(errors), share.ci95)


def _model(model: ModelAccuracy, crossed: CrossedErrors | None) -> Estimate:
    found = (m.errors for m in (crossed.models if crossed else ()) if m.name == model.name)
    return Estimate(model.items.accuracy, model.items.n, _best(next(found, None)), model.items.ci95)


def _mean(mean: Mean | None, crossed: CrossedErrors | None) -> Estimate | None:
    if mean is None:
        return None
    errors = crossed.models_mean.errors if crossed and crossed.models_mean else None
    return Estimate(mean.mean, mean.n, _best(errors), mean.ci95)


def _difference(own: Accuracy, crossed: CrossedErrors | None) -> Estimate | None:
    gap, versus = crossed and crossed.difference, present(own.models_vs_humans)
    if gap is None and versus is None:
        return None
    naive = versus.test.ci95 if versus and lies(versus.test.ci95) else None
    if gap:
        return Estimate(gap.mean, gap.n, _best(gap.errors), naive)
    assert versus is not None
    return Estimate(versus.test.mean_difference, versus.test.n, None, naive)


def _best(errors: Errors | None) -> Interval | None:
    return errors.best_ci95 if errors else None
