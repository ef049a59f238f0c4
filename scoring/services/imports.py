"""Imports that an administrator has read from IMPORTS_DIR or uploads: published data (`scoring.imports.work` does it), reference texts."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core.files.base import File
from django.core.files.storage import storages
from django.db import transaction

from experiment.services import work
from experiment.services.item_files import UPLOADS
from scoring.models import LanguageModel, PublishedImport, ScoringRun
from scoring.services.open_model import default_name, language_model
from scoring.services.runs import draft_run, newest_same
from scoring.services.texts import describe_corpus
from scoring.training.corpus.read.reference import ENDINGS

STEPS = 2  # read, store


def folders() -> list[str]:
    """The folders in IMPORTS_DIR that may be imported, by name."""
    root: Path = settings.IMPORTS_DIR
    return sorted(path.name for path in root.iterdir() if path.is_dir() and path.name[0] != ".")


@transaction.atomic
def ask(
    folder: str, slug: str, texts: str, by: User | AnonymousUser, upload: str = ""
) -> PublishedImport:
    """A new import, for a worker: of a folder, or of a ZIP that `keep_zip` gave this name."""
    user = by if isinstance(by, User) else None
    job = PublishedImport.objects.create(
        folder=folder[:200], slug=slug, texts=texts, upload=upload, total=STEPS, created_by=user
    )
    work.start(job, by)
    return job


def may_ask(user: User, job: PublishedImport) -> bool:
    return user.is_active and user.is_superuser


# A folder of what is deleted after a day (experiment/services/item_files.py)
ZIPS = f"{UPLOADS}/published"


def keep_zip(file: File[bytes]) -> str:
    """Store a ZIP for a worker, on whichever machine it is; its name is for `ask`."""
    name = secrets.token_hex(16)
    storages["results"].save(f"{ZIPS}/{name}", file)
    return name


@contextmanager
def opened_zip(job: PublishedImport) -> Iterator[IO[bytes]]:
    """Raises FileNotFoundError where it is kept no longer."""
    with storages["results"].open(f"{ZIPS}/{job.upload}") as file:
        yield file


def forget_zip(job: PublishedImport) -> None:
    storages["results"].delete(f"{ZIPS}/{job.upload}")


def corpus_files() -> list[str]:
    """Files of texts in IMPORTS_DIR, by name."""
    root: Path = settings.IMPORTS_DIR
    return sorted(path.name for path in root.iterdir() if path.suffix.lower() in ENDINGS)


def ask_for_corpus(
    file: str,
    backend: str,
    model_args: Mapping[str, str],
    *,
    is_anchor: bool,
    by: User | AnonymousUser,
) -> ScoringRun:
    """A new run on a file of reference texts, or the same one again.

    Raises:
        ScoringError: the file or the model cannot be meant.
    """
    path = settings.IMPORTS_DIR / file
    name = default_name(backend, model_args)
    draft = draft_run(
        corpus=path.stem,
        corpus_file=describe_corpus(path),
        is_anchor=is_anchor,
        language_model=LanguageModel(name=name),
        backend=backend,
        model_args=model_args,
        prompt="none",
        user=by if isinstance(by, User) else None,
    )
    same = newest_same(draft)
    if same is not None:
        return work.retry(same, by)
    with transaction.atomic():
        draft.language_model = language_model(backend, name)
        draft.save()
        work.start(draft, by)
    return draft
