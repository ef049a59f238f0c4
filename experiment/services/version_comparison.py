"""Two versions of a study beside each other: what changed in them, and what that changes in the results."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Participant, Study, StudyVersion
from experiment.services.exclusions import Marks, Verdicts, verdicts
from experiment.services.study_versions import rules_of

NOTHING = Marks()


@dataclass(frozen=True, slots=True)
class RuleChange:
    rule: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """The analysis under one version; `accuracy` is the share of its trials that are correct, None without any."""

    number: int
    participants: int
    trials: int
    correct: int

    @property
    def accuracy(self) -> float | None:
        return self.correct / self.trials if self.trials else None


@dataclass(frozen=True, slots=True)
class ChangedParticipant:
    """Somebody who is left out for other reasons: their codes under both, empty where included."""

    participant: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedTrial:
    """A trial that is itself left out for other reasons, whatever is said of its participant."""

    participant: str
    position: int
    item_key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Comparison:
    rules: Sequence[RuleChange]
    consent_changed: bool
    items_added: Sequence[str]
    items_removed: Sequence[str]
    before: Outcome
    after: Outcome
    participants: Sequence[ChangedParticipant]
    trials: Sequence[ChangedTrial]


@dataclass(frozen=True, slots=True)
class _Row:
    """What is compared of a judged trial; catch trials decide about participants and are not analysed.

    An answer to a question is not right or wrong here: what becomes of it is compared, and it counts in no accuracy.
    """

    pk: int
    participant: int
    public_id: str
    position: int
    item_key: str
    correct: bool | None
    is_test: bool


def compare_versions(study: Study, kind: str, first: int, second: int) -> Comparison:
    """Apply the rules of both versions to the participants that there are now.

    Raises:
        UnknownVersionError: one of them does not exist, or the participants are imported.
    """
    versions = [rules_of(study, kind, number) for number in (first, second)]
    before, after = versions
    found = [verdicts(study, kind, version.exclusion_rules) for version in versions]
    rows = _rows(study, kind)
    items = [_items(version) for version in versions]
    return Comparison(
        rules=rule_changes(before, after),
        consent_changed=before.consent_id != after.consent_id,
        items_added=sorted(items[1] - items[0]),
        items_removed=sorted(items[0] - items[1]),
        before=_outcome(first, rows, found[0]),
        after=_outcome(second, rows, found[1]),
        participants=_changed_participants(study, kind, *found),
        trials=[
            ChangedTrial(row.public_id, row.position, row.item_key, was, now)
            for row in rows
            if row.is_test
            and (was := _codes(found[0].judgments, row.pk))
            != (now := _codes(found[1].judgments, row.pk))
        ],
    )


@dataclass(frozen=True, slots=True)
class RulesCompared:
    """What other rules would do to the analysis; how many are left out, or in, for other reasons than now."""

    before: Outcome
    after: Outcome
    participants: int
    trials: int


def compare_rules(study: Study, kind: str, rules: Rules) -> RulesCompared:
    """Apply the study's rules and these to the participants that there are now; nothing is stored."""
    before, after = (verdicts(study, kind, each) for each in (study.exclusion_rules, rules))
    rows = _rows(study, kind)
    return RulesCompared(
        _outcome(study.version, rows, before),
        _outcome(study.version + 1, rows, after),
        len(_changed_participants(study, kind, before, after)),
        sum(
            row.is_test and _codes(before.judgments, row.pk) != _codes(after.judgments, row.pk)
            for row in rows
        ),
    )


def _rows(study: Study, kind: str) -> list[_Row]:
    names = "pk trial__participant trial__participant__public_id trial__position trial__item__key correct"
    judgments = (
        Judgment.objects.of(study, kind)
        .filter(trial__participant__stage=Participant.Stage.FINISHED)
        .order_by("trial__participant", "trial__position")
    )
    return [
        _Row(pk, person, str(public_id), position, key, correct, stratum != "catch")
        for pk, person, public_id, position, key, correct, stratum in judgments.values_list(
            *names.split(), "trial__stratum"
        )
    ]


def _outcome(number: int, rows: Sequence[_Row], found: Verdicts) -> Outcome:
    analysed = [
        row
        for row in rows
        if row.is_test
        and row.correct is not None
        and not _codes(found.participants, row.participant)
        and not _codes(found.judgments, row.pk)
    ]
    people = sum(not marks.excluded_by for marks in found.participants.values())
    return Outcome(number, people, len(analysed), sum(bool(row.correct) for row in analysed))


def _changed_participants(
    study: Study, kind: str, before: Verdicts, after: Verdicts
) -> list[ChangedParticipant]:
    names = Participant.objects.of(study, kind).finished().order_by("pk")
    return [
        ChangedParticipant(str(public_id), was, now)
        for pk, public_id in names.values_list("pk", "public_id")
        if (was := _codes(before.participants, pk)) != (now := _codes(after.participants, pk))
    ]


def _codes(marks: Mapping[int, Marks], pk: int) -> str:
    return marks.get(pk, NOTHING).excluded_by


def rule_changes(before: StudyVersion, after: StudyVersion) -> list[RuleChange]:
    was, now = asdict(before.exclusion_rules), asdict(after.exclusion_rules)
    return [RuleChange(rule, was[rule], now[rule]) for rule in was if was[rule] != now[rule]]


def _items(version: StudyVersion) -> set[str]:
    return {f"{key} v{number}" for key, number, _ in version.items}
