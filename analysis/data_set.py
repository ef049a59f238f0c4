"""Tables of models and teams, by the names that trials use: participant, item_key with item_version, model."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext

from analysis.data import machines
from analysis.data.filters import PARTICIPANTS, SOURCES, ReportOptions
from analysis.data.items import read_items
from analysis.services.compute import Asked
from analysis.teams.options import TeamOptions
from experiment.domain.codebook import TRIAL_COLUMNS, Column
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant, Study, Trial
from experiment.services.counts import is_joined
from experiment.services.export.data_set import Held, MoreTables, Table
from experiment.services.export.trials import completed, trials
from experiment.services.export.values import HEADER
from lib.formulas import unguarded
from lib.table_files import Block, in_blocks
from scoring.services.data_set import ITEM, MODEL

OF_TRIALS = {column.name: column for column in TRIAL_COLUMNS}
SCORES = (
    MODEL,
    *ITEM,
    Column("run", "The scoring run on this site.", "integer"),
    Column("condition", "What the model was given: full texts, isolated sentences, or other pairs' halves swapped.", levels=machines.CONDITIONS),
    Column("seed", "Seed of a draw: of who was given what; in item scores, of what was swapped.", "integer"),
    Column("unit", "The sentence, in condition isolated; else 0.", "integer"),
    Column("ppl_original", "Perplexity of the original.", "number"),
    Column("ppl_altered", "Perplexity of the altered version.", "number"),
    Column("difficulty", "ppl_altered less ppl_original: large is easy.", "number"),
    Column("model_correct", "Whether the original had the lower perplexity; a tie is wrong.", "boolean"),
)  # fmt: skip
PREDICTIONS = (
    Column("team", "The team's members, joined by +."),
    Column("team_source", "Whose altered versions the team was fitted on.", levels=SOURCES),
    Column("method", "How confidences were combined."),
    Column("fold", "What was held out together, from 1.", "integer"),
    Column(
        "participant",
        OF_TRIALS["participant"].meaning + " Of several people in a team, joined by +.",
        null="a team without people",
    ),
    ITEM[0],
    Column("p_original", "The team's probability for the original.", "number"),
    Column("team_correct", "Whether that was above a half.", "boolean"),
)

TRIAL = tuple(
    OF_TRIALS[name]
    for name in [
        "participant",
        "position",
        "item_key",
        "item_version",
        "item_source",
        "included",
        "correct",
        "confidence",
        "expertise",
    ]
)


@dataclass(frozen=True)
class Pairs:
    """What models made of one item: row of `models` -> (difficulty, whether it was right), on full texts."""

    models: Sequence[str]
    by_item: Mapping[tuple[str, int], Mapping[int, tuple[float, bool]]]


def more_tables(study: Study, query: TrialQuery, _: Form) -> MoreTables:
    """Item scores, trials with models beside them, and predictions of teams that the Teams page has for today's data.

    What is stored of teams is found now; what it gives is called at the moment that the export is of. Like the trials, scores
    and predictions are of the test cases and participants that the query means alone.
    """
    teams = list(_stored_teams(study, query))
    return lambda held: _tables(study, query, held, teams) if study.has_pairs else []


def _tables(
    study: Study, query: TrialQuery, held: Held, teams: Sequence[tuple[str, bytes]]
) -> list[Table]:
    scores, pairs = _scores(study, query, held)
    joined = (
        *TRIAL,
        *(
            column
            for name in pairs.models
            for column in (
                Column(f"difficulty__{name}", f"difficulty under {name}.", "number", null="not scored"),
                Column(f"model_correct__{name}", f"model_correct of {name}.", "boolean", null="not scored"),
            )
        ),
    )  # fmt: skip
    tables = [
        Table("itemscores", gettext("language models on these test cases"), SCORES, in_blocks(scores)),
        Table("trialsmodels", gettext("each trial combined with each model"), joined, _joined(study, query, pairs)),
    ]  # fmt: skip
    rows = list(_predictions(study, query, held, teams))
    if rows:
        about = gettext("held-out predictions of teams of people and models")
        tables.append(Table("teampredictions", about, PREDICTIONS, in_blocks(rows)))
    return tables


def _scores(study: Study, query: TrialQuery, held: Held) -> tuple[list[Sequence[Any]], Pairs]:
    """Of each model one run per condition: that which results show."""
    options = ReportOptions()
    items = read_items(study, options)
    scored = machines.read(study, items, options, query.kind == Participant.Kind.IMPORTED)
    table = scored.scores.merge(
        items[["pk", "key", "version"]], left_on="item", right_on="pk", how="inner"
    ).sort_values(["model", "condition", "seed", "key", "version", "unit"])
    names = [str(name) for name in scored.models["name"]]
    rows: list[Sequence[Any]] = []
    pairs: dict[tuple[str, int], dict[int, tuple[float, bool]]] = {}
    for row in table.to_dict("records"):
        key, version, difficulty = (
            str(row["key"]),
            int(row["version"]),
            float(row["ppl_altered"] - row["ppl_original"]),
        )
        # Left out here alone, since which run of a model is shown depends on all
        if (key, version) not in held.items:
            continue
        is_right, model = bool(row["is_correct"]), int(row["model"])
        numbers = (float(row["ppl_original"]), float(row["ppl_altered"]), difficulty)
        where = (int(row["run"]), str(row["condition"]), int(row["seed"]), int(row["unit"]))
        rows.append((names[model], key, version, *where, *numbers, is_right))
        if row["condition"] == "full":
            pairs.setdefault((key, version), {})[model] = (difficulty, is_right)
    return rows, Pairs(names, pairs)


def _joined(study: Study, query: TrialQuery, pairs: Pairs) -> Iterator[Block]:
    places = [HEADER.index(column.name) for column in TRIAL]
    key, version = (HEADER.index(column.name) for column in ITEM)
    nothing = (None, None)
    for block in trials(study, query):
        found = [pairs.by_item.get(of, {}) for of in zip(block[key], block[version], strict=True)]
        beside: list[Any] = []
        for model in range(len(pairs.models)):
            of_model = [scores.get(model, nothing) for scores in found]
            beside += zip(*of_model, strict=True)
        yield [*(block[place] for place in places), *beside]


def _stored_teams(study: Study, query: TrialQuery) -> Iterator[tuple[str, bytes]]:
    kind = completed(study, query).kind
    if kind not in PARTICIPANTS or is_joined(study, kind):  # others' people are not in these trials
        return
    for source in SOURCES:
        found = Asked(study, TeamOptions(source=source, participants=kind)).find()
        if found is not None and "predictions" in found.tables:
            yield source, found.table_file("predictions")


def _predictions(
    study: Study, query: TrialQuery, held: Held, teams: Sequence[tuple[str, bytes]]
) -> Iterator[Sequence[Any]]:
    has_trials = Exists(Trial.objects.filter(participant=OuterRef("pk")))
    people = Participant.objects.of(study, query.kind).filter(has_trials).order_by("pk")
    names = [str(public_id) for public_id in people.values_list("public_id", flat=True)]
    for source, table in teams:
        for row in csv.DictReader(io.StringIO(table.decode())):
            numbers = [int(number) for number in row["participant"].split("+") if number]
            members = [names[number - 1] for number in numbers]
            item = unguarded(row["item"])
            if not held.has(members, item):
                continue
            who = "+".join(members) or None
            fitted = (row["team"], source, row["method"], int(row["fold"]))
            is_right = row["is_right"].lower() in ("true", "1", "1.0")
            yield (*fitted, who, item, float(row["p_original"]), is_right)
