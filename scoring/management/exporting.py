"""The common part of commands that write a study's test cases as a task of another tool."""

import re

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.models import Item, Study
from lib.commands import add_json_argument
from scoring.domain.backend import ScoringError
from scoring.services.choosing.runs import examples_of


def add_study_arguments(parser: CommandParser) -> None:
    parser.add_argument("--study", metavar="SLUG", help="not needed if there is only one study")
    parser.add_argument("--source", choices=Item.Source.values, help="default: both")
    add_json_argument(parser)


def study_named(slug: str | None) -> Study:
    """Raises CommandError where none is named, and there is not only one."""
    if slug:
        return find_study(slug)
    found = list(Study.objects.all()[:2])
    if not found:
        raise CommandError("There is no study.")
    if len(found) > 1:
        raise CommandError("There are several studies. Name one with --study.")
    return found[0]


def cases_of(study: Study, source: str | None) -> list[Item]:
    """By key. Raises CommandError where there is none."""
    items = study.items.filter(kind=Item.Kind.TEST)
    items = items.filter(source=source) if source else items
    # Sorted here: databases disagree on the order of texts
    found = sorted(items, key=lambda item: item.key)
    if not found:
        raise CommandError(f"Study {study.slug} does not have any of these test cases.")
    return found


def examples_among(study: Study, n: int) -> list[Item]:
    """Raises CommandError where there are fewer."""
    try:
        pks = examples_of(study, n)
    except ScoringError as error:
        raise CommandError(str(error)) from error
    found = Item.objects.in_bulk(pks)
    return [found[pk] for pk in pks]


def task_name(name: str) -> str:
    """The name. Raises CommandError where it is none."""
    if not re.fullmatch(r"[\w-]+", name):
        raise CommandError("A task's name can contain only letters, digits, _ and -.")
    return name
