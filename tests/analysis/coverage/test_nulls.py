"""Where nothing is true, chapters seldom conclude anything; `nulls.py` measures how often, and this looks a few times."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from analysis.report.contents import chapter_named
from tests.analysis.coverage import nulls, planted
from tests.analysis.coverage.nulls import ALIKE, CONCLUDING, concluded, null_study, one
from tests.analysis.coverage.planted import EFFECTS, Effect


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
    quick = [
        c for c in CONCLUDING if c not in ("advised", ALIKE, "asked", "graded_comparisons", "teams")
    ]
    wrong = [bool(found) for n in range(12) for found in one(n, size, quick).values()]
    assert len(wrong) > 80
    assert sum(wrong) <= 12, "5% of 96 to 108 are 5; more than 12 have a chance of 0.3%"


@pytest.mark.parametrize("effect", EFFECTS[:4], ids=lambda effect: f"{effect.size}")
def test_planted_effects_are_found_as_often_as_measured(effect: Effect) -> None:
    share = next(
        r["found"]["by_chapter"] for r in planted.measured() if r["size"] == [*effect.size]
    )
    n_found = sum(effect.study(seed, effect.size).by_chapter for seed in range(1000, 1012))
    assert stats.binom.cdf(n_found, 12, share) > 0.001


@pytest.mark.parametrize("study", [nulls, planted])
def test_the_documentation_shows_what_was_measured(study: ModuleType) -> None:
    text = study.DOCS.read_text(encoding="utf-8")
    assert text.split(study.BEGIN)[1].split(study.END)[0] == study.lines(study.measured())
