"""The test cases of a field, as rows of a file find them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q

from experiment.imports.read.items import ItemRecord
from experiment.models import Item, ResearchField

Keys = Mapping[tuple[str, ...], frozenset[str]]


@dataclass(frozen=True)
class Known:
    """versions: by key, the oldest first. taken: key -> the field whose test case it is, of other fields; and of questions.

    by_texts, by_original, by_doi: (source, ...) -> keys.
    """

    research_field: ResearchField
    subfields: frozenset[str]
    versions: Mapping[str, Sequence[Item]]
    taken: Mapping[str, str]
    by_texts: Keys
    by_original: Keys
    by_doi: Keys

    @classmethod
    def of(cls, research_field: ResearchField, *, locked: bool) -> "Known":
        pairs = Q(field=research_field.name) & ~Q(kind=Item.Kind.QUESTION)
        rows = Item.objects.filter(pairs).order_by("key", "version")
        versions: dict[str, list[Item]] = {}
        texts: dict[tuple[str, ...], set[str]] = {}
        originals: dict[tuple[str, ...], set[str]] = {}
        dois: dict[tuple[str, ...], set[str]] = {}
        for item in rows.select_for_update(no_key=True) if locked else rows:
            versions.setdefault(item.key, []).append(item)
            texts.setdefault((item.source, item.original, item.altered), set()).add(item.key)
            originals.setdefault((item.source, item.original), set()).add(item.key)
            if item.doi:
                dois.setdefault((item.source, item.doi.lower()), set()).add(item.key)
        others = Item.objects.exclude(pairs).order_by()
        return cls(
            research_field,
            frozenset(research_field.subfields.values_list("name", flat=True)),
            versions,
            dict(others.values_list("key", "field")),
            _frozen(texts),
            _frozen(originals),
            _frozen(dois),
        )

    def find(self, record: ItemRecord) -> Sequence[Item]:
        """The versions of the test case that the row is about; empty for a new one.

        By its key; without one, by its source with both texts, with the original text, or with the DOI.

        Raises:
            LookupError: the key is another field's, or several test cases fit.
        """
        if record.key:
            if record.key in self.taken:
                field = self.taken[record.key] or "no field"
                raise LookupError(f"“{record.key}” is a test case of {field}")
            return self.versions.get(record.key, ())
        for index, identity in (
            (self.by_texts, (record.source, record.original, record.altered)),
            (self.by_original, (record.source, record.original)),
            (self.by_doi, (record.source, record.doi.lower())),
        ):
            keys = sorted(index.get(identity, ()))
            if len(keys) > 1:
                raise LookupError(f"could be {' or '.join(keys)}: give the key")
            if keys:
                return self.versions[keys[0]]
        return ()


def _frozen(index: Mapping[tuple[str, ...], set[str]]) -> Keys:
    return {identity: frozenset(keys) for identity, keys in index.items()}
