"""The site's file storages, in a folder of the test's own."""

from pathlib import Path
from typing import Any

from config.env import parse_storage
from scoring.models import ScoringRun
from scoring.services import token_store

PARTS = {"token_records": "scoring", "results": "results", "withdrawals": "withdrawals"}


def store_files_in(settings: Any, place: Path | str) -> None:
    """In a folder, or in s3://bucket/prefix."""
    parts = {alias: parse_storage(str(place), part) for alias, part in PARTS.items()}
    settings.STORAGES = {**settings.STORAGES, **parts}


def records_folder(run: ScoringRun) -> Path:
    return Path(token_store.storage().path(str(run.uuid)))


def part_path(run: ScoringRun, batch_index: int) -> Path:
    return Path(token_store.storage().path(token_store.part_name(run, batch_index)))
