"""How often each model, and people, answer well, abstain, and are safe."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.codec import MissingResult
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import NO_TEXT, AnswererName, GradedData
from analysis.report.chapter import Built
from analysis.report.chapters.graded.counts import rates_of
from analysis.stats.graded.rates import CLUSTERED, METHOD, ClusteredRates, Share

PEOPLE_JUDGE = "people"


@dataclass(frozen=True)
class ModelRates(AnswererName):
    """`judge`: who graded it, "people" where no judge did; rubric: by which.

    n_answers: those that there are, of which `found` has those that are graded, and of answers without a text the same share.
    n_no_text: of the unparsed, those without an answer to grade. n_contested: on which people differ, where theirs count.
    """

    judge: str
    rubric: str
    n_answers: int
    n_no_text: int
    n_contested: int
    found: ClusteredRates


@dataclass(frozen=True)
class Judge:
    """n_graded: answers, of all models. is_simulated: its grades are made up."""

    name: str
    family: str
    is_simulated: bool
    n_graded: int


@dataclass(frozen=True)
class RubricUsed:
    """good_from: the share of its points from which an answer is good."""

    name: str
    good_from: float
    sha256: str


@dataclass(frozen=True)
class Rated:
    """rubrics: by which grades that count were given. judges: who graded most answers first."""

    n_questions: int
    n_templates: int
    rubrics: tuple[RubricUsed, ...]
    is_simulated: bool
    judges: tuple[Judge, ...]
    models: tuple[ModelRates, ...]
    method: str = METHOD
    clustered_method: str = CLUSTERED


@dataclass(frozen=True)
class GradedRates:
    graded_rates: Rated | MissingResult


def build(data: SourceData) -> Built:
    """The rates, and the table graded_rates. Raises NotEnough without graded answers."""
    rated = data.need_graded().cached(_rated)
    return Built(GradedRates(rated), {"graded_rates": pd.DataFrame(map(_line, rated.models))})


def _rated(data: GradedData) -> Rated:
    graded = data.need_graded()
    templates = data.questions["template"]
    rubrics = {
        rubric.sha256: RubricUsed(rubric.name, rubric.good_from, rubric.sha256)
        for rubric in map(data.rubric_of, data.judged_models())
    }
    return Rated(
        n_questions=int(graded["question"].nunique()),
        n_templates=int(templates[templates != ""].nunique()),
        rubrics=tuple(rubrics.values()),
        is_simulated=data.is_simulated,
        judges=tuple(
            Judge(**{str(name): value for name, value in row.items()})
            for row in data.judges.to_dict("records")
        ),
        models=tuple(
            _model(data, model, graded[graded["model"] == model]) for model in data.judged_models()
        ),
    )


def _model(data: GradedData, model: int, answers: pd.DataFrame) -> ModelRates:
    judge = int(data.models["judge"].iloc[model])
    return ModelRates(
        **data.model_name(model),
        judge=PEOPLE_JUDGE if judge < 0 else str(data.judges["name"].iloc[judge]),
        rubric=data.rubric_of(model).name,
        n_answers=int((data.answers["model"] == model).sum()),
        n_no_text=int((answers["fate"] == NO_TEXT).sum()),
        n_contested=int(answers["is_contested"].sum()) if judge < 0 else 0,
        found=rates_of(data, answers),
    )


def _line(model: ModelRates) -> dict[str, Any]:
    own = model.found.rates
    counts = ("n", "n_good", "n_abstained", "n_bad", "n_unparsed")
    line = {
        **{n: getattr(model, n) for n in ("name", "display_name", "family", "is_people", "is_simulated", "judge", "rubric", "n_answers")},
        **{n: getattr(own, n) for n in counts},
        "n_no_text": model.n_no_text,
        "n_contested": model.n_contested,
    }  # fmt: skip
    for name in ("rqr", "sr", "ar"):
        line |= share_columns(name, getattr(model.found, name))
    return line | {"quadrant": own.quadrant or ""}


def share_columns(name: str, share: Share | None) -> dict[str, Any]:
    """A rate in a tidy table, with Wilson's interval of its denominator, the one by template, and which of them holds."""
    wilson = share.wilson_ci95 if share else (None, None)
    clustered = (share and share.clustered_ci95) or (None, None)
    return {
        name: share and share.value,
        f"{name}_n": share.n if share else 0,
        f"{name}_wilson_low": wilson[0],
        f"{name}_wilson_high": wilson[1],
        f"{name}_clustered_low": clustered[0],
        f"{name}_clustered_high": clustered[1],
        f"{name}_method": share.interval_method if share else "",
    }
