"""Use cases: texts are collected, a corpus is built of them that holds no test case, and looked through before it is trained on."""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify

from experiment.models import Item, ItemScratch
from lib.files import atomic_file
from lib.jobs.models import Job
from scoring.demo_lm import MODEL_FOLDER, NAME
from scoring.models import Corpus, GeneratedDraft
from scoring.training.corpus.building.build import OnProgress, Settings, build
from scoring.training.corpus.building.overlap import ItemTexts, fingerprint, overlaps
from scoring.training.corpus.building.store import TokenCounter
from scoring.training.corpus.document import CorpusError, to_line
from scoring.training.corpus.entrez.client import Access, Client
from scoring.training.corpus.manifest import BuiltCorpus, Excluded, open_corpus
from scoring.training.corpus.read.local import Problems, Reading, local_files, read_file
from scoring.training.corpus.unwanted import ENGLISH


def open_client() -> Client:
    """The only host that it asks is that of ENTREZ_URL."""
    return Client(Access(settings.ENTREZ_URL, settings.ENTREZ_API_KEY, settings.ENTREZ_EMAIL))


ENDING = ".sources"  # a corpus's name has no full stop


@dataclass(frozen=True, slots=True)
class Added:
    """The outcome for one path."""

    path: str
    name: str  # of the file that its documents are kept in
    documents: int
    was_there: bool  # the same documents had been added before
    skipped: Sequence[str]  # files of other kinds
    n_no_dates: int  # documents whose date is none, and was left off
    no_dates: Sequence[str]  # the first of them, by file and line
    passed_over: Mapping[str, int]  # records that are no documents, by what they are


def sources_folder(name: str) -> Path:
    """Raises ValidationError: no corpus can have that name."""
    Corpus(slug=name).clean_fields(exclude=["sha256", "manifest"])
    return Path(settings.CORPORA_DIR) / f"{name}{ENDING}"


def collected() -> list[str]:
    """Names that texts were collected under."""
    return sorted(path.stem for path in Path(settings.CORPORA_DIR).glob(f"*{ENDING}"))


def add_source(name: str, path: Path, reading: Reading, on_done: Callable[[int], None]) -> Added:
    """Read a file or folder and keep its documents, all or none; `on_done` hears of documents.

    Raises:
        CorpusError: something in it cannot be read, by file and line, or it holds no document.
        ValidationError: no corpus can have that name.
    """
    folder = sources_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    problems, skipped, digest, n = Problems(), list[str](), hashlib.sha256(), 0
    draft = folder / f"adding.{os.getpid()}"
    with atomic_file(draft) as file:
        for local in local_files(path, problems, skipped):
            for document in read_file(local, reading, problems):
                line = to_line(document).encode() + b"\n"
                file.write(line)
                digest.update(line)
                n += bool(document.text)
                on_done(n)
        problems.refuse()
        if not n:
            raise CorpusError(f"{path} does not contain any text.")
    kept = folder / f"{slugify(path.resolve().stem) or 'texts'}-{digest.hexdigest()[:12]}.jsonl"
    was_there = kept.exists()
    draft.replace(kept)
    return Added(
        *(str(path), kept.name, n, was_there, skipped, problems.n_no_dates, problems.no_dates),
        dict(+problems.passed_over),
    )


def known_items() -> list[ItemTexts]:
    """Every test case of every study and field: each version, retired ones, drafts, practice and catch, and what models drafted."""
    items = Item.objects.values_list("key", "doi", "original", "altered", "expert_answer")
    drafts = GeneratedDraft.objects.values_list("run", "row", "doi", "abstract", "markup")
    begun = ItemScratch.objects.exclude(values={}).values_list("pk", "values")
    return [
        *(ItemTexts(key, doi, tuple(filter(None, texts))) for key, doi, *texts in items),
        *(
            ItemTexts(f"drafting run {run}, row {row}", doi, (abstract, markup))
            for run, row, doi, abstract, markup in drafts
        ),
        *(
            ItemTexts(
                f"begun draft {pk}", str(typed.get("doi", "")), (str(typed.get("markup", "")),)
            )
            for pk, typed in begun
        ),
    ]


