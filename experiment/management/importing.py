"""The common part of commands that bring a file into a field of research: its field, and the file's names of its columns."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from experiment.domain.roles import FieldRight, Right
from experiment.management.finding import find_field
from experiment.models import ResearchField, Study
from experiment.services.fields import create_field
from experiment.services.rights import field_rights_of, may


def add_file_arguments(parser: CommandParser) -> None:
    field = parser.add_mutually_exclusive_group(required=True)
    field.add_argument("--field", metavar="SLUG", help="field of research")
    field.add_argument(
        "--new-field", metavar="NAME", help="create the field of research with the file's subfields"
    )
    parser.add_argument(
        "--new-subfields",
        action="store_true",
        help="create the subfields that the field does not have",
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        type=_pair,
        metavar="OURS=THEIRS",
        help="match a column of the file to one of ours, such as markup=body (repeatable)",
    )
    add_sheet(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would change, without storing anything"
    )
    add_writer(parser)


def add_sheet(parser: CommandParser) -> None:
    parser.add_argument(
        "--sheet",
        default="",
        metavar="NAME",
        help="sheet of a spreadsheet to read (default: the one with the columns that are needed)",
    )


def add_writer(parser: CommandParser) -> None:
    parser.add_argument(
        "--by",
        default="",
        metavar="USERNAME",
        help="the writer, who must have the right to do this (default: the site's administrator)",
    )


def check_writer(
    by: User | None, research_field: ResearchField, *, as_lead: bool, study: Study | None = None
) -> None:
    """Commands act for the server's administrator, who may do everything; with a name, for somebody who may do what their pages allow.

    Raises CommandError where they may not: only leads accept test cases and add subfields.
    """
    if by is None:
        return
    needed, role = FieldRight.CURATE_FIELD, "curator"
    if as_lead:
        needed, role = FieldRight.LEAD_FIELD, "lead"
    if needed not in field_rights_of(by, research_field):
        raise CommandError(
            f"{by} is not a {role} of {research_field.slug}. Name one of its people, or leave out --by."
        )
    if study is not None:
        check_researcher(by, study)


def check_researcher(by: User | None, study: Study) -> None:
    """Likewise, of who sets a study up."""
    if by is not None and not may(by, Right.SET_UP, study):
        raise CommandError(
            f"{by} is not a researcher of {study.slug}. Name one of its people, or leave out --by."
        )


def _pair(text: str) -> tuple[str, str]:
    ours, _, theirs = (part.strip() for part in text.partition("="))
    if not (ours and theirs):
        raise ArgumentTypeError(f"“{text}” is not OURS=THEIRS")
    return ours, theirs


def field_of(options: Mapping[str, Any], by: User | None) -> ResearchField:
    """The field that is named, or a new one; in the transaction that imports, so that it is not left behind."""
    if name := options["new_field"]:
        return create_field(name, ResearchField().reviews_needed, by)
    return find_field(options["field"])


def makes_subfields(options: Mapping[str, Any]) -> bool:
    """A new field has none."""
    return bool(options["new_subfields"] or options["new_field"])
