"""The test cases that a study takes: by the published set they came with, source, field, subfield, or key by key."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from experiment.domain.assignment import QUESTION, Stratum
from experiment.domain.presets import PRESETS
from experiment.models import Item, Study
from experiment.services import audit
from experiment.services.fields import ensure_field
from experiment.services.study_setup import create_study, fit_briefing, unused_title
from experiment.services.study_versions import Revision, revise
from experiment.services.usable import of_own, usable_items

OTHER_TITLE = "Which result is real?"
NONE_FITS = "No accepted test case matches all criteria."


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key of a list, and where it stands: "line 3 of keys.txt"."""

    key: str
    place: str


@dataclass(frozen=True, slots=True)
class ItemChoice:
    """Conditions on test cases; an empty one lets every one through.

    collection: the published set they came with. keys: of exactly these test cases, practice items and catch items.
    """

    collection: str = ""
    source: str = ""
    field: str = ""
    subfields: tuple[str, ...] = ()
    keys: tuple[ListedKey, ...] = ()

    @property
    def is_narrow(self) -> bool:
        """True if anything is asked for besides the published set."""
        return any((self.source, self.field, self.subfields, self.keys))


@dataclass(frozen=True, slots=True)
class Counted:
    """How many test cases of a choice are of each stratum, and of tests, of each subfield."""

    strata: Mapping[str, int]
    subfields: Mapping[str, int]

    @classmethod
    def of(cls, rows: Iterable[Item]) -> "Counted":
        rows = list(rows)
        order = ("human", "machine", "question", "catch", "practice")
        strata = Counter(
            row.stratum if row.kind != Item.Kind.PRACTICE else row.kind for row in rows
        )
        tests = Counter(row.subfield for row in rows if row.kind == Item.Kind.TEST)
        return cls(
            {name: strata[name] for name in order if strata[name]}, dict(sorted(tests.items()))
        )


@dataclass(frozen=True, slots=True)
class Taken:
    """The pool that a study draws from, by stratum and, of test cases, by subfield; and how many others it could draw from.

    n_waiting: of the published texts of its test cases' collections, those whose repair waits for a person.
    """

    strata: Mapping[str, int]
    subfields: Mapping[str, int]
    n_left_out: int
    n_waiting: int


def read_keys(lines: Iterable[str], name: str) -> tuple[ListedKey, ...]:
    """The keys of a list, one a line; empty lines and what follows a # are left out.

    >>> read_keys(["a-1", "", "# ours", "a-2  # doubtful"], "keys.txt")[1]
    ListedKey(key='a-2', place='line 4 of keys.txt')
    """
    found = []
    for number, line in enumerate(lines, start=1):
        if key := line.partition("#")[0].strip():
            found.append(ListedKey(key, f"line {number} of {name}"))
    return tuple(found)


def choose(choice: ItemChoice, by: User | None, study: Study | None = None) -> list[Item]:
    """The newest accepted version of each test case that fits and that `by` may take, into this study; built-in practice and catch items where none is listed.

    A published text whose repair waits for a person is left out, and so is demo material unless it is listed, or is all
    that fits of the field that is asked for.

    Raises:
        ValidationError: a listed key is none of those, or does not fit, and every one is named; or nothing fits.
    """
    usable = usable_items(by, study)
    if not (choice.keys or choice.field):
        usable = usable.filter(of_own(by, study))
    if choice.keys:
        chosen = _listed(choice, usable)
    else:
        rows = usable.filter(kind=Item.Kind.TEST)
        asked = {"collection": choice.collection, "source": choice.source, "field": choice.field}
        rows = rows.filter(**{name: value for name, value in asked.items() if value})
        if choice.subfields:
            rows = rows.filter(subfield__in=choice.subfields)
        chosen = list(_newest(rows.filter(is_demo=False)).values())
        if not chosen and choice.field:
            chosen = list(_newest(rows).values())
        if not chosen and choice.is_narrow:
            raise ValidationError(NONE_FITS)
    own = {item.kind for item in chosen}
    return [*chosen, *(item for item in ensure_builtin_items() if item.kind not in own)]


