"""A query's trials as a file of one moment, which appears whole or not at all, with a manifest that says what it holds."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlencode
from zipfile import ZIP_DEFLATED, ZipFile

from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone

from experiment.domain import export_columns
from experiment.domain.release import CSV, DATA_SET, Form, Released
from experiment.domain.trial_query import Problem, QueryError, TrialQuery
from experiment.models import Study
from experiment.services.audit import Action, record
from experiment.services.export import data_set
from experiment.services.export.data_set import Held, MoreTables, Table, more_tables, no_tables
from experiment.services.export.data_set import items_table as items
from experiment.services.export.data_set import participants_table as participants
from experiment.services.export.release import about, release_of, released, released_columns
from experiment.services.export.trials import completed, deciding, trials
from experiment.services.export.values import HEADER, columns_of
from experiment.services.reapplying import are_mixed, refuse_mixed_release
from lib.code import code_version, release
from lib.files import atomic_file, write_file
from lib.locks import snapshot
from lib.table_files import Block, Digesting, TooLargeForSheetError, writing

Blocks = Iterator[Block]
PARTICIPANT, ITEM = HEADER.index("participant"), HEADER.index("item_key")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of an export; `sha256` is of the file's bytes, or of the trials of several.

    rules_version: that says what is excluded. rules_mixed: but not of everybody yet. codebook, code: the versions of what columns mean, and of what wrote them;
    release: the version of this project alone.
    released: what was coarsened and left out for the public, None where nothing was. files: the hashes of a data set's files; table_rows: how many rows these have.
    """

    study: str
    kind: str
    set: str
    query: dict[str, str | list[str]]
    format: str
    rules_version: int | None
    rows: int
    participants: int
    items: int
    sha256: str
    codebook: str
    code: str
    made_at: datetime
    release: str = ""  # of exports from before 1.0.0
    rules_mixed: bool = False
    released: dict[str, Any] | None = None
    files: dict[str, str] = field(default_factory=dict)
    table_rows: dict[str, int] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Manifest":
        return cls(**{**values, "made_at": datetime.fromisoformat(values["made_at"])})

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return f"{self.study}-{self.kind}-{self.set}-{self.made_at:%Y%m%dT%H%MZ}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"made_at": self.made_at.isoformat(timespec="seconds")}

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"


@dataclass
class _Counting:
    """Counts rows, participants and test cases as blocks pass by."""

    rows: int = 0
    participants: int = 0
    last: str = ""

    def __post_init__(self) -> None:
        self.items: set[str] = set()

    def add(self, block: Block) -> None:
        self.rows += len(block[0])
        names = [self.last, *block[PARTICIPANT]]
        self.participants += len(set(names)) - 1
        self.last = names[-1]  # the next block may go on with theirs
        self.items.update(block[ITEM])


def export_trials(
    study: Study,
    query: TrialQuery,
    file: BinaryIO,
    form: Form = CSV,
    watch: Callable[[Blocks], Blocks] = iter,
) -> Manifest:
    """Write the rows of one moment to a new file, which is at its start afterwards.

    `watch` passes the blocks on, and sees the database as it is at that moment.

    Raises:
        QueryError: the query names what the study does not have, or what cannot be published now.
    """
    more: MoreTables = no_tables
    if form.format == DATA_SET:
        more = more_tables(study, completed(study, query), form)
    with snapshot():
        study = Study.objects.get(pk=study.pk)  # its version at that moment
        query = completed(study, query)
        refuse_mixed_release(study, query, form)
        rows = _Rows(study, query, form, watch)
        if form.is_in_tables:
            manifest = _write_data_set(rows, file, more)
        elif form.zip:
            # With its manifest, whose hash is of the file, and the codebook
            with _archive(file) as archive:
                with archive.open(f"trials.{form.format}", "w", force_zip64=True) as target:
                    manifest = rows.write(cast("BinaryIO", target))
                archive.writestr("manifest.json", manifest.as_json())
                archive.writestr("codebook.md", export_columns.as_markdown())
        else:
            manifest = rows.write(file)
    file.seek(0)
    return manifest


