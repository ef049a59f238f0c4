"""Reads damaged files one after the other; after each refusal the database has the rows that it had."""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import transaction

from benchmarks.trust.fuzz.cases import Case, HangError, Tally, time_limit
from benchmarks.trust.fuzz.imports import items, published, studies, texts
from benchmarks.trust.fuzz.imports.readers import Reader, WrongImportError
from benchmarks.trust.fuzz.material import Material, row_counts

OF = "imports"
LONGEST_S = 20.0


def readers(material: Material) -> list[Reader]:
    return [
        items.reader(material),
        studies.reader(material),
        studies.texts_reader(material),
        published.reader(),
        texts.corpus_reader(),
        texts.tokens_reader(),
    ]


def run(material: Material, seed: int, numbers: Iterable[int]) -> Tally:
    """Every case begins with the same rows: what it writes is rolled back."""
    tally, known = Tally(), readers(material)
    with _undone():
        before = row_counts()
    for number in numbers:
        case = Case(OF, seed, number)
        rng = case.rng()
        reader = rng.choices(known, [each.share for each in known])[0]
        tally.cases += 1
        _try(reader, case, rng, before, tally)
    return tally


def _try(
    reader: Reader, case: Case, rng: random.Random, before: dict[str, int], tally: Tally
) -> None:
    files = reader.make(rng)
    try:
        with _undone(), time_limit(LONGEST_S):
            is_imported = reader.read(files, rng)
            if not is_imported and reader.writes and row_counts() != before:
                tally.fail(case, f"{reader.name}: refused, and partly written")
    except (WrongImportError, HangError) as error:
        tally.fail(case, f"{reader.name}: {error}")
    except Exception as error:  # noqa: BLE001 - every other error is what is looked for
        tally.errors += 1
        tally.fail(case, f"{reader.name}: {type(error).__name__}: {error}")
    else:
        tally.taken += is_imported
        tally.refused += not is_imported


@contextmanager
def _undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
