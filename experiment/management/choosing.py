"""Arguments and lines of the commands that say which test cases a study takes."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from experiment.models import Item, ResearchField, Study
from experiment.services.item_choice import ItemChoice, ListedKey, Taken, read_keys
from lib.files import read_regular

ANY = "any"
STRATA = {
    "human": "human-created",
    "machine": "machine-created",
    "catch": "catch",
    "question": "question",
    "practice": "practice",
}


def add_choice(parser: CommandParser, default_collection: str = "") -> None:
    """The conditions on test cases. Without a default the collection has to be named."""
    group = parser.add_argument_group("test cases", "only items that match all of these criteria")
    collection = "published set of the test cases"
    group.add_argument(
        "--collection",
        choices=(*Item.Collection.values, ANY),
        required=not default_collection,
        help=f"{collection} (default: {default_collection})" if default_collection else collection,
    )
    group.add_argument("--source", choices=Item.Source.values, help="who altered the test cases")
    group.add_argument(
        "--field",
        default="",
        help="field of research, by its name or short name; participants of a new study also give their years of experience in it",
    )
    group.add_argument("--subfields", nargs="+", default=[], metavar="NAME")
    add_keys(group)


def add_keys(group: argparse._ArgumentGroup) -> None:
    """Exactly these, named here or in a file."""
    keys = group.add_mutually_exclusive_group()
    keys.add_argument("--items", nargs="+", default=[], metavar="KEY", help="exactly these")
    keys.add_argument(
        "--items-file",
        type=Path,
        metavar="FILE",
        help="exactly those listed in a file, one key per line; # starts a comment",
    )


def choice_of(options: Mapping[str, Any], default_collection: str = "") -> ItemChoice:
    collection = options["collection"] or default_collection
    # Other commands know a field by its short name
    given = options["field"]
    fields = ResearchField.objects.filter(Q(name=given) | Q(slug=given))
    names = fields.values_list("name", flat=True)
    return ItemChoice(
        collection="" if collection == ANY else collection,
        source=options["source"] or "",
        field=given if given in names else next(iter(names), given),
        subfields=tuple(options["subfields"]),
        keys=keys_of(options),
    )


def keys_of(options: Mapping[str, Any]) -> tuple[ListedKey, ...]:
    path: Path | None = options["items_file"]
    if path is None:
        return tuple(ListedKey(key, "--items") for key in options["items"])
    try:
        keys = read_keys(read_regular(path).decode("utf-8-sig").splitlines(), path.name)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandError(f"{path} cannot be read: {reason}.") from error
    if not keys:
        raise CommandError(f"{path} does not list any test cases.")
    return keys


def item_lines(items: Taken, choice: ItemChoice) -> list[str]:
    lines = [drawn_line(items)]
    lines += [f"  {name or 'no subfield'}: {n}" for name, n in items.subfields.items()]
    if items.n_waiting:
        lines.append(
            f"Not included: {items.n_waiting} published texts whose repair a person must still accept."
        )
    if items.n_left_out:
        others = f"Not included: {items.n_left_out} other accepted test cases"
        only = (
            f" (--collection {ANY} also includes test cases from elsewhere)"
            if choice.collection
            else ""
        )
        lines.append(f"{others}{only}.")
    return lines


def drawn_line(items: Taken) -> str:
    return f"The study draws from {_numbers(items.strata, 'item')}."


def each_line(study: Study) -> str:
    return f"Each participant gets {_numbers(study.trial_counts, 'trial')}."


def _numbers(strata: Mapping[Any, int], what: str) -> str:
    n = sum(strata.values())
    if not n:
        return f"no {what}s"
    told = ", ".join(f"{STRATA[name]} {n}" for name, n in strata.items())
    return f"{n} {what}{'' if n == 1 else 's'}: {told}"