@transaction.atomic
def create_chosen_study(
    slug: str,
    preset: str,
    choice: ItemChoice,
    *,
    contact: str = "",
    by: User | None = None,
    **given: Any,
) -> Study:
    """Create a study from a preset, with these test cases and as many trials as they allow.

    Test cases from elsewhere have a field of their own, and are not called BrainBench.
    """
    items, settings = choose(choice, by), PRESETS[preset]
    counts = fitting_counts(settings.counts, items)
    fields: dict[str, Any] = {f"{stratum}_items": n for stratum, n in counts.items()}
    if choice.collection != settings.collection:
        title = unused_title(OTHER_TITLE, slug)
        fields |= {"title": title, "field": choice.field or common_field(items)}
    study = create_study(slug, preset, contact=contact, by=by, **(fields | given))
    revise(study, items=items, by=by)
    return study


@transaction.atomic
def choose_items(
    study: Study, choice: ItemChoice, reason: str = "", by: User | None = None
) -> Revision:
    """Let the study draw from these instead of what it has, and ask for no more trials than they allow.

    Raises:
        ReasonRequiredError: the study is frozen, and no reason is given.
        ValidationError: no test case fits: a study is made without any, but never emptied.
    """
    items, kinds = choose(choice, by, study), (Item.Kind.TEST, Item.Kind.QUESTION)
    if not any(item.kind in kinds for item in items):
        raise ValidationError(NONE_FITS)
    if not any(item.kind == Item.Kind.QUESTION for item in items):
        # Chosen by themselves (questions/pinning.py)
        items += study.items.filter(kind=Item.Kind.QUESTION)
    follows = field_follows(study)
    revision = revise(study, items=items, reason=reason, by=by)
    set_counts(study, study.trial_counts, items, by)
    if follows:
        fit_field(study, by)
    return revision


PRESET_FIELDS = frozenset(preset.field for preset in PRESETS.values())
TESTED = [Item.Kind.TEST, Item.Kind.QUESTION]


def field_follows(study: Study) -> bool:
    """True if nobody gave the study a field of its own: it has none, a preset's, or that of what it asks."""
    asked = study.items.filter(kind__in=TESTED)
    return study.field in PRESET_FIELDS | {""} or asked.filter(field=study.field).exists()


def fit_field(study: Study, by: User | None) -> None:
    """Before anybody takes part, name the field of all that the study asks as its own: participants and models see this."""
    kinds = [Item.Kind.QUESTION] if study.tasks == "questions" else TESTED
    asked = {*study.items.filter(kind__in=kinds).values_list("field", flat=True)}
    if study.version or len(asked) != 1 or study.field in asked:
        return
    study.field = asked.pop()
    study.save(update_fields=["field"])
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=["field"])


def set_counts(
    study: Study, wanted: Mapping[Stratum, int], items: Sequence[Item], by: User | None = None
) -> None:
    """Ask for so many trials of each stratum, and for no more than these items allow; the audit trail has what changed."""
    counts = {f"{stratum}_items": n for stratum, n in fitting_counts(wanted, items).items()}
    if changed := [name for name, n in counts.items() if getattr(study, name) != n]:
        for name in changed:
            setattr(study, name, counts[name])
        if fit_briefing(study, study.language):
            changed.append("briefing")
        study.save(update_fields=changed)
        audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=changed)


def fitting_counts(wanted: Mapping[Stratum, int], items: Sequence[Item]) -> dict[Stratum, int]:
    """Trials per participant, no more than there are different works, or questions; beside questions alone no catch trials.

    As wanted where nothing to judge or answer would be left.
    """
    works: dict[str, set[str]] = {stratum: set() for stratum in wanted}
    for item in items:
        if item.kind != Item.Kind.PRACTICE and item.stratum in works:
            works[item.stratum].add(item.key if item.is_question else item.work)
    fitting = {stratum: min(n, len(works[stratum])) for stratum, n in wanted.items()}
    asked = {stratum for stratum, n in fitting.items() if n and stratum != "catch"}
    if not asked:
        return dict(wanted)
    if asked == {QUESTION}:  # catch trials tell who does not read abstracts
        return {stratum: n if stratum == QUESTION else 0 for stratum, n in fitting.items()}
    return fitting


def common_field(items: Sequence[Item]) -> str:
    """The field of research of all test cases; empty where they have several or none."""
    fields = {item.field for item in items if item.kind == Item.Kind.TEST}
    return fields.pop() if len(fields) == 1 else ""


