"""The items that ship with the project: the demo study's, and catch and practice items for any study."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from django.db import transaction

from experiment.models import Item
from experiment.services.fields.shipped import ensure_field

ITEMS_FILE = Path(__file__).parents[1] / "demo" / "items.toml"
# What the demo's test items are about. Catch and practice items are of no field: any study may use them
FIELD_OF_TESTS = "neuroscience"


@cache
def read_items() -> list[dict[str, Any]]:
    with ITEMS_FILE.open("rb") as file:
        items: list[dict[str, Any]] = tomllib.load(file)["item"]
        return items


@transaction.atomic
def ensure_items(kinds: tuple[str, ...]) -> list[Item]:
    """The accepted built-in items of these kinds, created where missing, in the file's order."""
    items = []
    field = ensure_field(FIELD_OF_TESTS).name if Item.Kind.TEST in kinds else ""
    for entry in read_items():
        if entry["kind"] not in kinds:
            continue
        item = Item.objects.accepted().filter(key=entry["key"], markup=entry["markup"]).first()
        items.append(item or _create(entry, field if entry["kind"] == Item.Kind.TEST else ""))
    # Earlier releases stored them without their field
    nameless = [item.pk for item in items if item.kind == Item.Kind.TEST and not item.field]
    Item.objects.filter(pk__in=nameless).update(field=field)
    return items


def ensure_builtin_items() -> list[Item]:
    """The accepted built-in catch and practice items, which a study of any material can use."""
    return ensure_items((Item.Kind.CATCH, Item.Kind.PRACTICE))


def _create(entry: dict[str, Any], field: str) -> Item:
    # A newer release's wording of a built-in text is a new version, like any edit.
    newest = Item.objects.filter(key=entry["key"]).order_by("-version").first()
    fields = {name: entry[name] for name in ("key", "kind", "source", "subfield", "markup")}
    item = Item(
        **fields, version=1 if newest is None else newest.version + 1, status=Item.Status.ACCEPTED
    )
    item.field = field
    item.is_demo = True
    item.generator = "BrainBench Live"
    item.note = f"{entry['title']}. {entry['finding']}"
    item.save()
    return item
