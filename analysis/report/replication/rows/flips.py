"""How a preference runs along the text: single abstracts, and how often models change sides."""

from collections.abc import Callable

import numpy as np

from analysis.codec import need
from analysis.report.chapters.flips.results import SENTENCE, TOKEN, ChangesOfMind
from analysis.report.replication import places
from analysis.report.replication.places import Place
from analysis.report.replication.recomputed import Recomputed, Value
from analysis.report.replication.row import NotPublic, Printed, Relation
from analysis.stats import NotEnough
from analysis.stats.flips import Flips

PATTERNS = ("wrong at first, right at the end", "right throughout", "right, then wrong, then right")


def _mean(level: str, value: Callable[[Flips], float | None]) -> Value:
    """Over the models with token records of which it is defined."""

    def mean(r: Recomputed) -> float:
        models = need(r.results.of(ChangesOfMind).flips).models
        levels = [m.levels[level] for m in models if level in m.levels]
        found = [x for x in map(value, levels) if x is not None]
        if not found:
            raise NotEnough("No model has token records for this.", "Score the full texts here.")
        return float(np.mean(found))

    return mean


def _saved(flips: Flips) -> float | None:
    """Percent of the test cases wrong at first that end right."""
    share = flips.wrong_ends_right
    return 100 * share.accuracy if share else None


def _kept(flips: Flips) -> float | None:
    """Percent of the test cases right at first that end right."""
    share = flips.right_ends_right
    return 100 * share.accuracy if share else None


def _fewer(flips: Flips) -> float | None:
    """Changes of sign where the end is right, less those where it is wrong."""
    own = flips.sign_flips
    if own.correct is None or own.wrong is None:
        return None
    right, wrong = own.correct.mean, own.wrong.mean
    return None if right is None or wrong is None else right - wrong


def _traces(place: Place) -> tuple[Printed, ...]:
    return tuple(
        Printed(place=place, what=f"one abstract: {pattern}", not_public=NotPublic.NO_TOKENS)
        for pattern in PATTERNS
    )


def _flips(place: Place, level: str) -> tuple[Printed, ...]:
    return (
        Printed(
            place=place,
            what="wrong at first that end right, percent",
            printed="20",
            relation=Relation.AROUND,
            tolerance=5,
            value=_mean(level, _saved),
            not_public=NotPublic.NO_TOKENS,
        ),
        Printed(
            place=place,
            what="right at first that end right, percent",
            printed="50",
            relation=Relation.ABOVE,
            value=_mean(level, _kept),
            not_public=NotPublic.NO_TOKENS,
        ),
        Printed(
            place=place,
            what="changes of sign, right at the end less wrong at the end",
            printed="0",
            relation=Relation.BELOW,
            value=_mean(level, _fewer),
            not_public=NotPublic.NO_TOKENS,
        ),
    )


ROWS: tuple[Printed, ...] = (
    *_traces(places.TOKEN_TRACES),
    *_traces(places.SENTENCE_TRACES),
    *_flips(places.TOKEN_FLIPS, TOKEN),
    *_flips(places.SENTENCE_FLIPS, SENTENCE),
)
