"""Participants and trials that the rules leave out: decided at the finish, again after a change (`reapplying`), or only to see."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter

from django.db.models import Exists, OuterRef
from django.db.models.functions import Coalesce

from experiment.domain import exclusion
from experiment.domain.assignment import QUESTION
from experiment.domain.exclusion import Rules
from experiment.domain.survey import CHECKS
from experiment.models import (
    Judgment,
    Participant,
    RecruitmentRecord,
    Study,
    SurveyAnswer,
)
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import OWN_RECEIVED_AT, OWN_RT_MS, OWN_SERVER_MS, server_ms
from experiment.services.counting import judged_by, settle
from lib.fast.prepared import Prepared
from lib.locks import hold_shared

Stage = Participant.Stage
# What the rules look at, and where it is read from without making rows of it
FACTS: Mapping[str, str | Coalesce] = {
    "trial_id": "pk",
    "stratum": "trial__stratum",
    "correct": "correct",
    "confidence_moved": "confidence_moved",
    "expertise_moved": "expertise_moved",
    "rt_choice_ms": "rt_choice_ms",
    "hidden_ms": "hidden_ms",
    "abstained": "written_answer__abstained",
    "server_ms": OWN_SERVER_MS,
}


@dataclass(frozen=True, slots=True)
class Marks:
    """Reason codes and flags as rows hold them, each joined by spaces."""

    excluded_by: str = ""
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts of a set of rules on finished participants and on their judgments, by primary key."""

    participants: Mapping[int, Marks]
    judgments: Mapping[int, Marks]

    @property
    def valid_participants(self) -> set[int]:
        return {pk for pk, marks in self.participants.items() if not marks.excluded_by}

    @property
    def valid_judgments(self) -> set[int]:
        """Those that nothing is said against; their participants may be left out."""
        return {pk for pk, marks in self.judgments.items() if not marks.excluded_by}


def verdicts(study: Study, kind: str, rules: Rules) -> Verdicts:
    """The verdicts of these rules; nothing is stored. Imported participants keep what their publication decided."""
    finished = Participant.objects.of(study, kind).finished()
    if kind == Participant.Kind.IMPORTED:
        people = {pk: Marks(*m) for pk, *m in finished.values_list("pk", "excluded_by", "flags")}
        rows = Judgment.objects.of(study, kind).values_list("pk", "excluded_by", "flags")
        return Verdicts(people, {pk: Marks(*marks) for pk, *marks in rows.iterator()})
    return verdicts_of(finished, rules)


def verdicts_of(people: ParticipantQuerySet, rules: Rules) -> Verdicts:
    """The verdicts of these rules on those who finished among them, who are not imported; nothing is stored.

    Exports and comparisons ask it of everybody: what the rules look at is read, and no rows are made of it.
    """
    finished = people.finished()
    read = finished.values_list("pk", "cheated", "excluded_by")
    told = {pk: (cheated, stored) for pk, cheated, stored in read}
    sharing, inattentive = _sharing_an_id(finished), _missing_attention(finished)
    marks: dict[int, Marks] = {}
    judgments: dict[int, Marks] = {}
    nothing: list[exclusion.TrialFacts] = []
    others = ((pk, nothing) for pk in told if pk not in marks)
    for pk, trials in chain(_told_by_judgment(finished), others):
        cheated, stored = told.get(pk, (None, ""))
        facts = exclusion.ParticipantFacts(
            True,
            cheated,
            trials,
            shares_external_id=pk in sharing,
            missed_attention=pk in inattentive,
            by_hand=is_by_hand(stored),
        )
        verdict = exclusion.judge_participant(facts, rules)
        marks[pk] = _participant_marks(verdict)
        judgments |= {own: _trial_marks(verdict, own) for own in verdict.trials}
    return Verdicts(marks, judgments)


