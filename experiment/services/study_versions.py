"""Rules, consent, test cases and promised payment of a study: free to change until a real participant enters, in versions from then on."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.domain.pay import Pay
from experiment.models import (
    AdvisedTrial,
    ConsentVersion,
    Item,
    Judgment,
    Participant,
    RecruitmentRecord,
    Study,
    StudyItem,
    StudyVersion,
)
from experiment.models.studies import PAY_COLUMNS, RULE_COLUMNS
from experiment.services import audit
from experiment.services.advisers import lacks_advice
from experiment.services.audit import Action
from experiment.services.exclusions import Marks, Verdicts, verdicts
from experiment.services.reapplying import Changed, apply_changed_rules
from experiment.services.usable import unusable


class ReasonRequiredError(ValidationError):
    """The study has real participants: a change of its rules, consent, test cases or payment needs a reason."""

    def __init__(self) -> None:
        super().__init__(
            (
                "The study has real participants. Give a reason for changing its rules, consent, test cases or payment."
            ),
            code="reason_required",
        )


class UnknownVersionError(ValueError):
    """There are no such rules to apply; the sentence is for whoever asked."""


@dataclass(frozen=True, slots=True)
class Revision:
    """The version that was made, None where the study is not frozen; what changed where rules were applied again.

    is_applied: whether all who finished are decided by the rules now; else that is done in the background.
    """

    version: StudyVersion | None = None
    excluded: Changed | None = None
    is_applied: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """Changes of the four; None stays."""

    rules: Rules | None
    consent: str | None
    items: Sequence[Item] | None
    pay: Pay | None

    def __bool__(self) -> bool:
        return any(part is not None for part in (self.rules, self.consent, self.items, self.pay))

    @classmethod
    def of(
        cls,
        study: Study,
        rules: Rules | None,
        consent: str | None,
        items: Iterable[Item] | None,
        pay: Pay | None,
    ) -> "Change":
        text = current.text if (current := study.consent) else None
        wanted = None if items is None else list({item.pk: item for item in items}.values())
        return cls(
            None if rules == study.exclusion_rules else rules,
            None if consent == text else consent,
            None if wanted is None or {i.pk for i in wanted} == _item_ids(study) else wanted,
            None if pay == study.pay else pay,
        )


def freeze(study: Study, now: datetime) -> None:
    """The first real participant enters: make the first version. The caller holds the study's lock."""
    if study.version == 0:
        _make_version(study, study.exclusion_rules, reason="", by=None, now=now)


