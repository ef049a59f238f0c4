"""Files that somebody sent to be looked at before they are imported: the newest ones, for a day, for that person and field alone."""

import re
import secrets
from datetime import timedelta

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.utils import timezone

from experiment.models import ItemImport, ResearchField
from lib.storage import delete_folder, file_names, folder_names

KEPT = timedelta(days=1)
MOST_KEPT = 5  # of a person and field, beside those that wait for a worker: each may be 30 MB
FOLDER = "item-imports"
_NAME = re.compile(r"[0-9a-f]{32}")


def keep(research_field: ResearchField, user: User, data: bytes) -> str:
    """Store a file; its name is for `read`. The oldest ones beyond MOST_KEPT are deleted."""
    _make_room(research_field, user)
    name = secrets.token_hex(16)
    _storage().save(_path(research_field, user, name), ContentFile(data))
    return name


def _make_room(research_field: ResearchField, user: User) -> None:
    wanted = research_field.imports.filter(created_by=user, status__in=ItemImport.OPEN_STATUSES)
    folder = _path(research_field, user, "")
    names = {*file_names(_storage(), folder)} - {*wanted.values_list("upload", flat=True)}
    paths = sorted((folder + name for name in names), key=_storage().get_modified_time)
    for path in paths[: max(0, len(paths) + 1 - MOST_KEPT)]:
        _storage().delete(path)


def read(research_field: ResearchField, user: User, name: str) -> bytes:
    """A file's bytes.

    Raises:
        FileNotFoundError: the user sent no such file for the field, or more than a day ago.
    """
    path = _path(research_field, user, name)
    if not _NAME.fullmatch(name) or not _storage().exists(path) or _is_old(path):
        raise FileNotFoundError(path)
    with _storage().open(path) as file:
        data: bytes = file.read()
    return data


def forget(research_field: ResearchField, user: User, name: str) -> None:
    _storage().delete(_path(research_field, user, name))


def forget_old() -> None:
    """Delete what was sent more than a day ago."""
    for folder in folder_names(_storage(), FOLDER):
        for name in file_names(_storage(), f"{FOLDER}/{folder}"):
            if _is_old(f"{FOLDER}/{folder}/{name}"):
                _storage().delete(f"{FOLDER}/{folder}/{name}")
        if not file_names(_storage(), f"{FOLDER}/{folder}"):
            delete_folder(_storage(), f"{FOLDER}/{folder}")


def _is_old(path: str) -> bool:
    return bool(_storage().get_modified_time(path) < timezone.now() - KEPT)


def _path(research_field: ResearchField, user: User, name: str) -> str:
    return f"{FOLDER}/{research_field.pk}-{user.pk}/{name}"


def _storage() -> Storage:
    return storages["results"]
