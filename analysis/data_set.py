"""Tables of models and teams, by the names that trials use: participant, item_key with item_version, model."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from django.db.models import Exists, OuterRef

from analysis.data import machines
from analysis.data.filters import CHOICE, METHODS, PARTICIPANTS, SOURCES, ReportOptions
from analysis.data.items import read_items
from analysis.data.runs import counting_runs
from analysis.services.compute import Asked
from analysis.teams.options import TeamOptions
from experiment.domain.export_columns import TRIAL_COLUMNS, Column
from experiment.domain.release import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Participant, Study, Trial
from experiment.services.counts import is_joined
from experiment.services.export.data_set import Held, MoreTables, Table
from experiment.services.export.trials import completed, trials
from experiment.services.export.values import HEADER, columns_of
from lib.formulas import unguarded
from lib.table_files import Block, in_blocks
from scoring.services.data_set import ITEM, MODEL

OF_TRIALS = {column.name: column for column in TRIAL_COLUMNS}
_ASKED = "the model was asked"
SCORES = (
    MODEL,
    *ITEM,
    Column("model_method", "How the model took the test: by its perplexities, or by choosing.", levels=METHODS),
    Column("run", "The run of scores or choices on this site.", "integer"),
    Column("condition", "The model's input: full texts, isolated sentences, or abstracts with swapped results.", levels=machines.CONDITIONS),
    Column("seed", "Random seed of the swapped results.", "integer"),
    Column("unit", "Number of the sentence in condition isolated, otherwise 0.", "integer"),
    Column("ppl_original", "Perplexity of the original.", "number", null=_ASKED),
    Column("ppl_altered", "Perplexity of the altered version.", "number", null=_ASKED),
    Column("difficulty", "ppl_altered minus ppl_original. Larger values mean easier.", "number", null=_ASKED),
    Column("margin_nats", "log(ppl_altered / ppl_original), per token; for a model that was asked, the log-odds of the original.", "number", "nats"),
    Column("model_p_original", "The model's probability for the original, over both orders.", "number", null="the model was scored, or answered once in each order without probabilities of tokens"),
    Column("model_stated", "Probability of the original from the confidence that the model states.", "number", null="it states none"),
    Column("model_correct", "1 if the original had the lower perplexity, or was chosen; 0 if not; 0.5 for a tie. Accuracy is its mean.", "number"),
)  # fmt: skip
PREDICTIONS = (
    Column("team", "The team's members, joined by +."),
    Column(
        "team_source",
        "Source of the altered versions on which the team was fitted.",
        levels=SOURCES,
    ),
    Column("method", "Method that combined the confidences."),
    Column("fold", "Number of the fold that was held out, from 1.", "integer"),
    Column(
        "participant",
        OF_TRIALS["participant"].meaning + " Of several people in a team, joined by +.",
        null="a team without people",
    ),
    ITEM[0],
    Column("p_original", "The team's probability for the original.", "number"),
    Column(
        "team_correct",
        "1 if the team chose the original, 0 if not, 0.5 for a tie. Accuracy is its mean.",
        "number",
    ),
)

NUMBERS = ("ppl_original", "ppl_altered", "difficulty", "margin_nats", "model_p_original", "model_stated")  # fmt: skip
# Of trials, beside models; without advice, whose final answers are not people's own, only the others are there
TRIAL = (
    "participant",
    "position",
    "item_key",
    "item_version",
    "item_source",
    "included",
    "advice_procedure",
    "first_correct",
    "first_confidence",
    "correct",
    "confidence",
    "expertise",
)


@dataclass(frozen=True)
class Pairs:
    """Decisions of models on one item: row of `models` -> (difficulty, points), on full texts.

    models: of each the language model's name, and its method. Of models that were asked, margins in the place of difficulties.
    """

    models: Sequence[tuple[str, str]]
    by_item: Mapping[tuple[str, int], Mapping[int, tuple[float, float]]]


def more_tables(study: Study, query: TrialQuery, form: Form) -> MoreTables:
    """Item scores, trials with models beside them, and predictions of teams that the Teams page has for today's data.

    What is stored of teams is found now; what it gives is called at the moment that the export is of. Like the trials, scores
    and predictions are of the test cases and participants that the query means alone.
    """
    teams = list(_stored_teams(study, query))

    def tables(held: Held) -> Iterator[Table]:
        if not study.has_pairs:
            return
        scores, pairs = _scores(study, query, held)
        yield Table("itemscores", "language models on these test cases", SCORES, in_blocks(scores))
        joined = [column for _place, column in _of_trials(study)]
        for name, method in pairs.models:
            short = short_name(name)
            if method == CHOICE:
                margin = f"margin_nats of {name} when it was asked."
                right = f"model_correct of {name} when it was asked."
                joined.append(Column(f"margin_nats__{short}", margin, "number", null="not asked"))
                joined.append(Column(f"choice_correct__{short}", right, "number", null="not asked"))
            else:
                hard, right = f"difficulty under {name}.", f"model_correct of {name}."
                joined.append(Column(f"difficulty__{short}", hard, "number", null="not scored"))
                joined.append(Column(f"model_correct__{short}", right, "number", null="not scored"))
        blocks = _joined(study, query, form, pairs)
        yield Table("trialsmodels", "each trial combined with each model", joined, blocks)
        rows = list(_predictions(study, query, held, teams))
        if form.k:  # what is stored is in the order in which people came
            rows.sort(key=lambda row: list(map(str, row)))
        if rows:
            about = "held-out predictions of teams of people and models"
            yield Table("teampredictions", about, PREDICTIONS, in_blocks(rows))

    return tables


def short_name(model: str) -> str:
    """A model's name in names of columns: with `choice_correct__` before it at most 32 characters, as Stata has them, and the
    same in every data set. A name that cannot stand there as it is has four digits of its SHA-256 behind it.

    >>> short_name("gpt2"), short_name("lab/right-plain"), short_name("lab/Right.plain")
    ('gpt2', 'right_plain_d187', 'right_plain_6e80')
    """
    if re.fullmatch(r"[a-z0-9_]{1,16}", model):
        return model
    readable = re.sub(r"[^a-z0-9]+", "_", model.rpartition("/")[2].lower()).strip("_")[:11]
    return f"{readable}_{sha256(model.encode()).hexdigest()[:4]}".lstrip("_")


def _of_trials(study: Study) -> list[tuple[int, Column]]:
    """Columns of TRIAL among the study's, with their places among those of its trials."""
    known = {column.name: (place, column) for place, column in enumerate(columns_of(study))}
    return [known[name] for name in TRIAL if name in known]