@transaction.atomic
def revise(
    study: Study,
    *,
    rules: Rules | None = None,
    consent: str | None = None,
    items: Iterable[Item] | None = None,
    pay: Pay | None = None,
    reason: str = "",
    by: User | None = None,
) -> Revision:
    """Change any of the four, what is None stays. A change of frozen ones is one new version.

    The study's rules are applied again where they changed (`reapplying` says how). `study` is brought up to date.

    Raises:
        ReasonRequiredError: something would change in a frozen study, and no reason is given.
        ValidationError: an item that is new in the study is not accepted, or not `by`'s to use, or lacks the advice that participants see;
            or less pay than real participants were promised.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    change = Change.of(locked, rules, consent, items, pay)
    if not change:
        return Revision()
    if locked.version and not reason.strip():
        raise ReasonRequiredError
    paid_before = locked.pay
    before = locked.exclusion_rules
    if change.consent is not None:
        current = locked.consent
        number = 1 if current is None else current.number + 1
        ConsentVersion.objects.create(study=locked, number=number, text=change.consent)
    if change.items is not None:
        _draw_from(locked, change.items, by)
    version = None
    _promise(locked, change.pay)
    if locked.version:
        now, new = timezone.now(), change.rules or locked.exclusion_rules
        version = _make_version(locked, new, reason=reason.strip(), by=by, now=now)
    else:
        _set_rules(locked, change.rules or before)
    excluded = apply_changed_rules(locked, before) if change.rules is not None else None
    _record(locked, change, before, paid_before, reason.strip(), by)
    for name in ("version", "counted_min_rt_ms", *RULE_COLUMNS.values(), *PAY_COLUMNS.values()):
        setattr(study, name, getattr(locked, name))
    return Revision(version, excluded, is_applied=change.rules is None or excluded is not None)


def _record(
    study: Study, change: Change, before: Rules, paid_before: Pay, reason: str, by: User | None
) -> None:
    """An event for each of the four that changed. Version 0: the study was still free to change."""
    tell = partial(audit.record, by=by, study=study, reason=reason, version=study.version)
    old, new = asdict(before), asdict(study.exclusion_rules)
    if change.rules is not None:
        changed = {rule: f"{old[rule]} -> {new[rule]}" for rule in new if new[rule] != old[rule]}
        tell(Action.RULES_CHANGED, rules=changed)
    if change.consent is not None:
        sha256 = current.sha256 if (current := study.consent) else ""
        tell(Action.CONSENT_CHANGED, consent_sha256=sha256)
    if change.items is not None:
        tell(Action.ITEMS_CHANGED, n_items=len(change.items))
    if change.pay is not None:
        was, now = paid_before.as_dict(), change.pay.as_dict()
        parts = {c: f"{was[p]} -> {now[p]}" for p, c in PAY_COLUMNS.items() if was[p] != now[p]}
        tell(Action.PAY_CHANGED, changes=parts)


def rules_of(study: Study, kind: str, number: int) -> StudyVersion:
    """The version whose rules are to be applied to participants of this kind.

    Raises:
        UnknownVersionError: there is no such version, or its rules never held for them.
    """
    if kind == Participant.Kind.IMPORTED:
        raise UnknownVersionError(
            "Imported participants keep the exclusions of their publication. A study's rules do not apply to them."
        )
    numbers = list(study.versions.order_by("number").values_list("number", flat=True))
    if not numbers:
        raise UnknownVersionError(
            f"{study.slug} does not have any versions of its rules yet. The first is created when a real participant enters."
        )
    if number not in numbers:
        raise UnknownVersionError(
            f"{study.slug} does not have version {number} of its rules. Choose from {', '.join(map(str, numbers))}."
        )
    return study.versions.get(number=number)


def version_shown(study: Study, kind: str) -> int | None:
    """The version under which numbers of these participants are; None where none holds for them."""
    return None if kind == Participant.Kind.IMPORTED else study.version or None


def _make_version(
    study: Study, rules: Rules, *, reason: str, by: User | None, now: datetime
) -> StudyVersion:
    rows = study.items.order_by("key", "version").values_list("key", "version", "sha256")
    # Sorted here, since databases disagree on the order of texts
    items = sorted(list(row) for row in rows)
    text = "".join(f"{key} {number} {sha256}\n" for key, number, sha256 in items)
    version = StudyVersion.objects.create(
        study=study,
        number=study.version + 1,
        created_at=now,
        made_by=by,
        reason=reason,
        rules=asdict(rules),
        consent=study.consent,
        items=items,
        items_sha256=hashlib.sha256(text.encode()).hexdigest(),
        pay=study.pay.as_dict(),
    )
    study.version = version.number
    _set_rules(study, rules)
    return version


def _promise(study: Study, pay: Pay | None) -> None:
    """Set what a locked study promises; people who have read of more are owed it."""
    if pay is None:
        return
    has_come = study.version or RecruitmentRecord.objects.filter(study=study).exists()
    if has_come and (problem := pay.lowered(study.pay)):
        raise ValidationError(problem)
    for part, column in PAY_COLUMNS.items():
        setattr(study, column, getattr(pay, part))


def _set_rules(study: Study, rules: Rules) -> None:
    for rule, value in asdict(rules).items():
        setattr(study, RULE_COLUMNS[rule], value)
    study.save(update_fields=["version", *RULE_COLUMNS.values(), *PAY_COLUMNS.values()])


def _item_ids(study: Study) -> set[int]:
    return set(study.study_items.values_list("item_id", flat=True))


def _draw_from(study: Study, items: Sequence[Item], by: User | None) -> None:
    """Let the study draw from exactly these. One that it holds already may have been retired since."""
    present = _item_ids(study)
    new = [item for item in items if item.pk not in present]
    refused = [str(item) for item in new if item.status != Item.Status.ACCEPTED]
    if refused:
        raise ValidationError(f"Only accepted items can be used: {', '.join(refused[:10])}.")
    if foreign := unusable(new, by, study):
        named = ", ".join(map(str, foreign[:10]))
        raise ValidationError(
            f"You may not use these test cases: {named}. Ask a lead of their field."
        )
    if study.is_open and lacks_advice(study, new):
        raise ValidationError(
            "Participants see advice in this study, and no advice is frozen for these test cases yet. Close "
            "recruitment, add them and open the study again."
        )
    study.study_items.exclude(item__in=[item.pk for item in items]).delete()
    StudyItem.objects.bulk_create([StudyItem(study=study, item=item) for item in new])


NOTHING = Marks()


@dataclass(frozen=True, slots=True)
class RuleChange:
    rule: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """The analysis under some rules.

    `correct` and `accuracy` are of what people answered by themselves, as in results: before advice, where there was some, and not
    where it came before any answer. `accuracy` is None without such an answer.
    """

    participants: int
    trials: int
    correct: int
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class ChangedParticipant:
    """Left out for other reasons: the codes under both rules, empty where included."""

    participant: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedTrial:
    """Itself left out for other reasons, whatever is said of its participant."""

    participant: str
    position: int
    item_key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RulesCompared:
    before: Outcome
    after: Outcome
    participants: Sequence[ChangedParticipant]
    trials: Sequence[ChangedTrial]


@dataclass(frozen=True, slots=True)
class VersionsCompared:
    rules: Sequence[RuleChange]
    consent_changed: bool
    pay_changed: bool
    items_added: Sequence[str]
    items_removed: Sequence[str]
    decisions: RulesCompared


def compare_versions(study: Study, kind: str, first: int, second: int) -> VersionsCompared:
    """Apply the rules of both versions to the participants that there are now: as `compare_rules`, with what else differs.

    Raises:
        UnknownVersionError: one of them does not exist, or the participants are imported.
    """
    versions = [rules_of(study, kind, number) for number in (first, second)]
    before, after = versions
    items = [{f"{key} v{number}" for key, number, _ in version.items} for version in versions]
    return VersionsCompared(
        rules=rule_changes(before, after),
        consent_changed=before.consent_id != after.consent_id,
        pay_changed=before.promised != after.promised,
        items_added=sorted(items[1] - items[0]),
        items_removed=sorted(items[0] - items[1]),
        decisions=compare_rules(study, kind, after.exclusion_rules, before.exclusion_rules),
    )


COMPARED = (
    "pk trial__participant trial__participant__public_id trial__position trial__item__key trial__original_side correct "
    "trial__advised__procedure trial__advised__first_side"
)


def compare_rules(
    study: Study, kind: str, rules: Rules, before: Rules | None = None
) -> RulesCompared:
    """Apply two sets of rules, the first of them the study's where none is given, to the participants that there are now.

    Catch trials decide about participants and are not analysed. An answer to a question is not right or wrong here: what
    becomes of it is compared, and it counts in no accuracy. Nothing is stored.
    """
    was, now = (verdicts(study, kind, each) for each in (before or study.exclusion_rules, rules))
    judgments = (
        Judgment.objects.of(study, kind)
        .filter(trial__participant__stage=Participant.Stage.FINISHED)
        .exclude(trial__stratum="catch")
        .order_by("trial__participant", "trial__position")
    )
    rows = list(judgments.values_list(*COMPARED.split(), named=True))
    people = Participant.objects.of(study, kind).finished().order_by("pk")
    return RulesCompared(
        before=_outcome(rows, was),
        after=_outcome(rows, now),
        participants=[
            ChangedParticipant(str(public_id), *codes)
            for pk, public_id in people.values_list("pk", "public_id")
            if (codes := _other_codes(pk, was.participants, now.participants))
        ],
        trials=[
            ChangedTrial(
                str(row.trial__participant__public_id),
                row.trial__position,
                row.trial__item__key,
                *codes,
            )
            for row in rows
            if (codes := _other_codes(row.pk, was.judgments, now.judgments))
        ],
    )


def rule_changes(before: StudyVersion, after: StudyVersion) -> list[RuleChange]:
    was, now = asdict(before.exclusion_rules), asdict(after.exclusion_rules)
    return [RuleChange(rule, was[rule], now[rule]) for rule in was if was[rule] != now[rule]]


def _outcome(rows: Sequence[Any], found: Verdicts) -> Outcome:
    people, judgments = found.valid_participants, found.valid_judgments
    kept = [
        row
        for row in rows
        if row.correct is not None and row.trial__participant in people and row.pk in judgments
    ]
    correct: list[bool] = []
    for row in kept:
        # The answer without advice; none where advice came before any
        if row.trial__advised__procedure != AdvisedTrial.Procedure.BEFORE:
            first, right_side = row.trial__advised__first_side, row.trial__original_side
            correct.append(bool(first == right_side if first else row.correct))
    accuracy = sum(correct) / len(correct) if correct else None
    return Outcome(len(people), len(kept), sum(correct), accuracy)


def _other_codes(
    pk: int, was: Mapping[int, Marks], now: Mapping[int, Marks]
) -> tuple[str, str] | None:
    before, after = was.get(pk, NOTHING).excluded_by, now.get(pk, NOTHING).excluded_by
    return (before, after) if before != after else None
