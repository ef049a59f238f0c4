"""Which participants and trials the rules leave out: decided at the finish, again after a change, or only to see."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from django.db import transaction
from django.db.models import Exists, OuterRef

from experiment.domain import exclusion
from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Participant, Study
from experiment.models.participants import ParticipantQuerySet

Stage = Participant.Stage
CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Marks:
    """Reason codes and flags as rows hold them, each joined by spaces."""

    excluded_by: str = ""
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a set of rules says of finished participants and of their judgments, by primary key."""

    participants: Mapping[int, Marks]
    judgments: Mapping[int, Marks]

    @property
    def valid_participants(self) -> set[int]:
        return {pk for pk, marks in self.participants.items() if not marks.excluded_by}

    @property
    def valid_judgments(self) -> set[int]:
        """Those that nothing is said against; their participants may be left out."""
        return {pk for pk, marks in self.judgments.items() if not marks.excluded_by}


@dataclass(frozen=True, slots=True)
class Changed:
    """How many participants and trials are excluded, included or excluded for other reasons than before."""

    participants: int = 0
    trials: int = 0


def verdicts(study: Study, kind: str, rules: Rules) -> Verdicts:
    """What these rules would say; nothing is stored. Imported participants keep what their publication decided."""
    people: dict[int, Marks] = {}
    judgments: dict[int, Marks] = {}
    finished = Participant.objects.of(study, kind).finished()
    if kind == Participant.Kind.IMPORTED:
        people = {pk: Marks(*m) for pk, *m in finished.values_list("pk", "excluded_by", "flags")}
        rows = Judgment.objects.of(study, kind).values_list("pk", "excluded_by", "flags")
        return Verdicts(people, {pk: Marks(*marks) for pk, *marks in rows.iterator()})
    for person, own, verdict in _judged(finished, rules):
        people[person.pk] = _participant_marks(verdict)
        judgments |= {judgment.pk: _trial_marks(verdict, judgment) for judgment in own}
    return Verdicts(people, judgments)


def apply_exclusions(participant: Participant) -> None:
    """Store what the study's rules say of somebody who has just finished."""
    # Locked: a change of the rules either sees this participant as finished, or is seen here.
    study = Study.objects.select_for_update(no_key=True).get(pk=participant.study_id)
    _store(Participant.objects.filter(pk=participant.pk), study.exclusion_rules)
    participant.refresh_from_db(fields=["excluded_by", "flags"])
    if exclusion.DUPLICATE_EXTERNAL_ID.code in participant.flags.split():
        # The first participant was not flagged: the second came later.
        others = Participant.objects.of(study, participant.kind).finished()
        same_id = others.filter(
            external_source=participant.external_source, external_id=participant.external_id
        )
        same_id.update(flags=exclusion.DUPLICATE_EXTERNAL_ID.code)


@transaction.atomic
def reapply_exclusions(study: Study) -> Changed:
    """Decide again, by the study's rules, for all who finished.

    Imported participants keep what their publication decided.
    """
    finished = study.participants.finished().exclude(kind=Participant.Kind.IMPORTED)
    locked = finished.order_by("pk").select_for_update(of=("self",), no_key=True)
    pks = list(locked.values_list("pk", flat=True))
    changes = [
        _store(Participant.objects.filter(pk__in=pks[at : at + CHUNK]), study.exclusion_rules)
        for at in range(0, len(pks), CHUNK)
    ]
    return Changed(sum(c.participants for c in changes), sum(c.trials for c in changes))


def _store(people: ParticipantQuerySet, rules: Rules) -> Changed:
    changed_people: list[Participant] = []
    changed_judgments: list[Judgment] = []
    n_people = n_trials = 0
    for person, judgments, verdict in _judged(people, rules):
        marks = _participant_marks(verdict)
        n_people += marks.excluded_by != person.excluded_by
        if _mark(person, marks):
            changed_people.append(person)
        for judgment in judgments:
            marks = _trial_marks(verdict, judgment)
            n_trials += marks.excluded_by != judgment.excluded_by
            if _mark(judgment, marks):
                changed_judgments.append(judgment)
    Participant.objects.bulk_update(changed_people, ["excluded_by", "flags"], batch_size=CHUNK)
    Judgment.objects.bulk_update(changed_judgments, ["excluded_by", "flags"], batch_size=CHUNK)
    return Changed(n_people, n_trials)


def _mark(row: Participant | Judgment, marks: Marks) -> bool:
    """Put the marks on the row, which is not saved; whether they are others than before."""
    before = Marks(row.excluded_by, row.flags)
    row.excluded_by, row.flags = marks.excluded_by, marks.flags
    return before != marks


def _participant_marks(verdict: exclusion.Verdict) -> Marks:
    return Marks(" ".join(verdict.participant), " ".join(verdict.participant_flags))


def _trial_marks(verdict: exclusion.Verdict, judgment: Judgment) -> Marks:
    trial = judgment.trial_id
    return Marks(" ".join(verdict.trials[trial]), " ".join(verdict.trial_flags[trial]))


def _judged(
    people: ParticipantQuerySet, rules: Rules
) -> Iterator[tuple[Participant, list[Judgment], exclusion.Verdict]]:
    """Each of these participants with their judgments and what the rules say; three queries for all."""
    sharing = _sharing_an_id(people)
    judgments = (
        Judgment.objects.filter(trial__participant__in=people.order_by().values("pk"))
        .select_related("trial")
        .defer("source_record", "trial__draw")
        .order_by("trial__participant_id", "trial__position")
    )
    groups = groupby(judgments.iterator(), key=lambda judgment: judgment.trial.participant_id)
    pk, own = next(groups, (None, iter(())))
    for person in people.order_by("pk").defer("plan", "demographics", "comments"):
        found = []
        if pk == person.pk:
            found = list(own)
            pk, own = next(groups, (None, iter(())))
        facts = exclusion.ParticipantFacts(
            person.stage == Stage.FINISHED,
            person.cheated,
            [_facts(judgment) for judgment in found],
            shares_external_id=person.pk in sharing,
        )
        yield person, found, exclusion.judge_participant(facts, rules)


def _sharing_an_id(people: ParticipantQuerySet) -> set[int]:
    """Those of them who came to their study under the same id as another of the same kind."""
    namesakes = Participant.objects.filter(
        study=OuterRef("study"),
        kind=OuterRef("kind"),
        external_source=OuterRef("external_source"),
        external_id=OuterRef("external_id"),
    ).exclude(pk=OuterRef("pk"))
    with_id = people.order_by().exclude(external_id="")
    return set(with_id.filter(Exists(namesakes)).values_list("pk", flat=True))


def _facts(judgment: Judgment) -> exclusion.TrialFacts:
    return exclusion.TrialFacts(
        trial_id=judgment.trial_id,
        stratum=judgment.trial.stratum,
        correct=judgment.correct,
        recognised=bool(judgment.recognised),
        rt_ms=judgment.timed_ms,
        confidence_moved=judgment.confidence_moved,
        expertise_moved=judgment.expertise_moved,
        rt_choice_ms=judgment.rt_choice_ms,
        hidden_ms=judgment.hidden_ms,
    )
