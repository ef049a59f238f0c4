"""Researchers set a study up, change its settings, pin its items, pause them, word its consent and switch recruitment."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import chain, count
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.text import slugify

from experiment.domain.exclusion import Rules
from experiment.domain.pay import Pay
from experiment.domain.presets import ARMS, PRESETS
from experiment.models import Arm, ConsentVersion, Item, Participant, Study, StudyItem, Trial
from experiment.models.studies import DEMO_SLUGS, RULE_COLUMNS, Tasks
from experiment.services import audit
from experiment.services.advisers import must_be_revealed, prepare_advice
from experiment.services.arms import save_arm
from experiment.services.audit import Action
from experiment.services.readiness import StudyProblem, item_problems, readiness_problems
from experiment.services.study_language import speaking_language
from experiment.services.study_versions import Revision, revise
from lib.name_fields import is_free
from lib.names import looks

BRIEFINGS: Mapping[Tasks, str] = {
    "abstracts": "experiment/default_briefing.txt",
    "both": "experiment/default_briefing_both.txt",
    "questions": "experiment/default_briefing_questions.txt",
}


def default_briefing(language: str = "en", tasks: Tasks = "abstracts") -> str:
    """Without numbers: how many there are and how long it takes is generated where it is read."""
    with speaking_language(language):
        return render_to_string(BRIEFINGS[tasks]).strip()


def fit_briefing(study: Study, language: str) -> bool:
    """Put the built-in briefing that fits its tasks into the study, not saved, where it has another built-in one.

    language: in which that was written.
    """
    built_in = {default_briefing(language, tasks) for tasks in BRIEFINGS}
    fitting = default_briefing(language, study.tasks)
    if study.briefing == fitting or study.briefing not in built_in:
        return False
    study.briefing = fitting
    return True


def default_consent(language: str = "en") -> str:
    with speaking_language(language):
        return render_to_string("experiment/default_consent.txt").strip()


def unused_title(title: str, slug: str) -> str:
    """The title, or where another study has it or one like it, with the study's short name after it."""
    taken = looks(*Study.objects.values_list("title", flat=True))
    tails = chain(("", f" ({slug})"), (f" ({slug} {n})" for n in count(2)))
    titles = (title[: 200 - len(tail)] + tail for tail in tails)
    return next(free for free in titles if looks(free).isdisjoint(taken))


def unused_slug(title: str) -> str:
    """A short name made from the title, with a number where it is taken or the demo's."""
    base = slugify(title)[:50].strip("-") or "study"
    others = Study.objects.filter(slug__startswith=base).values_list("slug", flat=True)
    taken = {*others, *DEMO_SLUGS}
    slug, n = base, 1
    while slug in taken or not is_free(Study, slug):
        n += 1
        slug = f"{base}-{n}"
    return slug


@transaction.atomic
def create_study(
    slug: str, preset: str, *, contact: str = "", by: User | None = None, **changes: Any
) -> Study:
    """Create a study from a preset, with its consent text and no items yet; who makes it is its first researcher."""
    chosen = PRESETS[preset]
    rules = {RULE_COLUMNS[rule]: value for rule, value in asdict(chosen.rules).items()}
    fields = chosen.settings | rules | {"slug": slug, "contact": contact} | changes
    if "title" not in changes:
        fields["title"] = unused_title(chosen.title, slug)
    given_consent = fields.pop("consent", "")
    study = Study(**fields)
    study.briefing = study.briefing or default_briefing(study.language, study.tasks)
    consent = given_consent or default_consent(study.language)
    study.full_clean()
    study.save()
    audit.record(Action.STUDY_CREATED, by=by, study=study, preset=preset)
    if by is not None:
        study.members.add(by)
    for name, advice in ARMS.get(preset, {}).items():
        save_arm(Arm(study=study, name=name, advice=advice), by)
    word_consent(study, consent, by=by)
    return study


def word_consent(
    study: Study, text: str, reason: str = "", by: User | None = None
) -> ConsentVersion | None:
    """Make this the study's consent text; a text that stands already makes no new version."""
    revise(study, consent=text, reason=reason, by=by)
    return study.consent


@transaction.atomic
def pin_items(study: Study, items: Iterable[Item], reason: str = "", by: User | None = None) -> int:
    """Let the study draw from these accepted items too, in place of other versions of the same ones."""
    items = list(items)
    keys = {item.key for item in items}
    kept = list(study.items.exclude(key__in=keys))
    n_before = study.study_items.filter(item__in=items).count()
    revise(study, items=[*kept, *items], reason=reason, by=by)
    return study.study_items.filter(item__in=items).count() - n_before


def set_recruitment(
    study: Study,
    state: str,
    by: User | None = None,
    reason: str = "",
    check: Callable[[Study], None] = lambda stored: None,
) -> Study:
    """Switch recruitment; a study that cannot be completed is not opened. Opening freezes the adviser's advice.

    check: raises what keeps the stored study from being switched, such as that somebody else was quicker.
    """
    advice = None
    if opens := state in (Study.Recruitment.OPEN, Study.Recruitment.PILOT):
        study = Study.objects.get(pk=study.pk)
        check(study)
        _require_ready(study)
        advice = prepare_advice(study)
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        check(study)
        if opens:
            # Again: the study may have changed while its advice was worked out
            _require_ready(study)
        before, after = study.recruitment, Study.Recruitment(state).value
        if after != before:
            if advice is not None:
                advice.freeze(study, timezone.now(), by=by)
            study.recruitment = after
            study.save(update_fields=["recruitment"])
            change = {"before": before, "after": after}
            audit.record(Action.RECRUITMENT, by=by, study=study, reason=reason, **change)
        return study


