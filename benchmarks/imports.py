"""What an import of many items costs: generated ones, in the form of the published files."""

import csv
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cost import Stopwatch
from benchmarks.databases import scratch_database
from experiment.imports.read.brainbench import read_published
from experiment.imports.read.testcases import COLUMNS, FILES
from experiment.imports.store.published import country_code, import_published
from experiment.models import Item

SECTIONS = ("Behavioral/Cognitive", "Cellular/Molecular", "Systems/Circuits")
WORDS = ("cells", "responses", "the", "of", "in", "memory", "during", "(n = 12)", "rose,", "task.")
N_WORDS, PASSAGES = 210, 3  # of an abstract; the published ones have as many
DAMAGED = 25  # one in so many has a comma inside a passage, as among the published ones


def measure_import(n: int) -> float:
    """CPU-seconds of reading and storing `n` new items, in a scratch database."""
    with tempfile.TemporaryDirectory(prefix="bench-import-") as folder, scratch_database():
        root = Path(folder)
        write_items(root, n)
        watch = Stopwatch()
        import_published(read_published(root, country_code), "bench", Item.Texts.REPAIRED)
        return watch.lap().cpu_s


def write_items(root: Path, n: int) -> None:
    """Half human-created, half machine-created ones."""
    chance = random.Random(12)
    for name, count in zip(FILES.values(), (n - n // 2, n // 2), strict=True):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(_item(number, chance) for number in range(count))


def _item(number: int, chance: random.Random) -> list[str]:
    original, altered, combined = "", "", ""
    for one, other, markup in _passages(number, chance):
        plain = " ".join(chance.choices(WORDS, k=N_WORDS // PASSAGES))
        original += f"{plain} {one} "
        altered += f"{plain} {other} "
        combined += f"{plain} {markup} "
    doi = f"https://doi.org/10.1000/bench.{number}"
    return [doi, chance.choice(SECTIONS), original, altered, combined]


def _passages(number: int, chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Original, altered and markup; the published versions of a damaged one are its first two pieces."""
    for n in range(PASSAGES):
        one, other = chance.sample(("increased", "decreased", "did not change"), 2)
        if n == 0 and number % DAMAGED == 0:
            yield one, "as expected", f"[[{one}, as expected, {other}, as expected]]"
        else:
            yield one, other, f"[[{one}, {other}]]"
