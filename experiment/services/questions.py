"""Questions: their templates, which of a field a study takes, and files of them."""

import json
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q

from experiment.domain.assignment import QUESTION, Stratum
from experiment.domain.export_columns import Column
from experiment.domain.questions import made_from
from experiment.domain.questions import split as split_questions
from experiment.domain.questions.columns import (
    DIMENSION,
    MADE_FROM,
    MEANINGS,
    NOTE,
    OWN,
    PUBLISHED,
    Categories,
    CategoriesError,
    checked,
    join,
    split,
)
from experiment.domain.questions.filling import (
    CompiledTemplate,
    Rule,
    Template,
    TemplateFaultsError,
    sample,
)
from experiment.models import Item, QuestionTemplate, ResearchField, Study
from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.item_choice import ListedKey, field_follows, fit_field, set_counts
from experiment.services.item_files import select
from experiment.services.study_setup import create_study, pin_items, unused_title
from experiment.services.study_versions import Revision, revise
from experiment.services.usable import usable_fields, usable_items
from lib.csv_lines import line_of
from lib.table_files import CONTENT_TYPES, table_bytes


def template_of(row: QuestionTemplate) -> Template:
    """Without rules where it came with a file of questions, which names templates without their texts."""
    return Template(row.question, tuple(Rule(rule["when"], rule["answer"]) for rule in row.rules))


def is_fixed(row: QuestionTemplate) -> bool:
    """True if its texts have made questions. One that files know by its name alone can still be given its texts."""
    return bool(row.rules) and row.questions.filter(made_from__has_key="row").exists()


def as_toml(row: QuestionTemplate) -> str:
    """The file that `fill_template` reads.

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
        named = (
            f"{_toml(n)} = [{', '.join(map(_toml, v))}]" for n, v in sorted(row.categories.items())
        )
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
    row = row or QuestionTemplate(field=research_field, key=key, is_demo=is_demo)
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
            f"The template “{key}” has made questions and cannot change. Give another key."
        )
    changed = [name for name, value in wanted.items() if getattr(row, name) != value]
    change = "changed" if row.pk else "added"
    for name, value in wanted.items():
        setattr(row, name, value)
    try:
        CompiledTemplate(template_of(row))
    except TemplateFaultsError as error:
        raise ValidationError(list(error.faults)) from error
    row.full_clean()
    row.save()
    if by is not None:
        row.writers.add(by)
    told: dict[str, audit.Detail] = {"question_template": key, "change": change, "changed": changed}
    audit.record(
        Action.FIELD_CHANGED, by=by, study=None, reason="", field=research_field.name, **told
    )
    return row


@dataclass(frozen=True, slots=True)
class QuestionChoice:
    """Conditions on questions; an empty one lets every one through.

    templates: by key, one of these. categories: of each dimension one of these. keys: exactly these. n: so many of what fits,
    spread evenly over templates and drawn by `seed`; None for all.
    """

    templates: Sequence[str] = ()
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    keys: Sequence[ListedKey] = ()
    n: int | None = None
    seed: int = 1


def fields_with_questions(
    by: User | None, study: Study | None = None
) -> list[tuple[ResearchField, int]]:
    """Fields that one may use, or some of whose questions, each with how many of its accepted ones; of a question all versions are one."""
    usable = usable_items(by, study).filter(kind=Item.Kind.QUESTION).order_by()
    used = usable.values_list("field").annotate(n=Count("key", distinct=True))
    numbers: dict[str, int] = dict(used)
    fields = ResearchField.objects.filter(
        Q(name__in=numbers) | Q(pk__in=usable_fields(by, study).values("pk"))
    )
    return [(field, numbers.get(field.name, 0)) for field in fields]


def choose_questions(
    research_field: ResearchField,
    choice: QuestionChoice | None = None,
    *,
    by: User | None,
    study: Study | None = None,
) -> list[Item]:
    """The newest accepted version of each question of the field that fits and that `by` may take, by key.

    Raises:
        ValidationError: a template, category or key is unknown, and every one is named; or nothing fits.
    """
    choice = choice or QuestionChoice()
    usable = usable_items(by, study)
    rows = usable.filter(field=research_field.name, kind=Item.Kind.QUESTION)
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
        raise ValidationError("No accepted question matches all criteria.")
    if choice.n is None:
        return fitting
    return sample(fitting, choice.n, _template, random.Random(choice.seed))


def _template(item: Item) -> str:
    return item.template.key if item.template else ""


def _unknown(items: Sequence[Item], choice: QuestionChoice) -> list[str]:
    keys, templates = {item.key for item in items}, set(map(_template, items))
    problems = [
        f"{listed.place}: the field has no accepted question “{listed.key}”"
        for listed in choice.keys
        if listed.key not in keys
    ]
    for key in choice.templates:
        if not key or key not in templates:
            problems.append(f"no accepted question comes from the template “{key}”")
    for dimension, wanted in choice.categories.items():
        known = {name for item in items for name in item.categories.get(dimension, ())}
        problems += [
            f"no accepted question has the {dimension} “{name}”"
            for name in wanted
            if name not in known
        ]
    return problems


PRESET = "brainbench"  # whose settings a study of questions has, apart from its trials
EACH = 10  # questions per participant


@transaction.atomic
def create_questions_study(
    slug: str, research_field: ResearchField, *, title: str = "", by: User | None = None
) -> Study:
    """Create a study of a field's questions alone: all accepted ones that one may use, ten per participant or all that there are; none yet where there is none."""
    counts: dict[str, Any] = {
        "human_items": 0,
        "machine_items": 0,
        "catch_items": 0,
        "question_items": EACH,
    }
    title = title or unused_title(questions_title(research_field), slug)
    study = create_study(slug, PRESET, by=by, title=title, field=research_field.name, **counts)
    usable = usable_items(by, study).filter(kind=Item.Kind.QUESTION)
    if usable.filter(field=research_field.name).exists():
        take_questions(study, research_field, EACH, by=by)
    return study


