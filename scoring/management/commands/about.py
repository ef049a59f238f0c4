from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from lib.commands import ReportingCommand, add_json_argument
from scoring.services.about import About, about


class Command(ReportingCommand):
    help = (
        "Print the versions of this software and of what it runs on, the numbers of studies, participants and models, and the state of the "
        "database. Send this with the description of a fault. It contains no key, address or name."
    )
    requires_system_checks = ()  # it also describes a site that fails them
    prints = About

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        found = about()
        self.report(options, asdict(found), _lines(found))


def _lines(found: About) -> Iterator[str]:
    yield f"BrainBench Live {found.release} {found.revision}".rstrip()
    yield f"Python {found.python} on {found.platform}"
    yield f"Django {found.django}, torch {found.torch or '-'}, transformers {found.transformers or '-'}"
    yield f"Database: {found.database} {found.database_server or f'({found.database_error})'}, cache: {found.cache}"
    yield f"Free disk space: {found.free_disk_bytes / 1e9:,.1f} GB"
    if found.pending_migrations:
        n = len(found.pending_migrations)
        yield f"Migrations that are not applied: {n} (run `manage.py migrate`)"
    elif found.pending_migrations is not None:
        yield "All migrations are applied."
    if found.counts is not None:
        yield ", ".join(f"{name}: {n:,}" for name, n in asdict(found.counts).items())
