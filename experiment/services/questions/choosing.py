"""Which questions of a field a study takes: of some templates or categories, key by key, or so many drawn of them."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.core.exceptions import ValidationError
from django.db.models import Count
from django.utils.translation import gettext as _

from experiment.domain.questions.sampling import sample
from experiment.models import Item, ResearchField
from experiment.services.item_choice import ListedKey


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """What questions must be; an empty condition lets every one through.

    templates: by key, one of these. categories: of each dimension one of these. keys: exactly these. n: so many of what fits,
    spread evenly over templates and drawn by `seed`; None for all.
    """

    templates: Sequence[str] = ()
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keys: Sequence[ListedKey] = ()
    n: int | None = None
    seed: int = 1


def fields_with_questions() -> list[tuple[ResearchField, int]]:
    """All fields, each with how many accepted questions it has; of a question all versions are one."""
    accepted = Item.objects.accepted().filter(kind=Item.Kind.QUESTION).order_by()
    used = accepted.values_list("field").annotate(n=Count("key", distinct=True))
    numbers: dict[str, int] = dict(used)
    return [(field, numbers.get(field.name, 0)) for field in ResearchField.objects.all()]


def choose_questions(
    research_field: ResearchField, choice: QuestionChoice | None = None
) -> list[Item]:
    """The newest accepted version of each question of the field that fits, by key.

    Raises:
        ValidationError: a template, category or key is unknown, and every one is named; or nothing fits.
    """
    choice = choice or QuestionChoice()
    rows = Item.objects.accepted().filter(field=research_field.name, kind=Item.Kind.QUESTION)
    rows = rows.select_related("template").order_by("key", "version")
    items = list({item.key: item for item in rows}.values())
    if problems := [*_unknown(items, choice)]:
        raise ValidationError([f"{problem}." for problem in problems])
    wanted = {listed.key for listed in choice.keys}
    fitting = [
        item
        for item in items
        if (not wanted or item.key in wanted)
        and (not choice.templates or _template(item) in choice.templates)
        and all(
            not {*found}.isdisjoint(item.categories.get(dimension, ()))
            for dimension, found in choice.categories.items()
        )
    ]
    if not fitting:
        raise ValidationError(_("No accepted question is all that was asked for."))
    if choice.n is None:
        return fitting
    return sample(fitting, choice.n, _template, random.Random(choice.seed))


def _template(item: Item) -> str:
    return item.template.key if item.template else ""


def _unknown(items: Sequence[Item], choice: QuestionChoice) -> list[str]:
    keys, templates = {item.key for item in items}, set(map(_template, items))
    problems = [
        _("%(place)s: the field has no accepted question “%(key)s”")
        % {"place": listed.place, "key": listed.key}
        for listed in choice.keys
        if listed.key not in keys
    ]
    for key in choice.templates:
        if not key or key not in templates:
            problems.append(_("no accepted question is of the template “%(key)s”") % {"key": key})
    for dimension, wanted in choice.categories.items():
        known = {name for item in items for name in item.categories.get(dimension, ())}
        problems += [
            _("no accepted question is of %(dimension)s “%(name)s”")
            % {"dimension": dimension, "name": name}
            for name in wanted
            if name not in known
        ]
    return problems
