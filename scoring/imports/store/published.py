"""All that was published is stored, people's and models' alike, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from django.db import transaction

from experiment.imports.read.brainbench import Published
from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import FILES
from experiment.imports.store.published import (
    Imported,
    ImportRefusedError,
    import_published,
)
from scoring.imports.read.results import PublishedModel, PublishedResults
from scoring.imports.store.runs import StoredRuns, check_rows, published_items, store_runs


@dataclass(frozen=True)
class ImportedAll:
    """The written results; `models` are those whose results are stored, with what is stored of them."""

    people: Imported
    models: Sequence[PublishedModel]
    runs: StoredRuns
    notes: list[str] = field(default_factory=list)


def import_all(data: Published, results: PublishedResults, slug: str, texts: str) -> ImportedAll:
    """Store what was read, for the study of this name, which is made if there is none; again changes nothing.

    Raises:
        ImportRefusedError: the data have problems, disagree with what the database holds, or no study can
            have this name.
    """
    with transaction.atomic():
        try:
            people = import_published(data, slug, texts)
        except ImportRefusedError as refusal:
            raise ImportRefusedError([*refusal.problems, *results.problems]) from refusal
        problems, items = list(results.problems), published_items()
        # Scores of items that are nowhere to be found are noted
        sources = {scores.source for model in results.models for scores in model.scores}
        notes = [
            f"The models' results on {FILES[source]} were not imported, because that file is missing."
            for source in sorted(sources - items.keys())
        ]
        with_items = [
            replace(model, scores=[scores for scores in model.scores if scores.source in items])
            for model in results.models
        ]
        models = [model for model in with_items if model.scores or model.corpora]
        for scores in (scores for model in models for scores in model.scores):
            found = check_rows(scores, items[scores.source])
            if isinstance(found, Problem):
                problems.append(found)
            elif found:
                notes.append(found)
        is_first = bool(people.created.studies or people.created.participants)
        runs = store_runs(models, items, people.study, problems, is_first=is_first)
        if problems:
            raise ImportRefusedError(problems)
        return ImportedAll(people, models, runs, [*notes, *runs.notes])
