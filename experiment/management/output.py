"""What commands share: `--json` prints one JSON object on standard output, and nothing else there."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.core.serializers.json import DjangoJSONEncoder


def add_json_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object on standard output instead of text",
    )


def emit(
    command: BaseCommand, options: Mapping[str, Any], data: Mapping[str, Any], lines: Iterable[str]
) -> None:
    """Print a command's result: `data` as JSON where it was asked for, else `lines` for people."""
    if options["json"]:
        command.stdout.write(json.dumps(data, cls=DjangoJSONEncoder))
    else:
        command.stdout.write("\n".join(lines))
