"""Where nothing is true, chapters seldom conclude anything; `nulls.py` measures how often, and this looks a few times."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.report.contents import CHAPTERS, chapter_named
from tests.analysis.coverage.nulls import (
    ALIKE,
    BEGIN,
    CONCLUDING,
    DOCS,
    END,
    concluded,
    lines,
    measured,
    null_study,
)


def test_a_true_slope_is_among_what_is_walked() -> None:
    data = null_study(1, 60, 30)
    rising = 0.5 + 0.4 * np.sign(data.trials["confidence"] - 50)
    right = np.random.default_rng(1).random(len(rising)) < rising
    found = concluded(
        replace(data, trials=data.trials.assign(is_correct=right)), [chapter_named("calibration")]
    )
    assert "calibration.humans.slope.direction" in found["calibration"]


def test_so_is_a_true_change_over_dates() -> None:
    data = null_study(1, 60, 30)
    day = data.items["published"].rank().to_numpy() / 30
    margin = day[data.full["item"]] - 0.5
    full = data.full.assign(
        ppl_altered=data.full["ppl_original"] * np.exp(margin), margin_nats=margin
    )
    found = concluded(replace(data, full=full), [chapter_named("publication_date")])
    assert any(path.endswith("direction") for path in found["publication_date"])


@pytest.mark.parametrize("size", [(20, 12), (60, 30)])
def test_where_nothing_is_true_few_studies_conclude_anything(size: tuple[int, int]) -> None:
    chapters = [c for c in CHAPTERS if c.name in CONCLUDING and c.name not in ("advised", ALIKE)]
    wrong = [
        any(found)
        for n in range(20)
        for found in concluded(null_study(n, *size), chapters).values()
    ]
    assert sum(wrong) <= 8, "5% of 60 are 3; more than 8 have a chance of 0.3%"


def test_the_documentation_shows_what_was_measured() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert text.split(BEGIN)[1].split(END)[0] == lines(measured())
