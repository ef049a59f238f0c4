"""Test cases as CSV and JSON lines, by `import_items`."""

import csv
import io
import json
import random

from benchmarks.trust.fuzz.breaking.content import broken
from benchmarks.trust.fuzz.breaking.tables import broken_table
from benchmarks.trust.fuzz.breaking.trees import broken_lines
from benchmarks.trust.fuzz.imports.readers import Files, Reader, check, said
from benchmarks.trust.fuzz.material import Material
from experiment.imports.read.items import Defaults
from experiment.imports.store.item_plans import ItemPlan, Options
from experiment.imports.store.plans import Action
from experiment.imports.store.writing import PlanRefusedError, import_items
from experiment.models import Item

OPENING = "Ovens are hot. We heated {n} of them, and a baker, who was asked, agreed."
ROWS = [
    {
        "key": f"oven-{n}",
        "markup": f"{OPENING.format(n=n)} The loaf [[rose, fell]] in {n} minutes.",
        "subfield": ("Crust", "Crumb", "")[n % 3],
        "source": ("human", "machine")[n % 2],
        "generator": "GPT-4" if n % 2 else "",
        "doi": f"10.5555/oven.{n}",
        "publication_date": f"2024-03-{n + 1:02d}",
        "note": "As told, “twice”.",
    }
    for n in range(4)
]
VERSIONS = [
    {
        "original": f"{OPENING.format(n=n)} The loaf rose.",
        "altered": f"{OPENING.format(n=n)} The loaf fell.",
        "kind": ("test", "catch")[n % 2],
    }
    for n in range(3)
]
PUBLISHED = [
    {
        "doi": f"https://doi.org/10.5555/published.{n}",
        "journal_section": "Crust",
        "original_abstract": f"{OPENING.format(n=n)} It rose.",
        "incorrect_abstract": f"{OPENING.format(n=n)} It fell.",
        "combined_abstract": f"{OPENING.format(n=n)} It [[rose, fell]].",
    }
    for n in range(3)
]
OPTIONS = (
    Options(),
    Options(new_subfields=True),
    Options(Defaults("machine", "GPT-4"), new_subfields=True),
    Options(accepted_before="By the other lab."),
)


def as_csv(rows: list[dict[str, str]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue().encode()


def as_lines(rows: list[dict[str, str]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def reader(material: Material) -> Reader:
    known = Item.objects.filter(field=material.research_field.name).order_by("pk")[:3]
    again = [
        {"key": item.key, "version": str(item.version), "markup": item.markup, "note": "Edited."}
        for item in known
    ]
    tables = [ROWS, VERSIONS, PUBLISHED, again]

    def make(rng: random.Random) -> Files:
        rows = rng.choice(tables)
        match rng.randrange(4):
            case 0:
                return {"items": broken(rng, rng.choice((as_csv, as_lines))(rows))}
            case 1:
                return {"items": broken_lines(rng, as_lines(rows))}
        return {"items": broken_table(rng, as_csv(rows))}

    def read(files: Files, rng: random.Random) -> bool:
        before = Item.objects.count()
        try:
            plan = import_items(
                files["items"], material.research_field, rng.choice(OPTIONS), by=material.user
            )
        except PlanRefusedError as refused:
            return said([str(problem) for problem in refused.plan.problems])
        _check(plan, Item.objects.count() - before)
        return True

    return Reader("items", 55, make, read)


def _check(plan: ItemPlan, n_new: int) -> None:
    """As many rows as the plan says, each with the texts that its row gives."""
    changing = [row for row in plan.rows if row.action != Action.UNCHANGED]
    made = sum(not row.in_place for row in changing)
    check(n_new == made, f"{n_new} new test cases where the plan says {made}")
    texts = {
        (item.original, item.altered)
        for item in Item.objects.filter(field=plan.research_field.name)
    }
    for row in changing:
        if "markup" in row.record.given or "original" in row.record.given:
            check(
                (row.record.original, row.record.altered) in texts,
                f"row {row.record.row} is not there",
            )
