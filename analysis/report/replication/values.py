"""The values that stand beside the printed ones: paths in the report's results, and what takes more than a path.

All raise NotEnough where the value is missing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from analysis.codec import need
from analysis.data.dataset import SourceData
from analysis.report.chapter import SourceResults
from analysis.report.chapters.flips.results import ChangesOfMind
from analysis.stats import NotEnough
from analysis.stats.flips import Flips
from analysis.teams.results import Method

IMPORT = "Import the published results."
TUNED = "finetuning[name=lora_r256_a512_finetune_mistral_7b_v01].comparison"
STEP = re.compile(r"(\w+)((?:\[\w+=[^\]]*\])*)(?:\.|\Z)")
CONDITION = re.compile(r"\[(\w+)=([^\]]*)\]")
CALL = re.compile(r"(\w+)\((.*)\)")


@dataclass(frozen=True)
class Recomputed:
    """The report's results on the test cases of one source, and the data that they are of.

    n_identical: machine-created test cases whose two texts are those of a human-created one.
    """

    results: SourceResults
    data: SourceData
    n_identical: int = 0

    def value(self, path: str) -> float:
        """A number, by its path in the results or the call of a function below."""
        if call := CALL.fullmatch(path):
            return float(FUNCTIONS[call[1]](self, call[2]))
        return float(at(self.results, path))


def at(results: SourceResults, path: str) -> Any:
    """Value at a path such as `flow.steps[code=started].n` or `models_vs_humans.test.ci95.0`, from a key of report.json on."""
    value: Any = {
        f.name: getattr(chapter, f.name)
        for chapter in results.results.values()
        for f in fields(chapter)
    }
    for step in STEP.finditer(path):
        name, conditions = step.groups()
        if isinstance(value, dict):
            value = value.get(name)
        else:
            value = value[int(name)] if name.isdigit() else getattr(value, name)
        if value is None:
            raise NotEnough(f"There is no {name}.", IMPORT)
        value = need(value)
        for field, wanted in CONDITION.findall(conditions):
            # Words of an enumeration are compared as JSON has them
            texts = ((one, getattr(one, field)) for one in value)
            chosen = (one for one, text in texts if str(getattr(text, "value", text)) == wanted)
            value = next(chosen, None)
            if value is None:
                raise NotEnough(f"There is no {wanted}.", IMPORT)
    return value


# People


def _answers(r: Recomputed, column: str) -> "pd.Series[Any]":
    answers: pd.Series[Any] = r.data.participants[column]
    return answers


def _gave(r: Recomputed, answer: str) -> "pd.Series[bool]":
    """Participants who gave an answer, such as `gender=male`."""
    column, _, value = answer.partition("=")
    return _answers(r, column) == value


def _ratings(r: Recomputed) -> pd.DataFrame:
    return r.data.need_trials()[["confidence", "expertise"]]


# Models


def _with_scores(r: Recomputed, models: Sequence[Any]) -> Sequence[Any]:
    if not models:
        raise NotEnough(*r.data.no_scores)
    return models


def _models_above(r: Recomputed, subfield: str) -> float:
    """Models that are right more often than people in a subfield."""
    own = at(r.results, f"subfields[subfield={subfield}]")
    people = float(at(r.results, f"subfields[subfield={subfield}].humans.accuracy"))
    return sum(float(m.share.accuracy) > people for m in _with_scores(r, own.models))


def _mean_flips(r: Recomputed, level: str, value: Callable[[Flips], float | None]) -> float:
    """Over the models with token records of which it is defined; level: token or sentence."""
    models = need(r.results.of(ChangesOfMind).flips).models
    levels = [m.levels[level] for m in models if level in m.levels]
    known = [x for x in map(value, levels) if x is not None]
    if not known:
        raise NotEnough("No model has the necessary token records.", "Score the full texts here.")
    return float(np.mean(known))


def _mean_over_models(r: Recomputed, path: str) -> float:
    """Mean over the models of a share of the test cases, such as `token.wrong_ends_right.accuracy`."""
    level, share, _ = path.split(".")

    def accuracy(flips: Flips) -> float | None:
        found = getattr(flips, share)
        return float(found.accuracy) if found else None

    return _mean_flips(r, level, accuracy)


def _fewer_changes(r: Recomputed, level: str) -> float:
    """Changes of sign where the end is right, less those where it is wrong; mean over models."""

    def fewer(flips: Flips) -> float | None:
        right, wrong = flips.sign_flips.correct, flips.sign_flips.wrong
        return right.mean - wrong.mean if right and wrong else None

    return _mean_flips(r, level, fewer)


def _team_right(r: Recomputed, names: str) -> float:
    """Trials that the team of these members gets right as published."""
    members, teaming = set(names.split(", ")), at(r.results, "teaming")
    alone = [row for row in teaming.logistic if row.method == Method.ALONE]
    for team in (*teaming.as_published, *alone):
        if set(team.team.names) == members:
            return int(team.n_correct)
    raise NotEnough("This team was not evaluated.", IMPORT)


FUNCTIONS: dict[str, Callable[[Recomputed, str], float]] = {
    "count": lambda r, path: len(at(r.results, path)),
    "items": lambda r, _: r.data.n_items,
    "identical_items": lambda r, _: r.n_identical,
    "people": lambda r, answer: _gave(r, answer).sum(),
    "share_of_people": lambda r, answer: _gave(r, answer).mean(),
    "mean_of_people": lambda r, column: _answers(r, column).mean(),
    "sd_of_people": lambda r, column: _answers(r, column).std(ddof=1),
    # Trials of the participant who has most of them
    "most_trials": lambda r, _: np.bincount(r.data.need_trials()["participant"]).max(),
    "lowest_rating": lambda r, _: _ratings(r).min().min(),
    "highest_rating": lambda r, _: _ratings(r).max().max(),
    "fastest_trial_s": lambda r, _: r.data.need_trials()["rt_ms"].min() / 1000,
    # Of the subfields' 80th percentiles of expertise
    "lowest_p80": lambda r, _: min(
        float(row.p80) for row in at(r.results, "expertise.p80_by_subfield")
    ),
    "models_above": _models_above,
    # Models whose accuracy rises with their confidence, along the bins
    "models_rising": lambda r, _: sum(
        float(need(model.binned).line.slope) > 0
        for model in _with_scores(r, at(r.results, "calibration").models)
    ),
    "tuning_gain": lambda r, _: (
        at(r.results, f"{TUNED}.after.accuracy") - at(r.results, f"{TUNED}.before.accuracy")
    ),
    "mean_over_models": _mean_over_models,
    "fewer_changes": _fewer_changes,
    "team_right": _team_right,
}