def questions_title(research_field: ResearchField) -> str:
    return f"Questions about {research_field.name}"


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
        raise ValidationError("The study would be empty. Add test cases first.")
    questions = (
        choose_questions(research_field, choice, by=by, study=study) if research_field else []
    )
    items = [*study.items.exclude(kind=Item.Kind.QUESTION), *questions]
    follows = field_follows(study)
    revision = revise(study, items=items, reason=reason, by=by)
    wanted: dict[Stratum, int] = {**study.trial_counts, QUESTION: each if questions else 0}
    set_counts(study, wanted, items, by)
    if follows:
        fit_field(study, by)
    return revision


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
        ValidationError: they are not `by`'s to use.
    """
    wanted = set(keys)
    rows = Item.objects.accepted().filter(kind=Item.Kind.QUESTION).order_by("version")
    newest = {item.key: item for item in rows.iterator() if item.key in wanted}
    follows = field_follows(study)
    n = pin_items(study, newest.values(), reason, by)
    if each is not None:
        wanted_counts: dict[Stratum, int] = {**study.trial_counts, QUESTION: each}
        set_counts(study, wanted_counts, list(study.items.all()), by)
    if follows:
        fit_field(study, by)
    return n


FORMATS = tuple(CONTENT_TYPES)
COLUMNS = ("own", "published")
# Our columns whose values have another name on an item
_PLACES = {"question": "markup", "answer": "expert_answer"}


@dataclass(frozen=True, slots=True)
class WantedQuestions:
    """form: csv, jsonl, parquet or xlsx. columns: own or published. status: of Item.Status, or `all`.

    test_share: of each template and its categories, the share that the column `split` says is for tests, drawn by `seed`; None:
    there is no such column.
    """

    research_field: ResearchField
    form: str = "csv"
    columns: str = "own"
    status: str = Item.Status.ACCEPTED.value
    test_share: float | None = None
    seed: int = 1

    @property
    def items(self) -> list[Item]:
        return select(self.research_field, self.status, kinds=(Item.Kind.QUESTION,))

    @property
    def file_name(self) -> str:
        ends = "" if self.status == "accepted" else f"-{self.status}"
        return f"{self.research_field.slug}-questions{ends}.{self.form}"


def content(wanted: WantedQuestions, items: Sequence[Item]) -> bytes:
    # Sorted: the order in which a database keeps them is its own
    names = sorted({name for item in items for name in item.categories})
    if wanted.columns == "published":
        columns = dict(PUBLISHED) | {f"{name}{DIMENSION}": f"{name}{DIMENSION}" for name in names}
    else:
        own = (*OWN, *(f"{name}{DIMENSION}" for name in names), NOTE, MADE_FROM)
        columns = dict(zip(own, own, strict=True))
    places = list(columns.values())
    rows: Iterator[list[str]] = ([_cell(item, place) for place in places] for item in items)
    if wanted.test_share is not None:
        columns[split_questions.COLUMN] = split_questions.COLUMN
        parts = split_of(items, wanted.test_share, wanted.seed)
        rows = ([*row, part] for row, part in zip(rows, parts, strict=True))
    if wanted.form == "csv":
        return b"".join((line_of(columns), *map(line_of, rows)))
    if wanted.form == "jsonl":
        named: Iterator[dict[str, str]] = (dict(zip(columns, row, strict=True)) for row in rows)
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in named).encode()
    return table_bytes(
        wanted.form, [Column(name, MEANINGS.get(name, "")) for name in columns], rows
    )


def split_of(items: Sequence[Item], share: float, seed: int) -> list[str]:
    """For each question, whether it is for training or for tests, templates and categories alike in both."""
    strata = {item.key: (_template(item), sorted(item.categories.items())) for item in items}
    parts = split_questions.split(strata.items(), share, seed)
    return [parts[item.key] for item in items]


def _cell(item: Item, column: str) -> str:
    if column == "template":
        return item.template.key if item.template else ""
    if column == MADE_FROM:
        return made_from.written(item.made_from)
    if not column.endswith(DIMENSION):
        return str(getattr(item, _PLACES.get(column, column)))
    name = column.removesuffix(DIMENSION)
    found = list(item.categories.get(name, ()))
    # As a file had it, where it was written otherwise and still says the same
    written = item.made_from.get("cells", {}).get(name, "")
    return written if written and split(written) == found else join(found)
