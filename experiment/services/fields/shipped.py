"""Fields that come with the project, as data: experiment/fields/NAME.toml."""

import tomllib
from collections.abc import Iterable
from pathlib import Path

from django.db import transaction
from django.db.models import Q

from experiment.models import ResearchField

FOLDER = Path(__file__).parents[2] / "fields"


@transaction.atomic
def ensure_field(name: str, subfields: Iterable[str] = ()) -> ResearchField:
    """The field of the file of this name, with its subfields and these others, created where they are missing.

    What a lead has written or chosen since stays as it is.
    """
    with (FOLDER / f"{name}.toml").open("rb") as file:
        shipped = tomllib.load(file)
    # A site may have named it with a capital before
    own = ResearchField.objects.filter(Q(name__iexact=shipped["name"]) | Q(slug=shipped["slug"]))
    research_field = own.first() or ResearchField.objects.create(
        name=shipped["name"], slug=shipped["slug"]
    )
    purposes = {entry["name"]: entry["purpose"] for entry in shipped["subfield"]}
    for subfield, purpose in (dict.fromkeys(subfields, "") | purposes).items():
        row, _ = research_field.subfields.get_or_create(name=subfield)
        if purpose and not row.purpose:
            row.purpose = purpose
            row.save(update_fields=["purpose"])
    return research_field