def taken(study: Study) -> Taken:
    rows = list(study.items.only("key", "kind", "source", "subfield", "collection"))
    counted = Counted.of(rows)
    others = Item.objects.accepted().filter(kind=Item.Kind.TEST, is_demo=False)
    published = others.filter(collection__in={row.collection for row in rows} - {""})
    return Taken(
        counted.strata,
        counted.subfields,
        len(_newest(others).keys() - {row.key for row in rows}),
        len(_waiting(published)),
    )


def _newest(accepted: QuerySet[Item]) -> dict[str, Item]:
    """By key, the newest accepted version, but nothing published whose repair waits for a person."""
    newest = {item.key: item for item in accepted.order_by("key", "version")}
    return {key: newest[key] for key in newest.keys() - _waiting(accepted)}


def _waiting(accepted: QuerySet[Item]) -> set[str]:
    """Keys of the published texts whose repair waits for a person."""
    newest = dict(accepted.order_by("version").values_list("key", "texts"))
    repairs = Item.objects.filter(texts=Item.Texts.REPAIRED).exclude(status=Item.Status.ACCEPTED)
    keys = repairs.values_list("key", flat=True)
    return {key for key in keys if newest.get(key) == Item.Texts.AS_PUBLISHED}


def _listed(choice: ItemChoice, usable: QuerySet[Item]) -> list[Item]:
    found = _newest(usable.filter(key__in={listed.key for listed in choice.keys}))
    rest = replace(choice, keys=())
    problems = []
    for listed in choice.keys:
        item = found.get(listed.key)
        if item is None:  # no word on whether others have it
            problems.append(
                f"{listed.place}: there is no accepted test case “{listed.key}” that you may use"
            )
        elif item.kind == Item.Kind.TEST and (missing := _misfit(item, rest)):
            problems.append(f"{listed.place}: “{listed.key}” does not match {missing}")
    if problems:
        raise ValidationError([f"{problem}." for problem in problems])
    return list(found.values())


def _misfit(item: Item, choice: ItemChoice) -> str:
    """The first condition that the test case does not meet: its name and what was asked for."""
    asked = (
        ("collection", choice.collection, item.collection),
        ("source", choice.source, item.source),
        ("field", choice.field, item.field),
    )
    for name, wanted, found in asked:
        if wanted and wanted != found:
            return f"{name} {wanted}"
    if choice.subfields and item.subfield not in choice.subfields:
        return f"subfields {', '.join(choice.subfields)}"
    return ""


ITEMS_FILE = Path(__file__).parents[1] / "demo" / "items.toml"
# What the demo's test items are about. Catch and practice items are of no field: any study may use them
FIELD_OF_TESTS = "neuroscience"


@cache
def read_items() -> list[dict[str, Any]]:
    with ITEMS_FILE.open("rb") as file:
        items: list[dict[str, Any]] = tomllib.load(file)["item"]
        return items


@transaction.atomic
def ensure_items(kinds: tuple[str, ...]) -> list[Item]:
    """The accepted built-in items of these kinds, created where missing, in the file's order."""
    items = []
    field = ensure_field(FIELD_OF_TESTS).name if Item.Kind.TEST in kinds else ""
    for entry in read_items():
        if entry["kind"] not in kinds:
            continue
        # Nobody's: the same text that a user brought under this key is theirs
        own = Item.objects.accepted().filter(created_by=None)
        item = own.filter(key=entry["key"], markup=entry["markup"]).first()
        if item is None:
            # A newer release's wording of a built-in text is a new version, like any edit
            newest = Item.objects.filter(key=entry["key"]).order_by("-version").first()
            named = ("key", "kind", "source", "subfield", "markup")
            item = Item.objects.create(
                **{name: entry[name] for name in named},
                version=1 if newest is None else newest.version + 1,
                status=Item.Status.ACCEPTED,
                field=field if entry["kind"] == Item.Kind.TEST else "",
                is_demo=True,
                generator="BrainBench Live",
                note=f"{entry['title']}. {entry['finding']}",
            )
        items.append(item)
    return items


def ensure_builtin_items() -> list[Item]:
    """The accepted built-in catch and practice items, which a study of any material can use."""
    return ensure_items((Item.Kind.CATCH, Item.Kind.PRACTICE))
