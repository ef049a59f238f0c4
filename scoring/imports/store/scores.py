"""Part of the import: the rows of scores.

Scores belong to version 1 of an item, the published text: that is what the published models read.
"""

from collections.abc import Iterator, Mapping, Sequence

from experiment.imports.read.tables import Problem
from experiment.models import Item
from scoring.imports.read import provenance
from scoring.imports.read.results import PublishedCorpus, PublishedScores
from scoring.models import CorpusScore, ItemScore, ScoringRun

# Source -> row of the test cases' file, from 0 -> the item's primary key
ItemRows = Mapping[str, Mapping[int, int]]
SIDES = "AB"


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
            texts += _corpus_scores(run, part)
        else:
            pairs += _item_scores(run, part, items[part.source])
    ItemScore.objects.bulk_create(pairs)
    CorpusScore.objects.bulk_create(texts)
    return len(pairs) + len(texts)


def _item_scores(
    run: ScoringRun, scores: PublishedScores, items: Mapping[int, int]
) -> Iterator[ItemScore]:
    columns = zip(
        scores.rows.tolist(),
        scores.units.tolist(),
        scores.labels.tolist(),
        scores.original(scores.ppl),
        scores.altered(scores.ppl),
        *_lengths(scores),
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


def _lengths(scores: PublishedScores) -> tuple[Sequence[int | None], Sequence[int | None]]:
    if scores.zlib_bytes is None:
        none = [None] * len(scores.ppl)
        return none, none
    return scores.original(scores.zlib_bytes), scores.altered(scores.zlib_bytes)


def _corpus_scores(run: ScoringRun, corpus: PublishedCorpus) -> Iterator[CorpusScore]:
    lengths = zip(corpus.ppl.tolist(), corpus.zlib_bytes.tolist(), strict=True)
    for row, (ppl, zlib_bytes) in enumerate(lengths, start=1):
        yield CorpusScore(run=run, row=row, ppl=ppl, zlib_bytes=zlib_bytes)


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
    run.identity = provenance.of_scores(scores, run.language_model.family)
    run.save(update_fields=["identity"])