def is_by_hand(excluded_by: str) -> bool:
    """True if a person excluded this participant. No rule sets this code or takes it away: the stored codes are where it is kept."""
    return exclusion.BY_HAND.code in excluded_by.split()


def _told_by_judgment(
    people: ParticipantQuerySet,
) -> Iterator[tuple[int, list[exclusion.TrialFacts]]]:
    """The facts that the rules look at in each participant's trials; each goes by the key of its judgment."""
    rows = Judgment.objects.filter(trial__participant__in=people.order_by().values("pk"))
    read = rows.order_by("trial__participant_id").values_list(
        "trial__participant_id",
        *("trial__shown_at", OWN_RECEIVED_AT, OWN_RT_MS, "recognised", "rt_ms", "server_ms"),
        *FACTS.values(),
    )
    for pk, group in groupby(read.iterator(), key=itemgetter(0)):
        trials = []
        for _, shown_at, received_at, rt_ms, recognised, *whole_and_told in group:
            whole_ms, on_server_ms, *told = whole_and_told
            timed_ms = server_ms(shown_at, received_at) if rt_ms is None else rt_ms
            facts = dict(zip(FACTS, told, strict=True))
            facts["abstained"] = bool(facts["abstained"])  # None of an abstract
            facts |= {"rt_ms": timed_ms, "recognised": bool(recognised)}
            trials.append(exclusion.TrialFacts(**facts, whole=(whole_ms, on_server_ms)))
        yield pk, trials


_study = Prepared(lambda pk: Study.objects.filter(pk=pk), (1, 2))


def apply_exclusions(participant: Participant) -> None:
    """Store what the study's rules say of somebody who has just finished, and count them."""
    # A change of the rules either sees this participant as finished, or is seen here.
    hold_shared(participant.study)
    [study] = _study(participant.study_id)
    judgments = judged_by([participant])
    itself = Participant.objects.filter(pk=participant.pk)
    sharing = bool(participant.external_source and _sharing_an_id(itself))
    inattentive = bool(study.survey_version and _missing_attention(itself))
    verdict = _verdict(participant, judgments, sharing, inattentive, study.exclusion_rules)
    marked = mark_all(participant, judgments, verdict)
    if marked.people:
        participant.save(update_fields=["excluded_by", "flags"])
    Judgment.objects.bulk_update(marked.judgments, ["excluded_by", "flags"])
    settle(participant, judgments, study)
    if sharing:
        # The first participant was not flagged: the second came later.
        others = Participant.objects.of(study, participant.kind).finished()
        same_id = RecruitmentRecord.objects.of_same(participant.recruitment)
        alike, code = others.filter(recruitment__in=same_id), exclusion.DUPLICATE_EXTERNAL_ID.code
        other = exclusion.WRONG_ATTENTION.code
        alike.filter(flags=other).update(flags=f"{code} {other}")
        alike.filter(flags="").update(flags=code)


@dataclass(frozen=True, slots=True)
class Marked:
    """Rows whose marks are others than before, not saved; and how often the exclusion itself is."""

    people: list[Participant]
    judgments: list[Judgment]
    n_people: int
    n_trials: int


def mark_all(
    person: Participant, judgments: Sequence[Judgment], verdict: exclusion.Verdict
) -> Marked:
    own = _participant_marks(verdict)
    n_people = own.excluded_by != person.excluded_by
    people = [person] if _mark(person, own) else []
    n_trials, marked = 0, []
    for judgment in judgments:
        marks = _trial_marks(verdict, judgment.trial_id)
        n_trials += marks.excluded_by != judgment.excluded_by
        if _mark(judgment, marks):
            marked.append(judgment)
    return Marked(people, marked, int(n_people), n_trials)


def _mark(row: Participant | Judgment, marks: Marks) -> bool:
    """Put the marks on the row, which is not saved; whether they are others than before."""
    before = Marks(row.excluded_by, row.flags)
    row.excluded_by, row.flags = marks.excluded_by, marks.flags
    return before != marks


