"""Fields of research: names, subfields and how many reviews each asks for; those that come with the project, as data (experiment/fields/NAME.toml)."""

import tomllib
from collections.abc import Iterable
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify

from experiment.domain.roles import FieldRole
from experiment.models import Item, ResearchField, Study, Subfield
from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.consenting import was_opened
from experiment.services.curation.reviews import settle
from experiment.services.usable import is_site
from lib.name_fields import is_free
from lib.names import looks

RESERVED_SLUGS = ("new",)  # addresses of the lab


@transaction.atomic
def create_field(name: str, reviews_needed: int, by: User | None) -> ResearchField:
    """A field without subfields; whoever makes it leads it. Raises ValidationError for a name that is taken."""
    start = slugify(name)[:50] or "field"
    slug, n = start, 2
    while slug in RESERVED_SLUGS or not is_free(ResearchField, slug):
        slug, n = f"{start}-{n}", n + 1
    research_field = ResearchField(name=name, slug=slug, reviews_needed=reviews_needed)
    _refuse_shipped(name, by)
    _refuse_planted(research_field)
    research_field.full_clean()
    research_field.save()
    if by is not None:
        research_field.members.add(by, through_defaults={"role": FieldRole.LEAD})
    audit.record(Action.FIELD_CREATED, by=by, field=name, reviews_needed=reviews_needed)
    return research_field


@transaction.atomic
def change_field(
    research_field: ResearchField, name: str, reviews_needed: int, by: User
) -> list[Item]:
    """Give it another name, as long as it has no test cases, or ask for more or fewer reviews.

    Returns the versions that are accepted now, since the reviews that they have are enough.

    Raises:
        ValidationError: the name is taken, or test cases have the one that it had.
    """
    research_field = ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)
    before = {"name": research_field.name, "reviews_needed": research_field.reviews_needed}
    after = {"name": name, "reviews_needed": reviews_needed}
    if before == after:
        return []
    if name != research_field.name and has_items(research_field):
        raise ValidationError(
            {"name": "This name cannot change because test cases and exports use it."}
        )
    if name != research_field.name:
        _refuse_shipped(name, by)
    research_field.name, research_field.reviews_needed = name, reviews_needed
    _refuse_planted(research_field)
    research_field.full_clean()
    research_field.save()
    told = {key: f"{before[key]} → {after[key]}" for key in after if before[key] != after[key]}
    audit.record(Action.FIELD_CHANGED, by=by, field=name, changes=told)
    waiting = Item.objects.filter(field=name, status=Item.Status.IN_REVIEW)
    settled = [settle(item, research_field, by) for item in waiting.select_for_update(no_key=True)]
    return [item for item in settled if item.status == Item.Status.ACCEPTED]


@transaction.atomic
def share_with_site(research_field: ResearchField, is_shared: bool, by: User) -> None:
    """Let everybody here use its accepted test cases, or no longer; studies keep what they draw from."""
    rows = ResearchField.objects.filter(pk=research_field.pk, is_shared=not is_shared)
    if rows.update(is_shared=is_shared):
        change = "shared with the site" if is_shared else "no longer shared with the site"
        audit.record(Action.FIELD_CHANGED, by=by, field=research_field.name, change=change)


@transaction.atomic
def share_with_study(research_field: ResearchField, slug: str, by: User) -> None:
    """Let the researchers of this study use its accepted test cases there.

    Raises ValidationError where there is no such study, or none that a lead can know of: others' drafts are not told by it.
    """
    study = Study.objects.filter(slug=slug).first()
    is_own = Study.objects.visible_to(by).filter(slug=slug).exists()
    if study is None or not (is_own or was_opened(study)):
        raise ValidationError(
            {
                "study": (
                    "No study that you can see has this short name. If it was never opened, ask to become one of its "
                    "members, or add its researchers to this field as readers."
                )
            }
        )
    if not research_field.shared_with.filter(pk=study.pk).exists():
        research_field.shared_with.add(study)
        _record_sharing(research_field, study, by, "shared")


@transaction.atomic
def unshare_with_study(research_field: ResearchField, study: Study, by: User) -> None:
    """The study keeps what it draws from, and takes no more."""
    if research_field.shared_with.filter(pk=study.pk).exists():
        research_field.shared_with.remove(study)
        _record_sharing(research_field, study, by, "no longer shared")


def _record_sharing(research_field: ResearchField, study: Study, by: User, change: str) -> None:
    field, slug = research_field.name, study.slug
    audit.record(Action.FIELD_CHANGED, by=by, field=field, with_study=slug, change=change)


@transaction.atomic
def add_subfield(research_field: ResearchField, name: str, purpose: str, by: User) -> Subfield:
    """Raises ValidationError for a name that is taken."""
    subfield = Subfield(field=research_field, name=name, purpose=purpose)
    _store(subfield, by, "added", [])
    return subfield