def _require_ready(study: Study) -> None:
    if problems := readiness_problems(study):
        raise ValidationError(
            [f"{study.slug} cannot be opened: {problem}." for problem in problems]
        )


def withdrawal_problem(study: Study, policy: str) -> str:
    """Why a locked study cannot have this policy: who agreed to deletion is owed it. Empty where it can."""
    promised, keeps = Study.WithdrawalPolicy.DELETE, Study.WithdrawalPolicy.ANONYMISE
    if study.version and study.withdrawal_policy == promised and policy == keeps:
        return (
            "The consent text told the study's real participants that their answers are deleted when they withdraw, so this policy "
            "cannot change. Copy the study to use another policy."
        )
    return ""


def reader_problem(study: Study, reader: str) -> str:
    """Why a locked study cannot name this reader of answers: who agreed was not told of it. Empty where it can."""
    if study.version and reader not in ("", study.answers_read_by):
        return (
            "The study has real participants, who agreed to take part without information about this reader. Copy the "
            "study to start again with it."
        )
    return ""


@transaction.atomic
def change_study(
    study: Study,
    values: Mapping[str, Any],
    *,
    by: User,
    rules: Rules | None = None,
    consent: str | None = None,
    pay: Pay | None = None,
    reason: str = "",
) -> Revision:
    """Set these columns, and revise rules, consent and pay where they are given. `study` is brought up to date.

    Raises:
        ReasonRequiredError: rules, consent or pay of a frozen study would change, and no reason is given.
        ValidationError: another study has the title, participants were promised another withdrawal or other readers, or
            made-up advice would not be explained to them, or they would not be asked what forms the study's groups.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if problem := withdrawal_problem(locked, values.get("withdrawal_policy", "")):
        raise ValidationError({"withdrawal_policy": problem})
    if locked.version and values.get("cell_field", locked.cell_field) != locked.cell_field:
        raise ValidationError({"cell_field": "Real participants have entered in these groups."})
    asked = values.get("demographic_fields", locked.demographic_fields)
    if locked.has_begun and locked.forms_cells and locked.cell_field not in asked:
        question = locked.get_cell_field_display()
        said = f"The study's groups are formed by the answers on {question}, so this question cannot be removed."
        raise ValidationError({"demographic_fields": said})
    if not values.get("debriefing", "-").strip() and locked.has_begun and must_be_revealed(locked):
        raise ValidationError(
            {
                "debriefing": (
                    "Made-up advice must be explained here. Copy the study to start again without it."
                )
            }
        )
    if problem := reader_problem(locked, values.get("answers_read_by", "")):
        raise ValidationError({"answers_read_by": problem})
    changed = [name for name, value in values.items() if getattr(locked, name) != value]
    language = locked.language
    for name, value in values.items():
        setattr(locked, name, value)
        setattr(study, name, value)
    if changed:
        if fit_briefing(locked, language):
            study.briefing = locked.briefing
            changed.append("briefing")
        try:
            with transaction.atomic():
                locked.save(update_fields=changed)
        except IntegrityError as error:  # somebody else took the title meanwhile
            raise ValidationError({"title": "Another study of this site has it."}) from error
        audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=changed)
    return revise(study, rules=rules, consent=consent, pay=pay, reason=reason, by=by)


def set_paused(
    study: Study,
    item: Item,
    *,
    by: User,
    reason: str,
    now: datetime | None,
    check: Callable[[StudyItem], None] = lambda stored: None,
) -> StudyItem:
    """Draw it no more, from `now` on; None: draw it again. Of one that is so already nothing changes.

    check: raises what keeps the stored row from being changed.

    Raises:
        ValidationError: no reason is given, or participants see advice, and the adviser has none on it.
    """
    if not reason.strip():
        raise ValidationError("Give a reason for the study's audit trail.", code="reason_required")
    advice = None if now else prepare_advice(Study.objects.get(pk=study.pk), item)
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        row = StudyItem.objects.select_for_update().get(study=study, item=item)
        check(row)
        if (row.paused_at is None) == (now is None):
            return row
        if advice is not None:
            advice.freeze(locked, timezone.now(), by=by)
        row.paused_at = now
        row.save(update_fields=["paused_at"])
        audit.record(
            audit.Action.ITEMS_CHANGED,
            by=by,
            study=study,
            reason=reason.strip(),
            item=str(item),
            change="paused" if now else "resumed",
        )
        return row


def lacking_without(study: Study, item: Item) -> list[StudyProblem]:
    """Test cases that participants would run out of while this one is paused, beyond those that they lack now.

    Who finds no test case left is told so, and goes on where they were once there is one.
    """
    now = item_problems(study)
    return [problem for problem in item_problems(study, [item.pk]) if problem not in now]


def n_still_shown(study: Study, item: Item, now: datetime) -> int:
    """Participants under way who were given it and have not answered it yet."""
    live = Participant.objects.filter(study=study).live(study, now)
    return Trial.objects.filter(item=item, participant__in=live, judgment=None).count()
