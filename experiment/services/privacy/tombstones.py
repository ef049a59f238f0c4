"""Who withdrew, kept beside the database: a restored backup, which still has them, is made right by it.

A tombstone is a file that holds a pseudonym and a time. It is written before the transaction of the withdrawal ends: where that
fails after all, who wanted to withdraw is withdrawn at the next start.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages

from lib.storage import file_names

FOLDER = "tombstones"


@dataclass(frozen=True, slots=True)
class Tombstone:
    participant: UUID
    withdrawn_at: datetime


def write(tombstone: Tombstone) -> None:
    said = {
        "participant": str(tombstone.participant),
        "withdrawn_at": tombstone.withdrawn_at.isoformat(),
    }
    name = f"{FOLDER}/{tombstone.participant}.json"
    if not _storage().exists(name):
        _storage().save(name, ContentFile(json.dumps(said).encode()))


def read_all() -> Iterator[Tombstone]:
    for name in file_names(_storage(), FOLDER):
        if name.startswith("."):
            continue  # a draft of a process that was killed
        with _storage().open(f"{FOLDER}/{name}") as file:
            said = json.loads(file.read())
        yield Tombstone(UUID(said["participant"]), datetime.fromisoformat(said["withdrawn_at"]))


def _storage() -> Storage:
    return storages["withdrawals"]
