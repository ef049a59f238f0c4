"""The answer in three numbers: people, models, and how they differ."""

from dataclasses import dataclass

from analysis.codec import present
from analysis.report.chapter import SourceResults
from analysis.report.chapters.accuracy.results import Accuracy, HumanAccuracy, ModelAccuracy
from analysis.report.chapters.crossed.results import Crossed
from analysis.report.chapters.crossed.results import Difference as CrossedDifference
from analysis.report.page.sections import source_label
from analysis.report.report import Report
from analysis.stats.arrays import Interval
from analysis.stats.estimates import Mean
from lib.formatting import lies


@dataclass(frozen=True, slots=True)
class Difference:
    """The models' accuracy minus the people's; is_crossed: the interval takes neither people nor test cases as given."""

    value: float
    ci95: Interval
    is_crossed: bool


@dataclass(frozen=True, slots=True)
class Headline:
    """The answer for one source. `model`: the only one, else `mean` is over n_models.

    side: of 0 on which the crossed interval of the difference lies, "" where there is none.
    """

    label: str
    humans: HumanAccuracy | None
    model: ModelAccuracy | None
    mean: Mean | None
    n_models: int
    difference: Difference | None
    side: str

    @property
    def is_empty(self) -> bool:
        return not (self.humans or self.model or self.mean or self.difference)


def headlines(report: Report) -> list[Headline]:
    """The first thing to read, per source that has anything."""
    found = [
        _headline(source_label(report, name), source) for name, source in report.sources.items()
    ]
    return [headline for headline in found if not headline.is_empty]


def _headline(label: str, source: SourceResults) -> Headline:
    own, crossed = source.of(Accuracy), present(source.of(Crossed).crossed)
    models = present(own.models) or ()
    is_one = len(models) == 1
    gap = crossed.difference if crossed else None
    return Headline(
        label=label,
        humans=present(own.humans),
        model=models[0] if is_one else None,
        mean=None if is_one else present(own.models_mean),
        n_models=len(models),
        difference=_difference(own, gap),
        side=lies(gap.errors.ci95) if gap else "",
    )


def _difference(own: Accuracy, crossed: CrossedDifference | None) -> Difference | None:
    """With the interval over people and test cases where there is one, else over models."""
    if crossed and (both := crossed.errors.best_ci95):
        return Difference(crossed.mean, both, is_crossed=True)
    versus = present(own.models_vs_humans)
    if versus is None:
        return None
    return Difference(versus.test.mean_difference, versus.test.ci95, is_crossed=False)