@transaction.atomic
def change_subfield(subfield: Subfield, name: str, purpose: str, by: User) -> None:
    """Raises ValidationError for a name that is taken, or where test cases have the one that it had."""
    if name != subfield.name and is_used(subfield):
        raise ValidationError({"name": "This name cannot change because test cases use it."})
    after = {"name": name, "purpose": purpose}
    changed = [column for column in after if getattr(subfield, column) != after[column]]
    subfield.name, subfield.purpose = name, purpose
    _store(subfield, by, "changed", changed)


@transaction.atomic
def remove_subfield(subfield: Subfield, by: User) -> None:
    """Raises ValidationError where test cases have it."""
    if is_used(subfield):
        raise ValidationError(
            "This subfield cannot be renamed or removed because test cases use it."
        )
    subfield.delete()
    _record(subfield, by, "removed", [])


def has_items(research_field: ResearchField) -> bool:
    return Item.objects.filter(field=research_field.name).exists()


def is_used(subfield: Subfield) -> bool:
    return Item.objects.filter(field=subfield.field.name, subfield=subfield.name).exists()


def _store(subfield: Subfield, by: User, change: str, changed: list[str]) -> None:
    subfield.full_clean()
    subfield.save()
    _record(subfield, by, change, changed)


def _record(subfield: Subfield, by: User, change: str, changed: list[str]) -> None:
    field, name = subfield.field.name, subfield.name
    told: dict[str, audit.Detail] = {"subfield": name, "change": change, "changed": changed}
    audit.record(Action.FIELD_CHANGED, by=by, study=None, reason="", field=field, **told)


def _refuse_shipped(name: str, by: User | None) -> None:
    """Refuses a field that comes with the project: its maker would lead the whole site's texts before they come."""
    if not is_site(by) and _is_shipped(name):
        message = "This name is kept for a field that comes with the site. Choose another one."
        raise ValidationError({"name": message})


def _is_shipped(name: str) -> bool:
    """
    >>> _is_shipped("Neuroscience!"), _is_shipped("elements"), _is_shipped("marine biology")
    (True, True, False)
    """
    fields = [_shipped(path.stem) for path in FOLDER.glob("*.toml")]
    names = looks(*(field["name"] for field in fields))
    return not looks(name).isdisjoint(names) or slugify(name) in {f["slug"] for f in fields}


def _refuse_planted(research_field: ResearchField) -> None:
    """Nobody prepares test cases for a field that somebody else will make. That no other field's name is alike, NameField sees to."""
    own = ResearchField.objects.filter(pk=research_field.pk, name=research_field.name)
    if not own.exists() and _is_of_items(research_field.name):
        raise ValidationError({"name": "Another field of this site has this name."})


def unused_name(name: str, study: str, by: User | None) -> str:
    """The name, or where another field has one that looks like it, or the site keeps it, with the study's short name after it."""
    taken = looks(*ResearchField.objects.values_list("name", flat=True))
    tails = chain(("", f" ({study})"), (f" ({study} {n})" for n in count(2)))
    longest = ResearchField._meta.get_field("name").max_length or 0
    names = (name[: longest - len(tail)].strip() + tail for tail in tails)
    return next(
        free
        for free in names
        if looks(free).isdisjoint(taken)
        and not _is_of_items(free)
        and (is_site(by) or not _is_shipped(free))
    )


def _is_of_items(name: str) -> bool:
    return Item.objects.filter(field__iexact=name).exists()


FOLDER = Path(__file__).parents[1] / "fields"


@cache
def _shipped(name: str) -> dict[str, Any]:
    with (FOLDER / f"{name}.toml").open("rb") as file:
        return tomllib.load(file)


@transaction.atomic
def ensure_field(name: str, subfields: Iterable[str] = ()) -> ResearchField:
    """The field of the file of this name, with its subfields and these others, created where they are missing.

    What a lead has written or chosen since stays as it is.
    """
    shipped = _shipped(name)
    # A site may have named it with a capital before
    own = ResearchField.objects.filter(Q(name__iexact=shipped["name"]) | Q(slug=shipped["slug"]))
    research_field = own.first() or ResearchField.objects.create(
        name=shipped["name"], slug=shipped["slug"]
    )
    purposes = {entry["name"]: entry["purpose"] for entry in shipped.get("subfield", ())}
    for subfield, purpose in (dict.fromkeys(subfields, "") | purposes).items():
        row, _ = research_field.subfields.get_or_create(name=subfield)
        if purpose and not row.purpose:
            row.purpose = purpose
            row.save(update_fields=["purpose"])
    return research_field
