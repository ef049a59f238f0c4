from collections.abc import Mapping
from typing import Any, Protocol

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, add_json_argument
from scoring.management.corpus import add, build, check, fetch
from scoring.management.corpus import list as listing
from scoring.training.corpus.document import CorpusError


class Part(Protocol):
    """A subcommand: a module of `scoring.management.corpus`; the first line of its docstring is its help."""

    __doc__: str | None

    def add_arguments(self, parser: CommandParser) -> None: ...

    def run(self, command: ReportingCommand, options: Mapping[str, Any]) -> None:
        """Do it, and `command.report` the result."""


PARTS: Mapping[str, Part] = {
    "fetch": fetch,
    "add": add,
    "build": build,
    "list": listing,
    "check": check,
}


class Command(ReportingCommand):
    help = "Gather a field's literature, and make a corpus of it to train on."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="|".join(PARTS), required=True)
        for name, part in PARTS.items():
            about = (part.__doc__ or "").partition("\n")[0]
            one = actions.add_parser(name, help=about, description=about)
            part.add_arguments(one)
            add_json_argument(one)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            PARTS[options["action"]].run(self, options)
        except CorpusError as error:
            raise CommandError(str(error)) from error
