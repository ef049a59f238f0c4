"""One model, one accuracy: in every number of a report that says how often a model was right, with ties."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.codec import to_json
from analysis.data.dataset import SourceData
from analysis.report.chapter import Part
from analysis.report.contents import CHAPTERS
from analysis.teams.domain.trying import try_teams
from analysis.teams.options import TeamOptions
from tests.analysis.asked_made import answers_of, with_asked
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import built_of

N_ITEMS = 12
# Of other texts, of a part of them, of people, or of a model that is joined with one
OTHERS = {
    "expected_accuracy", "random_accuracy", "best_member_accuracy", "human_accuracy", "humans_mean_accuracy",
    "models_mean_accuracy", "selector_accuracy", "tie_min_accuracy", "tie_max_accuracy",
}  # fmt: skip


@pytest.fixture(scope="module")
def data() -> SourceData:
    """Everybody judges each test case; model 1 ties on four, model 2 always says A, and was scored as well."""
    small = make_data(
        n_items=N_ITEMS, n_participants=9, trials_each=N_ITEMS, n_models=3, seed=4, resamples=60
    )
    full = small.full.copy()
    tied = (full["model"] == 1) & (full["item"] < 4)
    full.loc[tied, ["margin_nats", "points", "is_near_tie"]] = [0.0, 0.5, True]
    full.loc[tied, "ppl_altered"] = full.loc[tied, "ppl_original"]
    knows = 40 * small.difficulty_nats[2]
    # In both orders alike on two thirds, and A in both on the others
    answers = answers_of(
        np.where(np.arange(N_ITEMS) % 3 == 0, 0.0, 40.0 * np.sign(knows)), bias=20.0
    )
    return with_asked(replace(small, full=full), (2, answers))


def of_model(found: Any, name: str, path: str = "") -> Iterator[tuple[str, float]]:
    """Every accuracy of the model among results, and where it stands: of all test cases, or of the trials on them."""
    if isinstance(found, list):
        for n, one in enumerate(found):
            yield from of_model(one, name, f"{path}[{n}]")
    if not isinstance(found, dict):
        return
    team = found.get("team")
    is_of = name in (found.get("name"), team, isinstance(team, dict) and team.get("label"))
    if is_of and "policy" not in found:  # where a person is asked as well
        for key, value in found.items():
            share = value.get("accuracy") if isinstance(value, dict) else None
            n = value.get("n") if isinstance(value, dict) else found.get("n_items", N_ITEMS)
            if (
                key.endswith("accuracy")
                and isinstance(value, float)
                and key not in OTHERS
                and n == N_ITEMS
            ):
                yield f"{path}.{key}", value
            elif key in ("items", "judged", "strict") and share is not None and n == N_ITEMS:
                yield f"{path}.{key}.accuracy", share
    for key, value in found.items():
        yield from of_model(value, name, f"{path}.{key}")


def in_table(table: pd.DataFrame, name: str) -> Iterator[tuple[str, float]]:
    for column in ("name", "team", "model"):
        if column in table and "accuracy" in table:
            rows = table[table[column] == name]
            if "n_items" in rows:
                rows = rows[rows["n_items"] == N_ITEMS]
            for other in ("policy", "subfield", "seed", "kind"):
                if other in rows:
                    rows = rows.iloc[:0]
            yield from ((column, float(value)) for value in rows["accuracy"].dropna())


def test_a_models_accuracy_is_the_same_wherever_a_report_says_it(data: SourceData) -> None:
    truth = dict(zip(data.models["name"], np.nanmean(data.model_correct, axis=1), strict=True))
    asked = next(name for name in truth if name.endswith("(asked)"))
    assert 0.5 < truth[asked] < 1
    places: dict[str, set[str]] = {name: set() for name in truth}
    for chapter in [one for one in CHAPTERS if one.part in (Part.PAIRS, Part.CHOICES)]:
        built = built_of(data, chapter)
        json = to_json(built.results)
        for name, expected in truth.items():
            for where, accuracy in of_model(json, name, chapter.name):
                assert accuracy == pytest.approx(expected, abs=1e-12), where
                places[name].add(chapter.name)
            for title, table in built.tables.items():
                for where, accuracy in in_table(table, name):
                    assert accuracy == pytest.approx(expected, abs=1e-12), (title, where)
                    places[name].add(f"{chapter.name}: {title}")
    assert all("accuracy" in found and "accuracy: models" in found for found in places.values())
    assert any("teams" in found for found in places.values())


def test_a_team_gains_nothing_by_having_its_members_ties_broken(data: SourceData) -> None:
    """A member that only ties adds nothing, and neither does a copy."""
    names = list(data.models["name"])
    full = data.full.copy()
    full.loc[full["model"] == 0, ["margin_nats", "points"]] = [0.0, 0.5]
    full.loc[full["model"] == 0, "ppl_altered"] = full.loc[full["model"] == 0, "ppl_original"]
    tied = replace(data, full=full)
    options = TeamOptions(members=("human", names[0]), method="majority")
    found, _tables = try_teams(tied, options, lambda _: None)
    results = {row.team.label: row for row in found.teams}
    human, model = (results[label] for label in ("human", names[0]))
    (both,) = (row for row in found.teams if len(row.team) == 2)
    assert (model.accuracy, model.n_ties, model.n_correct) == (0.5, model.n_trials, 0)
    assert both.accuracy == human.accuracy
    assert both.gain == 0
