"""The demo's questions: a field of their own, its templates with what these make of a table, and some without a template (experiment/demo/)."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from django.db import transaction

from experiment.imports.read.questions import read_questions
from experiment.imports.store.filling import Wanted, fill_template, key_of
from experiment.imports.store.writing import import_questions
from experiment.models import Item, ResearchField
from experiment.services.questions import save_template

FOLDER = Path(__file__).parents[2] / "demo"
ACCEPTED = "Built in: written for this project from textbook values."


@cache
def _shipped() -> dict[str, Any]:
    with (FOLDER / "questions.toml").open("rb") as file:
        return tomllib.load(file)


@transaction.atomic
def ensure_questions() -> list[Item]:
    """The accepted built-in questions, created where missing, those of the templates first, in the order of the table."""
    shipped = _shipped()
    named = shipped["field"]
    research_field = ResearchField.objects.filter(slug=named["slug"]).first()
    research_field = research_field or ResearchField.objects.create(**named)
    data = (FOLDER / "elements.csv").read_bytes()
    keys: list[str] = []
    for entry in shipped["template"]:
        texts = {name: entry[name] for name in ("key", "question", "rules", "categories")}
        template = save_template(research_field, **texts, is_demo=True)
        wanted = Wanted(entry["n"], tuple(entry["strata"]), entry["seed"])
        filled = fill_template(template, data, wanted)
        import_questions(filled.as_file, research_field, ACCEPTED, is_demo=True)
        keys += [key_of(template, pair) for pair in filled.pairs]
    own = read_questions((FOLDER / "questions.csv").read_bytes())
    keys += import_questions(own, research_field, ACCEPTED, is_demo=True).keys
    accepted = Item.objects.accepted().filter(key__in=keys, kind=Item.Kind.QUESTION)
    newest = {item.key: item for item in accepted.order_by("version")}
    return [newest[key] for key in keys if key in newest]
