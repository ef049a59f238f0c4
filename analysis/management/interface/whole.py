"""docs/interface.json and docs/migrations.json, as the code is."""

import hashlib
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.base import CommandError

from analysis.codec import json_schema
from analysis.management.interface import commands, files, ledger, schemas, site
from lib.code import ROOT, release
from lib.shapes import Tree

INTERFACE, MIGRATIONS = "interface.json", "migrations.json"


def interface() -> Tree:
    from analysis.report import report  # both load what computes
    from analysis.teams.results import TeamsDocument

    return {
        ledger.VERSION: release(),
        "addresses": site.addresses(),
        "api": schemas.api(),
        "columns": files.columns(),
        "commands": commands.options(),
        "exit statuses": site.exit_statuses(),
        "json": commands.printed_keys(),
        "keys": {
            "report.json": schemas.keys_of(report.json_schema()),
            "teams.json": schemas.keys_of(json_schema(TeamsDocument)),
            **files.keys(),
        },
        "python": site.functions(),
        "settings": site.site_settings(),
    }


def migrations() -> Tree:
    """SHA-256 of each migration's file, by app and name."""
    found: Tree = {}
    for app in apps.get_app_configs():
        folder = Path(app.path) / "migrations"
        if folder.is_relative_to(ROOT) and not folder.is_relative_to(ROOT / ".venv"):
            found[app.label] = {
                path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted(folder.glob("0*.py"))
            }
    return {label: names for label, names in found.items() if names}


def interface_text(docs: Path) -> str:
    """To be stored there. Raises CommandError where something public that is stored there would go."""
    now = interface()
    return _grown(ledger.breaks(ledger.read(docs / INTERFACE), now), now)


def migrations_text(docs: Path) -> str:
    """To be stored there. Raises CommandError where one that is stored there has changed."""
    now = migrations()
    return _grown(ledger.changed_migrations(ledger.read(docs / MIGRATIONS), now), now)


def _grown(problems: list[str], now: dict[str, Any]) -> str:
    if problems:
        raise CommandError("\n".join(problems))
    return ledger.text_of(now)
