"""How people rate their knowledge of the field of each item, and whether accuracy follows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, present, renamed, tidy_table, try_estimate
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.calibration.results import BinnedAccuracy, binned_accuracy
from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval
from analysis.stats.expertise import P80, Distribution, HistogramClass, distribution
from analysis.stats.families import Family, family
from analysis.stats.trial_slope import Direction, TrialSlope, trial_slope

N_BINS = 4
ALL, OVERALL = (
    "All",
    "overall",
)  # what report.json calls the whole, in `distribution` and in `calibration`
COLUMNS = ("subfield", "low", "high", "n")


@dataclass(frozen=True)
class Percentile80:
    subfield: str
    p80: float
    ci95: Interval | None
    n: int
    method: str


@dataclass(frozen=True)
class Ratings:
    subfield: str
    ratings: Distribution = flattened()


@dataclass(frozen=True)
class ExpertiseCalibration:
    subfield: str
    binned: BinnedAccuracy | MissingResult = flattened()


@dataclass(frozen=True)
class ExpertiseSlope:
    """Accuracy of trials over expertise, per point of the rating."""

    direction: Direction
    slope: TrialSlope = flattened()


@dataclass(frozen=True)
class SubfieldSlope:
    """The same within a subfield; direction and `holm_p` as one of the family of subfields."""

    subfield: str
    holm_p: float
    direction: Direction
    slope: TrialSlope = flattened()


@dataclass(frozen=True)
class SubfieldSlopes:
    """Of the subfields that have a slope."""

    subfields: tuple[SubfieldSlope, ...]
    tests: Family


@dataclass(frozen=True)
class SelfRatedExpertise:
    """By subfield; `distributions` ends with all trials (`All`), `calibration` begins with them (`overall`)."""

    slope: ExpertiseSlope | MissingResult
    slopes_by_subfield: SubfieldSlopes | MissingResult
    p80_by_subfield: tuple[Percentile80, ...]
    calibration: tuple[ExpertiseCalibration, ...]
    distributions: tuple[Ratings, ...] = renamed("distribution")


@dataclass(frozen=True)
class Expertise:
    expertise: SelfRatedExpertise | MissingResult


@dataclass(frozen=True)
class _Line:
    """A row of the tidy table."""

    subfield: str
    bar: HistogramClass = flattened()


def build(data: SourceData) -> Built:
    """Raises NotEnough without a rated trial."""
    trials = data.need_trials()[["participant", "item", "expertise", "is_correct"]]
    rated = trials[trials["expertise"].notna()]
    if rated.empty:
        raise NotEnough(
            "No trial has a rating of expertise.", "Ask for it in the study's questionnaire."
        )
    subfield = data.items["subfield"].to_numpy()[rated["item"].to_numpy()]
    groups = {
        str(name): rated[subfield == name]
        for name in pd.unique(data.items["subfield"])
        if np.any(subfield == name)
    }
    described = [Ratings(name, distribution(rows["expertise"])) for name, rows in groups.items()]
    found = SelfRatedExpertise(
        slope=try_estimate(_slope, rated),
        slopes_by_subfield=try_estimate(_slopes, groups, len(data.participants)),
        p80_by_subfield=tuple(_percentile(own) for own in described),
        calibration=tuple(
            _calibration(name, rows) for name, rows in ({OVERALL: rated} | groups).items()
        ),
        distributions=(*described, Ratings(ALL, distribution(rated["expertise"]))),
    )
    return Built(Expertise(found), {"expertise_histogram": tidy_table(_lines(found), COLUMNS)})


def _fit(rows: pd.DataFrame) -> tuple[TrialSlope, Floats]:
    return trial_slope(rows["expertise"], rows["is_correct"], rows["participant"], rows["item"])


def _slope(rated: pd.DataFrame) -> ExpertiseSlope:
    found, _ = _fit(rated)
    return ExpertiseSlope(Direction.of(found.slope, found.p), found)


def _slopes(groups: Mapping[str, pd.DataFrame], n_participants: int) -> SubfieldSlopes:
    """Raises NotEnough where no subfield has a slope."""
    fits = {name: present(try_estimate(_fit, rows)) for name, rows in groups.items()}
    known = {name: fit for name, fit in fits.items() if fit}
    if not known:
        raise NotEnough(
            "No subfield has trials enough for a slope over expertise.",
            "Let more participants judge more test cases.",
        )
    errors = np.zeros((n_participants, len(known)))
    for n, (_found, each) in enumerate(known.values()):
        errors[: len(each), n] = each
    together, holm_p = family([found.p for found, _each in known.values()], errors)
    return SubfieldSlopes(
        tuple(
            SubfieldSlope(name, p, Direction.of(found.slope, p), found)
            for (name, (found, _each)), p in zip(known.items(), holm_p.tolist(), strict=True)
        ),
        together,
    )


def _percentile(own: Ratings) -> Percentile80:
    found = own.ratings
    return Percentile80(own.subfield, found.p80, found.p80_ci95, found.n, P80)


def _calibration(name: str, rows: pd.DataFrame) -> ExpertiseCalibration:
    binned = try_estimate(binned_accuracy, rows["expertise"], rows["is_correct"], N_BINS)
    return ExpertiseCalibration(name, binned)


def _lines(found: SelfRatedExpertise) -> Iterator[_Line]:
    for own in found.distributions:
        for bar in own.ratings.histogram:
            yield _Line(own.subfield, bar)
