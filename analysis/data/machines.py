"""Language models, and their scores: of each model one run per condition, and one of those in which it was asked."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import Q

from analysis.data import choices
from analysis.data.dataset import TrainingSummary
from analysis.data.filters import (
    ASKED,
    CHOICE,
    PERPLEXITY,
    SOURCES,
    ReportOptions,
    UnknownChoiceError,
    asked_label,
)
from analysis.data.items import read_columns
from analysis.data.runs import CountingRuns, is_shown
from experiment.models import Study
from lib.points import points
from scoring.domain.perplexity import near_tie
from scoring.models import (
    CorpusScore,
    ItemScore,
    LanguageModel,
    ModelSet,
    ModelSetMember,
    ScoringRun,
    Training,
    TrainingCorpus,
)
from scoring.services.model_facts import known_in, told_apart
from scoring.training.corpus.document import last_day

CONDITIONS = ("full", "isolated", "swapped")
UNKNOWN = TrainingCorpus.Status.UNKNOWN.value


@dataclass(frozen=True)
class Scored:
    """models as in SourceData; scores of all conditions and sources (with `condition` and `of_source`), choices.

    numbers: primary key of a language model that took the test by its perplexities -> its number.
    """

    models: pd.DataFrame
    has_set: bool
    scores: pd.DataFrame
    choices: pd.DataFrame
    prompts: Mapping[int, str]
    numbers: Mapping[int, int]


def read(
    study: Study, runs: CountingRuns, options: ReportOptions, others: Collection[str] = ()
) -> Scored:
    """All that models did in these runs. `others`: names of models that may be chosen though they scored nothing."""
    models = _models(study, runs, options, others)
    places = list(enumerate(zip(models["method"], models.pop("pk"), strict=True)))
    numbers, asked_numbers = (
        {pk: n for n, (of, pk) in places if of == method} for method in (PERPLEXITY, CHOICE)
    )
    scores = _scores(runs.shown, numbers)
    answers = choices.read_answers(runs.shown_asked, asked_numbers)
    if len(decided := choices.decisions(answers)):
        scores = pd.concat([scores, decided], ignore_index=True)
    return Scored(
        models,
        ModelSetMember.objects.filter(model_set__study=study).exists(),
        scores.sort_values(["model", "seed", "item", "unit"], ignore_index=True),
        answers,
        {run.pk: run.prompt for run, _ in runs.shown}
        | {-run.pk: run.prompt for run, _ in runs.shown_asked},
        numbers,
    )


def _models(
    study: Study, runs: CountingRuns, options: ReportOptions, others: Collection[str]
) -> pd.DataFrame:
    """Members of the set in its order, then the other models by name; scored, then asked.

    A model that was asked is a member in the place of one that is in the set and has no perplexities.
    """
    model_set = ModelSet.objects.filter(study=study).first()
    places = dict(model_set.members.values_list("language_model", "position")) if model_set else {}
    pks = {run.language_model_id for run in runs.finished} | places.keys()
    simulated = {run.language_model_id: run.is_simulated for run, _ in runs.asked}
    full = [run for run in runs.finished if run.condition == ScoringRun.Condition.FULL]
    scored = {
        run.language_model_id for run in full for s in SOURCES if (run.pk, s) in runs.coverage
    }
    rows = known_in(LanguageModel.objects.filter(pk__in=pks | simulated.keys()), study)
    rows = rows.select_related("base_partner", "tuned_from")
    display_names = told_apart(rows)
    about = {m.pk: _about(m, m.pk in places, m.size, m.chat) for m in rows}
    for pk, name in display_names.items():
        about[pk]["display_name"] = name
    found = [about[m.pk] for m in rows if m.pk in pks]
    shown_scored = {run.language_model_id for run, _ in runs.shown}
    for m in rows:
        if m.pk in simulated:
            takes_place = m.pk not in scored or options.method == CHOICE
            label = asked_label(
                str(about[m.pk]["display_name"] or m.name),
                is_also_scored=m.pk in shown_scored,
                is_simulated=simulated[m.pk],
            )
            found.append(_as_asked(about[m.pk], m.pk in places and takes_place, label))
    last = len(places) + 10**6

    def order(row: dict[str, Any]) -> tuple[int, str, bool]:
        place = places.get(row["pk"], last) if row["in_set"] else last
        return place, row["language_model"], row["method"] == CHOICE

    ordered = sorted(found, key=order)
    names = list(dict.fromkeys([*(row["name"] for row in ordered), *others]))
    if unknown := sorted(set(options.models) - set(names)):
        known = ", ".join(names) or "none"
        raise UnknownChoiceError(
            f"models: this study has no run of “{unknown[0]}”. Choose from {known}."
        )
    return pd.DataFrame(
        [row for row in ordered if is_shown(row["name"], row["method"], options)],
        columns=list(_about(LanguageModel(), False)),
    )


def _about(
    model: LanguageModel, in_set: bool, size: int | None = None, is_chat: bool = False
) -> dict[str, Any]:
    return {
        "pk": model.pk,
        "name": model.name,
        "display_name": model.display_name,
        "method": PERPLEXITY,
        "language_model": model.name,
        "family": model.family,
        "is_chat": is_chat,
        "n_parameters": np.nan if size is None else float(size),
        "base_partner": model.base_partner.name if model.base_partner else "",
        "tuned_from": model.tuned_from.name if model.tuned_from else "",
        "is_demo": model.is_demo,
        "cutoff": np.datetime64(model.training_cutoff or "NaT", "D"),
        "released": np.datetime64(model.released or "NaT", "D"),
        "in_set": in_set,
    }


def _as_asked(about: dict[str, Any], in_set: bool, label: str) -> dict[str, Any]:
    """Pairs of models, such as base and tuned, are compared by their perplexities alone."""
    return about | {
        "name": f"{about['name']}{ASKED}",
        "display_name": label,
        "method": CHOICE,
        "in_set": in_set,
        "base_partner": "",
        "tuned_from": "",
    }


def _scores(chosen: Sequence[tuple[ScoringRun, str]], numbers: Mapping[int, int]) -> pd.DataFrame:
    rows = ItemScore.objects.filter(run__in={run.pk for run, _ in chosen}).order_by()
    scores = read_columns(
        rows,
        {
            "run": ("run_id", np.int64),
            "item": ("item_id", np.int64),
            "of_source": ("item__source", object),
            "unit": ("unit", np.int64),
            "ppl_original": ("ppl_original", float),
            "ppl_altered": ("ppl_altered", float),
            "zlib_original_bytes": ("zlib_original_bytes", float),
            "zlib_altered_bytes": ("zlib_altered_bytes", float),
            "original_side": ("original_side", "U1"),
        },
    )
    about = pd.DataFrame(
        [
            (run.pk, source, numbers[run.language_model_id], run.condition, run.seed or 0)
            for run, source in chosen
        ],
        columns=["run", "of_source", "model", "condition", "seed"],
    ).astype({"run": np.int64, "model": np.int64, "seed": np.int64})  # also where there is none
    scores = scores.merge(about, on=["run", "of_source"], how="inner")
    # Not the difference of two logarithms, which would be 0 for neighbouring numbers
    change = (scores["ppl_altered"] - scores["ppl_original"]) / scores["ppl_original"]
    scores["margin_nats"] = change.map(np.log1p)
    scores["p_original"] = scores["stated"] = np.nan
    scores["points"] = points(change)
    scores["is_near_tie"] = near_tie(scores["ppl_original"], scores["ppl_altered"])
    return scores


def read_corpora(numbers: Mapping[int, int], prefer_imported: bool) -> pd.DataFrame:
    """Scores of corpora, as in SourceData; of each model and corpus those of the newest run."""
    runs = (
        ScoringRun.objects.exclude(corpus="")
        .filter(status=ScoringRun.Status.FINISHED, language_model__in=numbers)
        .order_by("-pk")
    )
    newest: dict[tuple[int, str], ScoringRun] = {}
    for run in sorted(
        runs, key=lambda r: (prefer_imported and r.backend == ScoringRun.Backend.IMPORTED, r.pk)
    ):
        newest[run.language_model_id, run.corpus] = run
    chosen = {run.pk: run for run in newest.values()}
    texts = read_columns(
        CorpusScore.objects.filter(Q(run__in=chosen)).order_by("run_id", "row"),
        {
            "run": ("run_id", np.int64),
            "row": ("row", np.int64),
            "ppl": ("ppl", float),
            "zlib_bytes": ("zlib_bytes", float),
        },
    )
    of_model = [numbers[chosen[r].language_model_id] for r in texts["run"]]
    texts["model"] = np.array(of_model, dtype=np.int64)
    texts["corpus"] = [chosen[r].corpus for r in texts["run"]]
    texts["prompt"] = [chosen[r].prompt for r in texts["run"]]
    known = {
        (corpus.language_model_id, corpus.corpus): corpus.status
        for corpus in TrainingCorpus.objects.filter(language_model__in=numbers)
    }
    texts["in_training"] = [
        known.get((chosen[r].language_model_id, chosen[r].corpus), UNKNOWN) for r in texts["run"]
    ]
    texts["is_anchor"] = np.array([chosen[r].is_anchor for r in texts["run"]], dtype=bool)
    return texts.drop(columns="run")


def read_trainings(models: Mapping[int, int]) -> dict[int, TrainingSummary]:
    """`models`: primary key of a language model -> its number; the summaries have these numbers."""
    summaries = {}
    for training in Training.objects.filter(language_model__in=models).select_related("corpus"):
        if not training.language_model_id:
            continue
        made: Mapping[str, Any] = training.manifest
        last = None if made.get("undated") else last_day(made.get("last_published", ""))
        summaries[models[training.language_model_id]] = TrainingSummary(
            corpus=training.corpus.slug,
            mode=training.mode,
            documents=made.get("corpus_documents"),
            corpus_tokens=made.get("corpus_tokens"),
            last_published=last,
            tokens_seen=training.tokens,
            trainable_parameters=made.get("trainable_parameters"),
            held_out_before=made.get("untrained_held_out_loss"),
            held_out_after=made.get("held_out_loss"),
        )
    return summaries
