"""All that a directory of published data holds, of people and of models. Plain Python: no database."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from experiment.imports.read.brainbench import Published, read_published
from experiment.imports.read.tables import Problem
from scoring.imports.read.published import FOLDER, read_results
from scoring.imports.read.results import PublishedResults

MOST_PROBLEMS = 1_000  # of people's files, and of models'


@dataclass(frozen=True, slots=True)
class Everything:
    people: Published
    models: PublishedResults


def read_everything(_: bytes, folder: Path, codes: Mapping[str, str]) -> Everything:
    """codes: of countries, as `read_published` takes them."""
    people, models = read_published(folder, codes, others=[FOLDER]), read_results(folder)
    return Everything(
        replace(people, problems=_shortened(people.problems)),
        replace(models, problems=_shortened(models.problems)),
    )


def _shortened(problems: list[Problem]) -> list[Problem]:
    """As many as anybody reads, and how many more there are."""
    more = len(problems) - MOST_PROBLEMS
    said = [Problem(problems[-1].file, f"… and {more:,} more problems")] if more > 0 else []
    return [*problems[:MOST_PROBLEMS], *said]
