"""What commands share: `--json` prints one JSON object on standard output, and nothing else there."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder


class ReportingCommand(BaseCommand):
    """A command with `--json`. A failure prints {"error": ...} there, besides the sentence for people."""

    has_reported = False

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except CommandError as error:
            if options.get("json") and not self.has_reported:
                self.report(options, {"error": str(error)}, ())
            raise

    def report(
        self, options: Mapping[str, Any], data: Mapping[str, Any], lines: Iterable[str]
    ) -> None:
        """Print the result: `data` as JSON where it was asked for, else `lines` for people."""
        self.has_reported = True
        if options["json"]:
            self.stdout.write(json.dumps(data, cls=DjangoJSONEncoder))
        else:
            self.stdout.write("\n".join(lines))


def add_json_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object on standard output instead of text",
    )
