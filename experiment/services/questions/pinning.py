"""Questions that a study draws from, beside its test cases or alone."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.domain.assignment import QUESTION, Stratum
from experiment.domain.presets import PRESETS
from experiment.models import Item, ResearchField, Study
from experiment.services import audit
from experiment.services.item_choice import set_counts
from experiment.services.questions.choosing import QuestionChoice, choose_questions
from experiment.services.study_setup import create_study, pin_items, unused_title
from experiment.services.study_versions import Revision, revise

PRESET = "brainbench"  # whose settings a study of questions has, apart from its trials
PRESET_FIELDS = frozenset(preset.field for preset in PRESETS.values())
TESTED = [Item.Kind.TEST, Item.Kind.QUESTION]
EACH = 10  # questions per participant


@transaction.atomic
def create_questions_study(
    slug: str, research_field: ResearchField, *, title: str = "", by: User | None = None
) -> Study:
    """Create a study of a field's questions alone: all accepted ones, ten per participant or all that there are; none yet where none is accepted."""
    counts: dict[str, Any] = {
        "human_items": 0,
        "machine_items": 0,
        "catch_items": 0,
        "question_items": EACH,
    }
    title = title or unused_title(questions_title(research_field), slug)
    study = create_study(slug, PRESET, by=by, title=title, field=research_field.name, **counts)
    accepted = Item.objects.accepted().filter(kind=Item.Kind.QUESTION)
    if accepted.filter(field=research_field.name).exists():
        take_questions(study, research_field, EACH, by=by)
    return study


def questions_title(research_field: ResearchField) -> str:
    return _("Questions about %(field)s") % {"field": research_field.name}


@transaction.atomic
def take_questions(
    study: Study,
    research_field: ResearchField | None,
    each: int,
    reason: str = "",
    by: User | None = None,
    *,
    choice: QuestionChoice | None = None,
) -> Revision:
    """Draw questions from this field alone, all or those of a choice, `each` per participant or all that there are; from none where it is None.

    Raises:
        ReasonRequiredError: the study is frozen, and no reason is given.
        ValidationError: nothing would be left to judge or answer, or what is chosen does not exist.
    """
    if research_field is None and not (study.human_items or study.machine_items):
        raise ValidationError(_("The study would ask nothing: give it test cases first."))
    questions = choose_questions(research_field, choice) if research_field else []
    items = [*study.items.exclude(kind=Item.Kind.QUESTION), *questions]
    follows = _field_follows(study)
    revision = revise(study, items=items, reason=reason, by=by)
    wanted: dict[Stratum, int] = {**study.trial_counts, QUESTION: each if questions else 0}
    set_counts(study, wanted, items, by)
    if follows:
        _fit_field(study, by)
    return revision


def _field_follows(study: Study) -> bool:
    """Whether nobody gave the study a field of its own: it has a preset's, or that of its questions."""
    questions = study.items.filter(kind=Item.Kind.QUESTION)
    return study.field in PRESET_FIELDS or questions.filter(field=study.field).exists()


def _fit_field(study: Study, by: User | None) -> None:
    """Before anybody takes part, name the field of all that the study asks as its own: participants and models are told it."""
    kinds = [Item.Kind.QUESTION] if study.tasks == "questions" else TESTED
    asked = {*study.items.filter(kind__in=kinds).values_list("field", flat=True)}
    if study.version or len(asked) != 1 or study.field in asked:
        return
    study.field = asked.pop()
    study.save(update_fields=["field"])
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=["field"])


@transaction.atomic
def pin_questions(
    study: Study,
    keys: Collection[str],
    reason: str = "",
    by: User | None = None,
    each: int | None = None,
) -> int:
    """Let the study draw from the newest accepted versions of these questions too; how many it did not draw from before.

    each: questions per participant, or all that there are; None for as many as so far.

    Raises:
        ReasonRequiredError: the study is frozen, and no reason is given.
    """
    wanted = set(keys)
    rows = Item.objects.accepted().filter(kind=Item.Kind.QUESTION).order_by("version")
    newest = {item.key: item for item in rows.iterator() if item.key in wanted}
    follows = _field_follows(study)
    n = pin_items(study, newest.values(), reason, by)
    if each is not None:
        wanted_counts: dict[Stratum, int] = {**study.trial_counts, QUESTION: each}
        set_counts(study, wanted_counts, list(study.items.all()), by)
    if follows:
        _fit_field(study, by)
    return n