def _participant_marks(verdict: exclusion.Verdict) -> Marks:
    return Marks(" ".join(verdict.participant), " ".join(verdict.participant_flags))


def _trial_marks(verdict: exclusion.Verdict, trial: int) -> Marks:
    """The marks of a trial by the key under which the rules were told of it."""
    return Marks(" ".join(verdict.trials[trial]), " ".join(verdict.trial_flags[trial]))


def judged_people(
    people: ParticipantQuerySet, rules: Rules
) -> Iterator[tuple[Participant, list[Judgment], exclusion.Verdict]]:
    """Each of these participants with their judgments and what the rules say; four queries for all."""
    sharing, inattentive = _sharing_an_id(people), _missing_attention(people)
    judgments = (
        Judgment.objects.filter(trial__participant__in=people.order_by().values("pk"))
        .select_related("trial__advised", "written_answer")
        .defer("source_record", "trial__draw", "written_answer__text")
        .order_by("trial__participant_id", "trial__position")
    )
    groups = groupby(judgments.iterator(), key=lambda judgment: judgment.trial.participant_id)
    pk, own = next(groups, (None, iter(())))
    for person in people.order_by("pk").defer("plan", "demographics", "comments"):
        found = []
        if pk == person.pk:
            found = list(own)
            pk, own = next(groups, (None, iter(())))
        shares, missed = person.pk in sharing, person.pk in inattentive
        yield person, found, _verdict(person, found, shares, missed, rules)


def _verdict(
    person: Participant,
    judgments: Sequence[Judgment],
    shares_external_id: bool,
    missed_attention: bool,
    rules: Rules,
) -> exclusion.Verdict:
    trials = []
    for judgment in judgments:
        # Read only where a rule asks for it: most studies have none about questions
        is_told = bool(rules.question_min_rt_ms) and judgment.trial.stratum == QUESTION
        written = getattr(judgment, "written_answer", None) if is_told else None
        trial = exclusion.TrialFacts(
            trial_id=judgment.trial_id,
            stratum=judgment.trial.stratum,
            correct=bool(judgment.correct),
            recognised=bool(judgment.recognised),
            rt_ms=judgment.own_ms,
            confidence_moved=judgment.confidence_moved,
            expertise_moved=judgment.expertise_moved,
            rt_choice_ms=judgment.rt_choice_ms,
            hidden_ms=judgment.hidden_ms,
            abstained=written is not None and written.abstained,
            server_ms=judgment.own_server_ms,
            whole=(judgment.rt_ms, judgment.server_ms),
        )
        trials.append(trial)
    facts = exclusion.ParticipantFacts(
        person.stage == Stage.FINISHED,
        person.cheated,
        trials,
        shares_external_id=shares_external_id,
        missed_attention=missed_attention,
        by_hand=is_by_hand(person.excluded_by),
    )
    return exclusion.judge_participant(facts, rules)


def _missing_attention(people: ParticipantQuerySet) -> set[int]:
    """Those of them who answered an attention check otherwise than it asked."""
    checks = SurveyAnswer.objects.filter(
        participant__in=people.order_by().values("pk"),
        question__kind__in=CHECKS,
    )
    read = checks.order_by().values_list("participant", "value", "question__parts")
    return {pk for pk, value, parts in read if value != parts["correct"]}


def _sharing_an_id(people: ParticipantQuerySet) -> set[int]:
    """Those of them who came to their study under the same id as another of the same kind."""
    namesakes = RecruitmentRecord.objects.filter(
        study=OuterRef("study"),
        source=OuterRef("source"),
        external_id=OuterRef("external_id"),
        participant__kind=OuterRef("participant__kind"),
    ).exclude(pk=OuterRef("pk"))
    own = RecruitmentRecord.objects.filter(participant__in=people.order_by().values("pk"))
    shared = own.order_by().exclude(external_id="").filter(Exists(namesakes))
    return set(shared.values_list("participant", flat=True))