def build_corpus(
    name: str,
    *,
    holdout: float,
    seed: int,
    tokenizer: Path | None,
    replace: bool,
    languages: Sequence[str] = (ENGLISH,),
    on_progress: OnProgress,
) -> Corpus:
    """Build a corpus of what was collected under its name.

    Args:
        languages: of texts, as PubMed writes them; none for all.
    Raises:
        CorpusError: nothing was, a corpus of that name is there or is being built, or it cannot be replaced.
    """
    sources = sorted(sources_folder(name).glob("*.jsonl"))
    if not sources:
        raise CorpusError(f"No texts were collected for {name}. Use corpus add --name {name} PATH.")
    counter = (
        TokenCounter(tokenizer, tokenizer.resolve().name)
        if tokenizer
        else TokenCounter(MODEL_FOLDER, NAME)
    )
    with (
        _alone(name),
        tempfile.TemporaryDirectory(prefix=f".{name}.", dir=settings.CORPORA_DIR) as beside,
    ):
        _check_free(name, replace)
        made = Path(beside) / name
        made.mkdir()
        created = timezone.localtime().isoformat(timespec="seconds")
        about = Settings(name, holdout, seed, created, tuple(languages))
        built = build(made, sources, known_items(), about, counter, on_progress)
        with transaction.atomic():
            _check_free(name, replace)
            values = {"sha256": built.sha256, "manifest": asdict(built.manifest)}
            row, _ = Corpus.objects.update_or_create(slug=name, defaults=values)
            before = before_of(row.folder)
            if row.folder.exists():
                row.folder.rename(before)
            made.rename(row.folder)
        shutil.rmtree(before, ignore_errors=True)
    return row


def open_to_train(row: Corpus) -> BuiltCorpus:
    """The corpus, when its files are those that were built and hold no test case of today.

    Raises:
        CorpusError: they are not, or they do.
    """
    corpus = open_corpus(row.folder)
    if corpus.sha256 != row.sha256:
        raise CorpusError(
            f"The corpus {row} differs from the corpus that was built with this name."
        )
    corpus.check()
    if any(leaks(corpus, lambda done: None)):
        # Which document that is says which paper the test case is from: not to everybody who may train
        raise CorpusError(
            f"The corpus {row} contains a test case that was added after it was built. corpus check --name {row} names it, "
            f"and corpus build --name {row} --replace leaves it out."
        )
    return corpus


def leaks(corpus: BuiltCorpus, on_done: Callable[[int], None]) -> Iterator[Excluded]:
    """Documents that give a test case of today away; none is looked at if it was built against the same ones."""
    items = known_items()
    if fingerprint(items) != corpus.manifest.test_cases:
        yield from overlaps(corpus, items, on_done)


def before_of(folder: Path) -> Path:
    """Where a corpus lies while another takes its place."""
    return folder.with_name(f".{folder.name}.before")


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """One build of a name at a time on this machine; what a killed one left goes."""
    root = Path(settings.CORPORA_DIR)
    with (root / f".{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CorpusError(f"The corpus {name} is being built already.") from error
        before = before_of(root / name)
        if before.exists() and not (root / name).exists():  # killed between the two
            before.rename(root / name)
        for left in root.glob(f".{name}.*/"):
            shutil.rmtree(left)
        try:
            yield
        except OSError as error:
            error.filename = error.filename or str(root)  # a write that fails names no file
            raise


def _check_free(name: str, replace: bool) -> None:
    row = Corpus.objects.filter(slug=name).first()
    if row is None:
        return
    if not replace:
        raise CorpusError(
            f"The corpus {name} already exists. Choose another name, or use --replace."
        )
    if row.trainings.filter(status__in=Job.OPEN_STATUSES).exists():
        raise CorpusError(f"The corpus {name} is being trained on, and cannot be replaced.")
