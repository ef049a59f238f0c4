"""Published results become runs with their scores.

Scores belong to version 1 of an item, the published text: that is what the published models read.

A file is known by its SHA-256. A run that was imported before is left alone; where its file has changed since, the
import is refused, for a run is evidence: whoever wants the new numbers deletes the run first.

The decisions of people come before the import's: a set that a person made or renamed stays as it is, and a model that
was taken out of the paper's does not come back.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError

from experiment.imports.read.tables import Problem
from experiment.models import Item, Study
from scoring.domain.known_models import PAPER_MODELS, PAPER_SET
from scoring.domain.prompts import Prompt
from scoring.imports.read import results
from scoring.imports.read.published import ANCHOR
from scoring.imports.read.results import PublishedCorpus, PublishedModel, PublishedScores
from scoring.models import (
    CorpusScore,
    ItemScore,
    LanguageModel,
    ModelSet,
    ModelSetMember,
    ScoringRun,
)
from scoring.services.open_model import ensure_language_model

# Source -> row of the test cases' file, from 0 -> the item's primary key
ItemRows = Mapping[str, Mapping[int, int]]
SIDES = "AB"
POSITIONS = {model.name: n for n, model in enumerate(PAPER_MODELS, start=1)}


def published_items() -> ItemRows:
    """The items as published, by their place in the published files."""
    rows: dict[str, dict[int, int]] = {}
    items = Item.objects.filter(
        collection=Item.Collection.BRAINBENCH,
        collection_row__isnull=False,
        texts=Item.Texts.AS_PUBLISHED,
        version=1,
    )
    for source, row, pk in items.values_list("source", "collection_row", "pk"):
        assert row is not None  # as filtered above
        rows.setdefault(source, {})[row] = pk
    return rows


def check_rows(scores: PublishedScores, items: Mapping[int, int]) -> Problem | str | None:
    """A problem if there are scores of items that do not exist, a note if there are items without."""
    rows = scores.rows.tolist()
    beyond = next((n for n, row in enumerate(rows) if row not in items), None)
    if beyond is not None:
        message = f"is about test case {rows[beyond] + 1} of the {len(items)} {scores.source}-created ones"
        return Problem(scores.rows_file, message, row=beyond)
    n_without = len(items.keys() - set(rows))
    if n_without:
        return f"{scores.rows_file} leaves out {n_without} of the {len(items)} {scores.source}-created test cases."
    return None


def create_scores(
    runs: Sequence[tuple[ScoringRun, PublishedScores | PublishedCorpus]], items: ItemRows
) -> int:
    pairs: list[ItemScore] = []
    texts: list[CorpusScore] = []
    for run, part in runs:
        if isinstance(part, PublishedCorpus):
            lengths = zip(part.ppl.tolist(), part.zlib_bytes.tolist(), strict=True)
            texts += (
                CorpusScore(run=run, row=row, ppl=ppl, zlib_bytes=zlib_bytes)
                for row, (ppl, zlib_bytes) in enumerate(lengths, start=1)
            )
        else:
            pairs += _item_scores(run, part, items[part.source])
    ItemScore.objects.bulk_create(pairs)
    CorpusScore.objects.bulk_create(texts)
    return len(pairs) + len(texts)


def _item_scores(
    run: ScoringRun, scores: PublishedScores, items: Mapping[int, int]
) -> Iterator[ItemScore]:
    lengths = scores.zlib_bytes
    none = [None] * len(scores.ppl)
    columns = zip(
        scores.rows.tolist(),
        scores.units.tolist(),
        scores.labels.tolist(),
        scores.original(scores.ppl),
        scores.altered(scores.ppl),
        none if lengths is None else scores.original(lengths),
        none if lengths is None else scores.altered(lengths),
        strict=True,
    )
    for row, unit, label, original, altered, zlib_original, zlib_altered in columns:
        yield ItemScore(
            run=run,
            item_id=items[row],
            unit=unit,
            original_side=SIDES[label],
            ppl_original=original,
            ppl_altered=altered,
            zlib_original_bytes=zlib_original,
            zlib_altered_bytes=zlib_altered,
        )


def fill_lengths(run: ScoringRun, scores: PublishedScores, items: ItemRows) -> None:
    """Compressed lengths that were absent when the run was imported."""
    new = {
        (score.item_id, score.unit): score
        for score in _item_scores(run, scores, items[scores.source])
    }
    rows = list(run.item_scores.all())
    for row in rows:
        source = new[row.item_id, row.unit]
        row.zlib_original_bytes = source.zlib_original_bytes
        row.zlib_altered_bytes = source.zlib_altered_bytes
    ItemScore.objects.bulk_update(rows, ["zlib_original_bytes", "zlib_altered_bytes"])
    run.identity = results.of_scores(scores, run.language_model.family)
    run.save(update_fields=["identity"])


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
            elif isinstance(part, PublishedScores) and part.files.keys() - _files(known).keys():
                longer.append((known, part))  # the compressed lengths were absent before
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
    """True if what was read then and what was read now is the same, as far as both have it."""
    known = _files(run)
    changed = [
        name
        for name, facts in part.files.items()
        if name in known and known[name]["sha256"] != facts["sha256"]
    ]
    message = (
        f"differs from run {run.pk}, which was imported before. Delete that run to import this file"
    )
    problems += [Problem(name, message) for name in changed]
    return not changed


def _files(run: ScoringRun) -> dict[str, Any]:
    return run.identity.get("files", {})  # type: ignore[no-any-return]


def _run(part: Part, row: LanguageModel, study: Study) -> ScoringRun:
    common = {
        "language_model": row,
        "backend": ScoringRun.Backend.IMPORTED.value,
        "status": ScoringRun.Status.FINISHED.value,
        "total": len(part.ppl),
        "done": len(part.ppl),
        "is_site_wide": True,  # an administrator or a command imports
    }
    if isinstance(part, PublishedCorpus):
        return ScoringRun(
            corpus=part.corpus,
            is_anchor=part.corpus == ANCHOR,
            condition=FULL,
            prompt=ScoringRun.Prompt.NONE.value,
            prompt_text=Prompt.of("none").template,
            identity=results.of_corpus(part),
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
        if results.read_the_sentence(part, row.family)
        else "",
        identity=results.of_scores(part, row.family),
        **common,
    )


def place_in_set(study: Study, new: Mapping[str, LanguageModel]) -> list[str]:
    """Let the paper's models whose results are new to the study be members of its set; returns notes."""
    members = {name: row for name, row in new.items() if name in POSITIONS}
    if not members:
        return []
    model_set, _ = ModelSet.objects.get_or_create(study=study, defaults={"name": PAPER_SET})
    if model_set.name != PAPER_SET:
        return [
            f"{study.slug} already has the set of models “{model_set.name}”, which was not changed."
        ]
    held = dict(model_set.members.values_list("position", "language_model"))
    rows = []
    for name, row in members.items():
        if row.pk in held.values():
            continue
        # Its place in the paper's order, unless a person put another model there
        position = POSITIONS[name]
        position = max(held) + 1 if position in held else position
        held[position] = row.pk
        rows.append(ModelSetMember(model_set=model_set, language_model=row, position=position))
    ModelSetMember.objects.bulk_create(rows)
    return []