class _Rows:
    """The rows of an export, as they are written once; afterwards, what they were."""

    def __init__(
        self, study: Study, query: TrialQuery, form: Form, watch: Callable[[Blocks], Blocks]
    ) -> None:
        self.study, self.query, self.form, self._watch = study, query, form, watch
        self.made_at = timezone.now()
        self.counted = _Counting()
        self._read = columns_of(study)
        self.columns = released_columns(self._read, form) if form.k else self._read
        self._released: Released | None = None

    def blocks(self) -> Blocks:
        if self.form.k:
            self._released = release_of(self.study, self.query, self.form.k)
        rows = trials(self.study, self.query, is_release=bool(self.form.k))
        for block in self._watch(rows):
            self.counted.add(block)
            if self._released is None:
                yield block
            else:
                yield from released(iter([block]), self._released, self._read, self.form)

    def write(self, file: BinaryIO) -> Manifest:
        target = Digesting(file)
        form = self.form
        try:
            with writing(
                form.format, cast("BinaryIO", target), self.columns, bom=form.bom
            ) as write:
                for block in self.blocks():
                    write(block)
        except TooLargeForSheetError as error:
            why = str(error).rstrip(".")
            raise QueryError([Problem("format", form.format, why=why)]) from error
        return self.manifest(target.digest.hexdigest())

    def manifest(self, sha256: str) -> Manifest:
        return Manifest(
            study=self.study.slug,
            kind=self.query.kind,
            set=self.query.set,
            query=self.query.as_dict(),
            format=self.form.format,
            rules_version=deciding(self.study, self.query).version,
            rows=self.counted.rows,
            participants=self.counted.participants,
            items=len(self.counted.items),
            sha256=sha256,
            codebook=export_columns.version(),
            code=code_version(),
            release=release(),
            made_at=self.made_at,
            rules_mixed=are_mixed(self.study, self.query.kind, self.query.rules),
            released=about(self._released, self._read, self.form) if self._released else None,
        )


def _write_data_set(rows: _Rows, file: BinaryIO, more: MoreTables) -> Manifest:
    """A data set of Psych-DS; the manifest's hash is of its trials."""
    people, cases, held = participants(rows.columns), items(rows.columns), Held(rows.columns)

    def passing() -> Blocks:
        for block in rows.blocks():
            for each in (people, cases, held):
                each.add(block)
            yield block

    def tables() -> Iterator[Table]:
        yield Table("trials", "one row for each judged trial", rows.columns, passing())
        yield Table("participants", "who judged them", people.columns, people.blocks())
        yield Table("items", "the test cases shown in these trials", cases.columns, cases.blocks())
        yield from more(held)

    with _archive(file) as archive:
        written = data_set.write_tables(archive, rows.study, tables())
        manifest = rows.manifest(written[0].sha256)
        released = manifest.released
        if released is not None:
            dropped = [f"{one.table.name}.{name}" for one in written for name in one.table.dropped]
            released = released | {"dropped": [*released["dropped"], *dropped]}
        manifest = replace(
            manifest,
            files={one.file: one.sha256 for one in written},
            table_rows={one.table.name: one.rows for one in written},
            released=released,
        )
        data_set.describe(archive, rows.study, written, manifest.as_dict())
    return manifest


def _archive(file: BinaryIO) -> ZipFile:
    return ZipFile(file, "w", ZIP_DEFLATED, compresslevel=data_set.LEVEL)


def export_to_file(study: Study, query: TrialQuery, path: Path, form: Form = CSV) -> Manifest:
    """Export to `path`, which appears whole or stays as it was; the manifest lies beside it."""
    with atomic_file(path) as file:
        manifest = export_trials(study, query, file, form)
    write_file(manifest_path(path), manifest.as_json())
    return manifest


def record_export(
    study: Study, manifest: Manifest, form: Form, by: User | AnonymousUser | None = None
) -> None:
    """Say in the audit trail that somebody took these data away, and in which form."""
    record(
        Action.EXPORTED,
        by=by,
        study=study,
        query=urlencode(manifest.query, doseq=True),
        rows=manifest.rows,
        sha256=manifest.sha256,
        **form.as_dict(),
    )


def manifest_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.manifest.json")
