"""The manifest of a backup: written last, so that a folder without it is no backup."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lib.files import write_file
from lib.folders import inside

NAME = "manifest.json"
PARTIAL = ".partial"  # at the end of a folder's name: not whole yet, or not any more
FORMAT = 1
Fact = str | int
Facts = Mapping[str, Fact]  # what the site says of its rows: a restored copy must say the same


class BackupError(Exception):
    """A sentence for whoever backs up or restores."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DatabaseCopy:
    """A database at one moment: the file that holds it, and what was counted in the same snapshot."""

    file: str
    engine: str  # Django's vendor
    server: str  # its version
    migrations: list[str]  # applied, as app.name
    rows: Mapping[str, int]
    facts: Facts


@dataclass(frozen=True, slots=True)
class Manifest:
    made_at: str
    release: str
    database: DatabaseCopy
    key: str  # tells keys apart, and says nothing of them
    files: Mapping[str, StoredFile]
    format: int = FORMAT

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())

    def write(self, folder: Path) -> None:
        said = asdict(self)
        path = folder / NAME
        write_file(path, json.dumps(said | {"sha256": _digest(said)}, indent=1) + "\n")
        path.chmod(0o600)


def read(folder: Path) -> Manifest:
    """The manifest of a backup; BackupError where it is missing, or not as it was written."""
    path = folder / NAME
    if not path.is_file() or folder.name.endswith(PARTIAL):
        raise BackupError(
            f"{folder} is not a backup: it was not finished, or does not contain {NAME}."
        )
    try:
        said = json.loads(path.read_text())
        if said.pop("sha256") != _digest(said):
            raise BackupError(f"{path} was changed since it was written.")
        if said["format"] != FORMAT:
            raise BackupError(
                f"{path} has another format ({said['format']}). Use the release that made it."
            )
        files = {name: StoredFile(**file) for name, file in said.pop("files").items()}
        manifest = Manifest(database=DatabaseCopy(**said.pop("database")), files=files, **said)
        for name in (*files, manifest.database.file):
            if inside(folder, name) is None:
                raise BackupError(f"{path} names a file outside the backup: {name!r}.")
        return manifest
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BackupError(f"{path} cannot be read because it was truncated or changed.") from error


def _digest(said: Mapping[str, Any]) -> str:
    """Against accidents, not against who would make a manifest anew."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
