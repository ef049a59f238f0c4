"""What an administrator has read from IMPORTS_DIR: published data (`scoring.imports.work` does it), reference texts."""

from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction

from experiment.services import work
from scoring.models import LanguageModel, PublishedImport, ScoringRun
from scoring.services.open_model import default_name, language_model
from scoring.services.runs import draft_run, newest_same
from scoring.services.texts import READERS, describe_corpus

STEPS = 3  # read people, read models, store


def folders() -> list[str]:
    """What lies in IMPORTS_DIR and may be imported, by name."""
    root: Path = settings.IMPORTS_DIR
    return sorted(path.name for path in root.iterdir() if path.is_dir() and path.name[0] != ".")


@transaction.atomic
def ask(folder: str, slug: str, texts: str, by: User | AnonymousUser) -> PublishedImport:
    """A new import, for a worker."""
    user = by if isinstance(by, User) else None
    job = PublishedImport.objects.create(
        folder=folder, slug=slug, texts=texts, total=STEPS, created_by=user
    )
    work.start(job, by)
    return job


def corpus_files() -> list[str]:
    """Files of texts in IMPORTS_DIR, by name."""
    root: Path = settings.IMPORTS_DIR
    return sorted(path.name for path in root.iterdir() if path.suffix.lower() in READERS)


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
