"""How often a report finds what is there: planted effects, found by the chapter, by its test alone, and by a mixed model.

The test alone is not corrected for the chapter's other questions. The mixed model has random intercepts of people and test cases and Wald's z,
which holds its level in these studies, since effects are the same for everybody (decision 30 has those in which they are not).
`python -m benchmarks bench inference` measures anew, keeps the figures and writes the table of docs/results.md.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analysis.codec import need
from analysis.data.dataset import SourceData
from analysis.report.chapters.advised.results import build_advised
from analysis.report.chapters.confidence.results import build_calibration
from analysis.stats.mixed_model.model import fit
from analysis.stats.reliance.trials import AFTER
from lib.levels import LEVEL
from tests.analysis import made
from tests.analysis.coverage.nulls import DOCS, EACH, SD_ITEMS, SD_PEOPLE, null_study

MEASURED = Path(__file__).parent / "planted.json"
BEGIN, END = "<!-- planted: measured, not written by hand -->\n", "<!-- planted end -->"
POINTS = 0.1  # by which the arm with advice is more accurate
SLOPE, SD_CONFIDENCE = (
    0.0139,
    28.87,
)  # log-odds per point, as in the published study; of 1 to 100 alike
N_STUDIES = 200


class Found(NamedTuple):
    """True where the planted effect was found."""

    by_chapter: bool
    alone: bool
    mixed: bool


def arms(seed: int, size: tuple[int, int]) -> Found:
    data = null_study(seed, *size)
    assigned = data.assigned
    wrong = (assigned["procedure"] == AFTER) & (assigned["right_after"] == 0)
    turned = wrong & (np.random.default_rng([seed, 2]).random(len(assigned)) < 2 * POINTS)
    final = assigned["right_after"].mask(turned, 1.0)
    assigned = assigned.assign(right_after=final)
    analysed = assigned[assigned["person_reasons"] == ""].reset_index(drop=True)
    told = analysed.drop(columns=["reasons", "person_reasons"])
    accuracy = need(build_advised(replace(data, assigned=assigned, advised=told)).results.advised_accuracy)  # fmt: skip
    contrast = accuracy.comparisons[0]
    mixed = _mixed(told, "right_after", told["procedure"] == AFTER)
    return Found(contrast.verdict.is_clear, _below(contrast.accuracy.p), mixed)


def confidence(seed: int, size: tuple[int, int]) -> Found:
    data: SourceData = made.make_data(
        n_participants=size[0], n_items=size[1], trials_each=EACH, sd_participants=SD_PEOPLE,
        sd_items=SD_ITEMS, confidence_slope=SLOPE * SD_CONFIDENCE, seed=seed, resamples=200,
    )  # fmt: skip
    people = need(need(build_calibration(data).results.calibration).humans)
    slope = need(people.slope)
    mixed = _mixed(data.trials, "is_correct", data.trials["confidence"])
    return Found(slope.direction.is_clear, _below(slope.slope.p), mixed)


def _mixed(trials: Any, right: str, value: Any) -> bool:
    value = np.asarray(value, float)
    found = fit(
        trials[right], trials["participant"], trials["item"], (value - value.mean()) / value.std(), profiles=False
    )  # fmt: skip
    return _below(found.coefficients[1].p)


def _below(p: float | None) -> bool:
    return p is not None and p < LEVEL


class Effect(NamedTuple):
    label: str
    study: Callable[[int, tuple[int, int]], Found]
    size: tuple[int, int]


EFFECTS = (
    Effect("10 points between two arms", arms, (60, 30)),
    Effect("10 points between two arms", arms, (200, 60)),
    Effect("accuracy over confidence, as published", confidence, (20, 20)),
    Effect("accuracy over confidence, as published", confidence, (60, 30)),
    Effect("accuracy over confidence, as published", confidence, (171, 200)),
)


def measure(effect: Effect, n_studies: int, n_processes: int) -> dict[str, float]:
    with ProcessPoolExecutor(n_processes) as pool:
        every = [*pool.map(partial(effect.study, size=effect.size), range(n_studies))]
    return {name: float(np.mean([getattr(one, name) for one in every])) for name in Found._fields}


def measured() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return rows


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    heads = ("planted", "people", "test cases", "the chapter", "its test alone", "mixed model")
    out = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        shares = [f"{100 * row['found'][name]:.0f}" for name in Found._fields]
        out.append(f"| {' | '.join([row['label'], *map(str, row['size']), *shares])} |")
    return "\n".join(out) + "\n"


def main(n_processes: int = 1) -> None:
    rows = []
    for effect in EFFECTS:
        found = measure(effect, N_STUDIES, n_processes)
        rows.append({"label": effect.label, "size": effect.size, "n_studies": N_STUDIES, "found": found})  # fmt: skip
        print(json.dumps(rows[-1]), file=sys.stderr)
    MEASURED.write_text(json.dumps(rows, indent=1) + "\n")
    before, rest = DOCS.read_text().split(BEGIN)
    DOCS.write_text(before + BEGIN + lines(rows) + END + rest.split(END)[1])