def _scores(study: Study, query: TrialQuery, held: Held) -> tuple[list[Sequence[Any]], Pairs]:
    """Scores from one run of each model and condition: that which results show."""
    options = ReportOptions()
    items = read_items(study, options)
    is_imported = query.kind == Participant.Kind.IMPORTED
    runs = counting_runs(study, items["pk"].tolist(), options, is_imported)
    scored = machines.read(study, runs, options)
    table = scored.scores.merge(
        items[["pk", "key", "version"]], left_on="item", right_on="pk", how="inner"
    ).sort_values(["model", "condition", "seed", "key", "version", "unit"])
    table = table.rename(columns={"p_original": "model_p_original", "stated": "model_stated"})
    known = list(zip(scored.models["language_model"], scored.models["method"], strict=True))
    rows: list[Sequence[Any]] = []
    pairs: dict[tuple[str, int], dict[int, tuple[float, float]]] = {}
    for row in table.to_dict("records"):
        key, version = str(row["key"]), int(row["version"])
        # Left out here alone, since which run of a model is shown depends on all
        if (key, version) not in held.items:
            continue
        points, model = float(row["points"]), int(row["model"])
        row["difficulty"] = row["ppl_altered"] - row["ppl_original"]
        numbers = [None if np.isnan(row[name]) else float(row[name]) for name in NUMBERS]
        where = (abs(int(row["run"])), str(row["condition"]), int(row["seed"]), int(row["unit"]))
        name, method = known[model]
        rows.append((name, key, version, method, *where, *numbers, points))
        if row["condition"] == "full":
            size = float(row["margin_nats" if method == CHOICE else "difficulty"])
            pairs.setdefault((key, version), {})[model] = (size, points)
    return rows, Pairs(known, pairs)


def _joined(study: Study, query: TrialQuery, form: Form, pairs: Pairs) -> Iterator[Block]:
    places = [place for place, _column in _of_trials(study)]
    key, version = (HEADER.index(column.name) for column in ITEM)
    nothing = (None, None)
    for block in trials(study, query, is_release=bool(form.k)):
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
            who = "+".join(sorted(members)) or None
            fitted = (unguarded(row["team"]), source, row["method"], int(row["fold"]))
            yield (*fitted, who, item, float(row["p_original"]), float(row["points"]))
