"""Part of the import: the rows of models and runs.

A file is known by its SHA-256. A run that was imported before is left alone; where its file has changed since, the
import is refused, for a run is evidence: whoever wants the new numbers deletes the run first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError

from experiment.imports.read.tables import Problem
from experiment.models import Study
from scoring.domain.prompts import Prompt
from scoring.imports.read import provenance
from scoring.imports.read.folders import ANCHOR
from scoring.imports.read.results import PublishedCorpus, PublishedModel, PublishedScores
from scoring.imports.store.model_set import place_in_set
from scoring.imports.store.scores import ItemRows, create_scores, fill_lengths
from scoring.models import LanguageModel, ScoringRun
from scoring.services.open_model import ensure_language_model

Part = PublishedScores | PublishedCorpus
# What an imported run is found by: model, corpus, condition, source, seed
RunKey = tuple[str, str, str, str, int | None]
FULL = ScoringRun.Condition.FULL.value


@dataclass
class StoredRuns:
    """How many rows were created."""

    models: int = 0
    runs: int = 0
    scores: int = 0
    notes: list[str] = field(default_factory=list)


def store_runs(
    models: Sequence[PublishedModel],
    items: ItemRows,
    study: Study,
    problems: list[Problem],
    *,
    is_first: bool,
) -> StoredRuns:
    """Create what the database does not have yet; the rest must be of the same files.

    is_first: the study had nothing of the import before, so that runs made for another study are new to it.
    """
    n_models = LanguageModel.objects.count()
    rows = _language_models(models, problems)
    held = _held(list(rows.values()))
    new: list[tuple[ScoringRun, Part]] = []
    longer: list[tuple[ScoringRun, PublishedScores]] = []
    for model in models:
        if model.name not in rows:
            continue
        parts: tuple[Part, ...] = (*model.scores, *model.corpora)
        for part in parts:
            run = _run(part, rows[model.name], study)
            known = held.get(_key(run))
            if known is None:
                new.append((run, part))
            elif not _has_same_files(known, part, problems):
                continue
            elif isinstance(part, PublishedScores) and _brings_lengths(known, part):
                longer.append((known, part))
    if problems:
        return StoredRuns()
    ScoringRun.objects.bulk_create([run for run, _ in new])
    stored = StoredRuns(LanguageModel.objects.count() - n_models, len(new))
    stored.scores = create_scores(new, items)
    for run, scores in longer:
        fill_lengths(run, scores, items)
    here = [*(held.values() if is_first else ()), *(run for run, _ in new)]
    scored = {run.language_model.name: run.language_model for run in here if not run.corpus}
    stored.notes += place_in_set(study, scored)
    return stored


def _language_models(
    models: Sequence[PublishedModel], problems: list[Problem]
) -> dict[str, LanguageModel]:
    """Name -> row of the models that have results; locked, so that two imports at once make no run twice."""
    names = []
    for model in models:
        if not (model.scores or model.corpora):
            continue
        try:
            names.append(ensure_language_model(model.name).name)
        except ValidationError as error:
            problems.append(Problem(f"{model.folder}/", " ".join(error.messages)))
    locked = LanguageModel.objects.select_for_update(no_key=True).filter(name__in=names)
    return {row.name: row for row in locked.order_by("pk")}


def _held(rows: Sequence[LanguageModel]) -> dict[RunKey, ScoringRun]:
    """Whichever study they were imported for: the published items are the same for all."""
    imported = ScoringRun.objects.filter(
        backend=ScoringRun.Backend.IMPORTED, language_model__in=rows
    )
    runs = imported.select_related("language_model").order_by("pk")
    return {_key(run): run for run in runs}


def _key(run: ScoringRun) -> RunKey:
    return run.language_model.name, run.corpus, run.condition, run.source, run.seed


def _has_same_files(run: ScoringRun, part: Part, problems: list[Problem]) -> bool:
    """Whether what was read then and what was read now is the same, as far as both have it."""
    known = run.identity.get("files", {})
    changed = [
        name
        for name, facts in part.files.items()
        if name in known and known[name]["sha256"] != facts["sha256"]
    ]
    message = f"differs from what was imported before as run {run.pk}; delete that run to import this file"
    problems += [Problem(name, message) for name in changed]
    return not changed


def _brings_lengths(run: ScoringRun, part: PublishedScores) -> bool:
    """Whether the compressed lengths, which were absent before, are there now."""
    return bool(part.files.keys() - run.identity.get("files", {}).keys())


def _run(part: Part, row: LanguageModel, study: Study) -> ScoringRun:
    common = {
        "language_model": row,
        "backend": ScoringRun.Backend.IMPORTED.value,
        "status": ScoringRun.Status.FINISHED.value,
        "total": len(part.ppl),
        "done": len(part.ppl),
    }
    if isinstance(part, PublishedCorpus):
        return ScoringRun(
            corpus=part.corpus,
            is_anchor=part.corpus == ANCHOR,
            condition=FULL,
            prompt=ScoringRun.Prompt.NONE.value,
            prompt_text=Prompt.of("none").template,
            identity=provenance.of_corpus(part),
            **common,
        )
    return ScoringRun(
        study=study,
        condition=part.condition,
        source=part.source,
        seed=part.seed,
        prompt=ScoringRun.Prompt.PAPER.value,
        # Where something else was fed than the paper's sentence, `identity.prompt` says what is known of it
        prompt_text=Prompt.of("paper").template
        if provenance.read_the_sentence(part, row.family)
        else "",
        identity=provenance.of_scores(part, row.family),
        **common,
    )
