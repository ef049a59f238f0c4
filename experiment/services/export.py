"""Judged trials as a CSV file of one moment, which appears whole or not at all."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from django.db.models import Q, Sum

from experiment.models import ItemCount, Judgment, Participant, Study
from experiment.models.trials import JudgmentQuerySet
from experiment.services.counts import under_way
from experiment.services.exclusions import verdicts_of
from experiment.services.study_versions import rules_of, version_shown
from experiment.services.trial_fields import HEADER, Row, TrialFields, in_order
from lib.csv import line
from lib.files import atomic_file
from lib.snapshot import snapshot

SETS = ("all", "analysis")
ROWS = 2_000  # of a block: they are in memory at once
INCLUDED, PARTICIPANT = HEADER.index("included"), HEADER.index("participant")
Block = Sequence[Row]
Blocks = Iterator[Block]


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
    """Rows that the export of each set would hold now, at the same cost however many there are."""
    settled = ItemCount.objects.filter(study=study, kind=kind).aggregate(
        all=Sum("judged", default=0), analysis=Sum("valid", filter=~Q(stratum="catch"), default=0)
    )
    by_others = Judgment.objects.filter(trial__participant__in=under_way(study, kind)).count()
    return settled | {"all": settled["all"] + by_others}


def trial_blocks(
    study: Study, kind: str, set_name: str, rules: int | None = None
) -> Iterator[Block]:
    """The rows of all judged trials by participant and position, some at a time.

    `rules` is the version of the rules that decides what is included; without it what is stored does, which is the
    newest version's.

    Raises:
        UnknownVersionError: there are no such rules.
    """
    version, other = version_shown(study, kind), None
    if rules is not None and rules != version:
        version, other = rules, rules_of(study, kind, rules).exclusion_rules
    # Other rules may include what is left out now
    rows = in_order(judged_trials(study, kind, "all" if other else set_name))
    writer = TrialFields(study, version)
    stream = rows.iterator(chunk_size=ROWS)
    while some := list(islice(stream, ROWS)):
        people = Participant.objects.filter(pk__in={row[0] for row in some})
        block = writer.of(some, people, None if other is None else verdicts_of(people, other))
        if other and set_name == "analysis":
            block = [row for row in block if row[INCLUDED] == "true"]
        yield block


def export_trials(
    study: Study,
    kind: str,
    set_name: str,
    file: BinaryIO,
    watch: Callable[[Blocks], Blocks] = iter,
    rules: int | None = None,
) -> Export:
    """Write the CSV of one moment to a new file, which is at its start afterwards.

    `watch` passes the blocks on, and sees the database as it is at that moment. `rules`: as in `trial_blocks`.
    """
    digest, n_rows, n_participants, last = hashlib.sha256(), 0, 0, ""

    def write(rows: Block) -> None:
        for written in map(line, rows):
            file.write(written)
            digest.update(written)

    with snapshot():
        study = Study.objects.get(pk=study.pk)  # its version at that moment
        write([HEADER])
        for block in watch(trial_blocks(study, kind, set_name, rules)):
            write(block)
            n_rows += len(block)
            names = [last, *(row[PARTICIPANT] for row in block)]
            n_participants += len(set(names)) - 1
            last = names[-1]  # the next block may go on with theirs
    file.seek(0)
    version = version_shown(study, kind) if rules is None else rules
    return Export(study.slug, kind, set_name, version, n_rows, n_participants, digest.hexdigest())


def export_to_file(
    study: Study, kind: str, set_name: str, path: Path, rules: int | None = None
) -> Export:
    """Export to `path`, which appears whole or stays as it was."""
    with atomic_file(path) as file:
        return export_trials(study, kind, set_name, file, rules=rules)
