"""Templates of questions: written, checked and given as TOML; one that has made questions never changes."""

import json
from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.domain.questions.columns import Categories, CategoriesError, checked
from experiment.domain.questions.filling import (
    CompiledTemplate,
    Rule,
    Template,
    TemplateFaultsError,
)
from experiment.models import QuestionTemplate, ResearchField


def template_of(row: QuestionTemplate) -> Template:
    """Without rules where it came with a file of questions, which names templates without their texts."""
    return Template(row.question, tuple(Rule(rule["when"], rule["answer"]) for rule in row.rules))


def is_fixed(row: QuestionTemplate) -> bool:
    """Whether its texts have made questions. One that files know by its name alone can still be given its texts."""
    return bool(row.rules) and row.questions.filter(made_from__has_key="row").exists()


def as_toml(row: QuestionTemplate) -> str:
    """What `fill_template` reads.

    >>> print(as_toml(QuestionTemplate(key="a", question="Q?", rules=[{"when": "", "answer": "A."}])))
    key = "a"
    question = "Q?"
    <BLANKLINE>
    [[rules]]
    answer = "A."
    <BLANKLINE>
    """
    lines = [f"key = {_toml(row.key)}", f"question = {_toml(row.question)}"]
    if row.categories:
        named = (f"{_toml(n)} = [{', '.join(map(_toml, v))}]" for n, v in row.categories.items())
        lines.append(f"categories = {{ {', '.join(named)} }}")
    for rule in row.rules:
        when = [f"when = {_toml(rule['when'])}"] if rule["when"] else []
        lines += ["", "[[rules]]", *when, f"answer = {_toml(rule['answer'])}"]
    return "\n".join(lines) + "\n"


def _toml(text: str) -> str:
    """JSON's escapes are TOML's, which has one more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@transaction.atomic
def save_template(
    research_field: ResearchField,
    key: str,
    question: str,
    rules: Sequence[Mapping[str, str]],
    categories: Categories,
    *,
    by: User | None = None,
    is_demo: bool = False,
) -> QuestionTemplate:
    """Make a template, or change the one of this key. A text that stands already is no change.

    Raises:
        ValidationError: it or its categories cannot be read, or it has made questions and would become another.
    """
    ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)
    row = QuestionTemplate.objects.filter(field=research_field, key=key).first()
    row = row or QuestionTemplate(field=research_field, key=key, created_by=by, is_demo=is_demo)
    try:
        named = checked(categories)
    except CategoriesError as error:
        raise ValidationError(str(error)) from error
    wanted = {
        "question": question.strip(),
        "rules": [{"when": r["when"].strip(), "answer": r["answer"].strip()} for r in rules],
        "categories": {name: list(found) for name, found in named.items() if found},
    }
    if row.pk and all(getattr(row, name) == value for name, value in wanted.items()):
        return row
    if row.pk and is_fixed(row):
        raise ValidationError(
            _("The template “%(key)s” has made questions and stays as it is: give another key.")
            % {"key": key}
        )
    for name, value in wanted.items():
        setattr(row, name, value)
    try:
        CompiledTemplate(template_of(row))
    except TemplateFaultsError as error:
        raise ValidationError(list(error.faults)) from error
    row.full_clean()
    row.save()
    return row
