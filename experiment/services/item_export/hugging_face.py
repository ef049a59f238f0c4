"""Tests of a field as a folder that Hugging Face's `datasets.load_dataset` reads: a data card and one split of JSON lines."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.template.loader import render_to_string

from experiment.models import Item, ResearchField

DATA = "data/test.jsonl"
CARD = "README.md"
TEXTS = (
    "key",
    "subfield",
    "source",
    "generator",
    "doi",
    "publication_date",
    "markup",
    "original",
    "altered",
)
FEATURES = {"version": "int64", **dict.fromkeys(TEXTS, "string")}
_SIZES = {3: "n<1K", 4: "1K<n<10K", 5: "10K<n<100K"}


class NothingToExportError(Exception):
    """There is no test to write."""


@dataclass(frozen=True, slots=True)
class Card:
    """What the data card says; n is of tests, by source, subfield and state."""

    name: str
    license: str
    language: str
    n: int
    n_bytes: int
    size: str
    sources: Mapping[str, int]
    generators: Mapping[str, int]
    subfields: Mapping[str, int]
    statuses: Mapping[str, int]
    n_accepted: int
    n_without_review: int
    n_with_doi: int
    dates: tuple[str, str] | None


def folder(
    research_field: ResearchField, items: Sequence[Item], license_name: str, language: str = "en"
) -> dict[str, bytes]:
    """Contents by path within the folder. Catch and practice items are left out.

    Raises:
        NothingToExportError: there is no test among the items.
    """
    tests = [item for item in items if item.kind == Item.Kind.TEST]
    if not tests:
        raise NothingToExportError("There is no test to write.")
    data = b"".join(_row(item) for item in tests)
    card = _card(research_field, tests, license_name, language, len(data))
    context = {"card": card, "features": FEATURES, "path": DATA}
    text = render_to_string("experiment/item_export/data_card.md", context)
    return {CARD: text.encode(), DATA: data}


def _row(item: Item) -> bytes:
    """Every row has every feature: what there is not is null."""
    found = {name: getattr(item, name) or None for name in FEATURES}
    if item.publication_date:
        found["publication_date"] = item.publication_date.isoformat()
    return (json.dumps(found, ensure_ascii=False) + "\n").encode()


def _card(
    research_field: ResearchField,
    tests: Sequence[Item],
    license_name: str,
    language: str,
    n_bytes: int,
) -> Card:
    dates = sorted(str(item.publication_date) for item in tests if item.publication_date)
    accepted = [item for item in tests if item.status == Item.Status.ACCEPTED]
    return Card(
        name=research_field.name,
        license=license_name,
        language=language,
        n=len(tests),
        n_bytes=n_bytes,
        size=_SIZES.get(max(3, math.ceil(math.log10(len(tests) + 1))), "n>100K"),
        sources=_counted(tests, "source"),
        generators=_counted([item for item in tests if item.generator], "generator"),
        subfields=_counted(tests, "subfield"),
        statuses=_counted(tests, "status"),
        n_accepted=len(accepted),
        n_without_review=sum(not item.accepted_by for item in accepted),
        n_with_doi=sum(bool(item.doi) for item in tests),
        dates=(dates[0], dates[-1]) if dates else None,
    )


def _counted(items: Sequence[Item], name: str) -> dict[str, int]:
    return dict(sorted(Counter(str(getattr(item, name)) for item in items).items()))
