"""Trials as tidy rows, and as a file that appears whole or not at all. The columns are those of codebook.py."""

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from django.db import connection, transaction

from experiment.domain import markup
from experiment.domain.codebook import CATCH_TRIAL, TRIAL_COLUMNS
from experiment.domain.exclusion import NOT_FINISHED
from experiment.models import Judgment, Participant, Study
from experiment.models.trials import JudgmentQuerySet
from experiment.services.exclusions import Verdicts, verdicts
from experiment.services.study_versions import rules_of, version_shown
from lib.csv import cell
from lib.files import atomic_file

SETS = ("all", "analysis")
HEADER = tuple(column.name for column in TRIAL_COLUMNS)
ETHICS = ("ethics_number", "ethics_body", "ethics_contact")
CHUNK = 500
Rows = Iterator[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Export:
    """What an export holds, under which version of the rules; `sha256` is of the file's bytes."""

    study: str
    kind: str
    set: str
    rules_version: int | None
    rows: int
    participants: int
    sha256: str


def judged_trials(study: Study, kind: str, set_name: str = "all") -> JudgmentQuerySet:
    """The judgments of an export's rows: every one, or those of the analysis."""
    judgments = Judgment.objects.of(study, kind)
    if set_name == "analysis":
        # A catch trial decides about its participant and measures nothing itself.
        judgments = judgments.valid().exclude(trial__stratum="catch")
    elif set_name != "all":
        raise ValueError(f"no such set of trials: {set_name}")
    return judgments


def row_counts(study: Study, kind: str) -> dict[str, int]:
    """Rows that the export of each set would hold now."""
    return {name: judged_trials(study, kind, name).count() for name in SETS}


@contextmanager
def snapshot() -> Iterator[None]:
    """All reads inside see the database as it is at one moment; inside a transaction, that decides."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "sqlite":
        # Not atomic(): it begins IMMEDIATE and would keep every participant waiting.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")
    else:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield


def trial_rows(
    study: Study, kind: str, set_name: str, rules: int | None = None
) -> Iterator[dict[str, Any]]:
    """One dictionary per judged trial, keys as in the codebook, by participant and position.

    `rules` is the version of the rules that decides what is included; without it what is stored does, which is the
    newest version's.

    Raises:
        UnknownVersionError: there are no such rules.
    """
    version = version_shown(study, kind)
    found = None
    if rules is not None and rules != version:
        version = rules
        found = verdicts(study, kind, rules_of(study, kind, rules).exclusion_rules)
    judgments = (
        judged_trials(study, kind, "all" if found else set_name)
        .select_related("trial__participant__consent_version", "trial__item")
        # Long columns that no row shows
        .defer(
            "source_record",
            "trial__draw",
            "trial__participant__plan",
            "trial__participant__consent_version__text",
            "trial__item__original",
            "trial__item__altered",
            "trial__item__note",
        )
        .order_by("trial__participant_id", "trial__position")
    )
    for judgment in judgments.iterator(chunk_size=CHUNK):
        if found:
            _decide(judgment, found)
        row = _row(study, judgment, version)
        if not found or set_name == "all" or row["included"]:
            yield row


def _decide(judgment: Judgment, found: Verdicts) -> None:
    """Put on the rows, which are not saved, what other rules say; those who did not finish have nothing on them."""
    person = judgment.trial.participant
    for row, marks in ((judgment, found.judgments), (person, found.participants)):
        if row.pk in marks:
            row.excluded_by, row.flags = marks[row.pk].excluded_by, marks[row.pk].flags


def _row(study: Study, judgment: Judgment, version: int | None) -> dict[str, Any]:
    trial = judgment.trial
    values = {
        "study": study.slug,
        **{name: getattr(study, name) for name in ETHICS},
        "rules_version": version,
        **_participant_cells(trial.participant),
        **_trial_cells(judgment),
        **_inclusion_cells(judgment),
    }
    return {name: values[name] for name in HEADER}


def _participant_cells(participant: Participant) -> dict[str, Any]:
    consent = participant.consent_version
    copied = (
        "kind stage external_source external_id external_study_id external_session_id consented_at "
        "practice_attempts started_at finished_at cheated comments policy seed"
    )
    return {
        "participant": str(participant.public_id),
        **{name: getattr(participant, name) for name in copied.split()},
        **{
            name: participant.demographics.get(name)
            for name in ("gender", "age", "country", "experience_years")
        },
        "position_held": participant.demographics.get("position"),
        "consent_version": None if consent is None else consent.number,
        "consent_sha256": participant.consent_hash,
    }


def _trial_cells(judgment: Judgment) -> dict[str, Any]:
    trial, item = judgment.trial, judgment.trial.item
    copied = (
        "side correct confidence expertise confidence_moved expertise_moved recognised rt_choice_ms "
        "rt_final_choice_ms rt_ms confidence_first_ms confidence_last_ms expertise_first_ms "
        "expertise_last_ms server_ms changes aid_switches blur_count hidden_ms reloads viewport_width viewport_height received_at"
    )
    return {
        **{name: getattr(judgment, name) for name in copied.split()},
        **{
            name: getattr(trial, name)
            for name in ("position", "stratum", "original_side", "shown_at")
        },
        **{
            name: getattr(item, name)
            for name in ("generator", "subfield", "doi", "publication_date")
        },
        "item_key": item.key,
        "item_version": item.version,
        "item_sha256": item.sha256,
        "item_source": item.source,
        "text": _unambiguous(item.markup),
    }


def _inclusion_cells(judgment: Judgment) -> dict[str, Any]:
    participant = judgment.trial.participant
    about_participant = participant.excluded_by.split()
    if (
        participant.stage != Participant.Stage.FINISHED
        and NOT_FINISHED.code not in about_participant
    ):
        # Rules are applied at the finish: nothing is stored about those under way or gone.
        about_participant.append(NOT_FINISHED.code)
    about_trial = judgment.excluded_by.split()
    if judgment.trial.stratum == "catch":
        about_trial.append(CATCH_TRIAL.code)
    return {
        "participant_excluded_by": " ".join(about_participant),
        "trial_excluded_by": " ".join(about_trial),
        "flags": " ".join((*judgment.flags.split(), *participant.flags.split())),
        "included": not about_participant and not about_trial,
        "excluded_by": " ".join((*about_participant, *about_trial)),
    }


@lru_cache(maxsize=1024)
def _unambiguous(text: str) -> str:
    return markup.render(markup.parse(text).segments)


def write_csv(rows: Iterable[dict[str, Any]], stream: TextIO) -> tuple[int, int]:
    """Write header and rows; how many rows, and of how many participants (rows come by participant)."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    n_rows, n_participants, last = 0, 0, None
    for row in rows:
        writer.writerow([cell(value) for value in row.values()])
        n_rows += 1
        n_participants += row["participant"] != last
        last = row["participant"]
    return n_rows, n_participants


def export_trials(
    study: Study,
    kind: str,
    set_name: str,
    file: BinaryIO,
    watch: Callable[[Rows], Rows] = iter,
    rules: int | None = None,
) -> Export:
    """Write the CSV of one moment to a new file, open for writing and reading.

    `watch` passes the rows on, and sees the database as it is at that moment. `rules`: as in `trial_rows`.
    """
    stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
    with snapshot():
        study = Study.objects.get(pk=study.pk)  # its version at that moment
        rows, participants = write_csv(watch(trial_rows(study, kind, set_name, rules)), stream)
    stream.detach()
    file.seek(0)
    digest = hashlib.sha256()
    for chunk in iter(lambda: file.read(1 << 20), b""):
        digest.update(chunk)
    file.seek(0)
    version = version_shown(study, kind) if rules is None else rules
    return Export(study.slug, kind, set_name, version, rows, participants, digest.hexdigest())


def export_to_file(
    study: Study, kind: str, set_name: str, path: Path, rules: int | None = None
) -> Export:
    """Export to `path`, which appears whole or stays as it was."""
    with atomic_file(path) as file:
        return export_trials(study, kind, set_name, file, rules=rules)
