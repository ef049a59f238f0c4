"""Part of the import: the rows of participants, trials and judgments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from experiment.imports.read.brainbench import Published
from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import FILES, Identity
from experiment.imports.read.trials import PublishedParticipant
from experiment.models import Item, Judgment, Participant, Study, Trial
from experiment.services.recounting import recount

EXTERNAL_SOURCE = "brainbench"

# (participant's id there, position) -> (item, row as it was found)
Held = dict[tuple[str, int], tuple[int, Mapping[str, str]]]


@dataclass
class StoredTrials:
    """How many rows were created; `skipped` if the trials' items are nowhere to be found."""

    participants: int = 0
    trials: int = 0
    skipped: bool = False
    notes: list[str] = field(default_factory=list)


def store_participants(data: Published, study: Study, problems: list[Problem]) -> StoredTrials:
    """Create the participants whom the study does not have yet; the others must be as in the file."""
    rows = Item.objects.filter(collection=Item.Collection.BRAINBENCH, version=1)
    rows = rows.filter(kind=Item.Kind.TEST, texts=Item.Texts.AS_PUBLISHED)
    items = {(row.source, row.doi.lower()): row for row in rows.only("source", "doi")}
    # Sources that trials are about, of which neither the directory nor the database has the items
    judged = {trial.identity for person in data.participants for trial in person.trials}
    unknown = {source for source, _ in judged - items.keys()}
    absent = sorted(source for source in unknown if not data.has_items_of(source))
    if absent:
        note = f"The trials were not imported, because {', '.join(FILES[s] for s in absent)} is missing."
        return StoredTrials(skipped=True, notes=[note])
    held = _held(study)
    known = {pid for pid, _ in held}
    new = []
    for person in data.participants:
        if str(person.pid) not in known:
            new.append(person)
        elif not _agrees(person, items, held):
            message = f"participant {person.pid} was imported before with other trials or answers"
            problems.append(person.trials[0].row.problem(message, "pid"))
    if problems:
        return StoredTrials()
    return StoredTrials(len(new), _create(new, study, items))


def _held(study: Study) -> Held:
    judgments = Judgment.objects.filter(
        trial__participant__study=study,
        trial__participant__kind=Participant.Kind.IMPORTED,
        trial__participant__external_source=EXTERNAL_SOURCE,
    ).order_by()
    columns = (
        "trial__participant__published_id",
        "trial__position",
        "trial__item",
        "source_record",
    )
    return {
        (pid, position): (item, record)
        for pid, position, item, record in judgments.values_list(*columns)
    }


def _agrees(person: PublishedParticipant, items: Mapping[Identity, Item], held: Held) -> bool:
    pid = str(person.pid)
    wanted = {
        (pid, trial.position): (item.pk, trial.row.cells)
        for trial in person.trials
        if (item := items.get(trial.identity))
    }
    return wanted == {key: value for key, value in held.items() if key[0] == pid}


def _create(
    people: Sequence[PublishedParticipant], study: Study, items: Mapping[Identity, Item]
) -> int:
    participants = Participant.objects.bulk_create(
        [_participant(person, study) for person in people]
    )
    trials, judgments = [], []
    for person, participant in zip(people, participants, strict=True):
        for trial in person.trials:
            row = Trial(
                participant=participant,
                position=trial.position,
                stratum=trial.source,
                item=items[trial.identity],
            )
            trials.append(row)
            judgment = Judgment(
                trial=row,
                correct=trial.correct,
                confidence=trial.confidence,
                expertise=trial.expertise,
                # Published is one flag for both sliders
                confidence_moved=trial.moved,
                expertise_moved=trial.moved,
                recognised=trial.recognised,
                rt_ms=trial.rt_ms,
                source_record=dict(trial.row.cells),
            )
            judgments.append(judgment)
    Trial.objects.bulk_create(trials)
    Judgment.objects.bulk_create(judgments)
    recount(study, Participant.Kind.IMPORTED)
    return len(trials)


def _participant(person: PublishedParticipant, study: Study) -> Participant:
    """A finished participant: who did not finish, or was excluded, is not in the published file."""
    participant = Participant(
        study=study,
        kind=Participant.Kind.IMPORTED,
        stage=Participant.Stage.FINISHED,
        position=person.trials[-1].position,
        # The published study assigned by a plain counter, and its plan has no sides.
        policy=Study.Policy.PAPER,
        plan=[[trial.source, ""] for trial in person.trials],
        demographics=dict(person.demographics),
        external_source=EXTERNAL_SOURCE,
        published_id=str(person.pid),
    )
    participant.page_reached = participant.page_number
    return participant
