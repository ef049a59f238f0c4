"""Part of the import: the rows of items.

Version 1 of each item is what was published, for the published judgments refer to it; it is accepted in
every case, and a study's own items say what it draws. A repaired text is a version of its own: accepted
where the repair is certain, else a draft for a person to correct.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import GENERATORS, PublishedItem
from experiment.models import Item, Study
from experiment.services.fields import ensure_field
from experiment.services.item_choice import ensure_builtin_items
from experiment.services.study_versions import revise

Status, Texts = Item.Status, Item.Texts
FIELD = "neuroscience"  # what BrainBench is about: a file in experiment/fields


@dataclass
class StoredItems:
    """The row as published and, where it is damaged, the row that takes its place, by key."""

    published: dict[str, Item] = field(default_factory=dict)
    successors: dict[str, Item] = field(default_factory=dict)
    new_keys: set[str] = field(default_factory=set)
    n_created: int = 0


def store_items(items: Sequence[PublishedItem], texts: str, problems: list[Problem]) -> StoredItems:
    """Create what is missing; what disagrees with an earlier import is a problem."""
    versions: dict[str, list[Item]] = {}
    for row in Item.objects.filter(key__in=[item.key for item in items]).order_by("version"):
        versions.setdefault(row.key, []).append(row)
    stored, new, dated = StoredItems(), [], []
    for item in items:
        known = versions.get(item.key, [])
        if known:
            problem = _disagreement(item, known[0])
            if problem:
                problems.append(problem)
                continue
            # A date that stands was perhaps corrected by a person
            undated = [row for row in known if row.publication_date is None]
            for row in undated if item.publication_date else ():
                row.publication_date = item.publication_date
                row.derive_texts()  # bulk_update does not call save()
                dated.append(row)
        else:
            note = f"Damaged as published: {item.damage.reason}." if item.damage else ""
            row = _row(item, 1, item.markup, Texts.AS_PUBLISHED, Status.ACCEPTED, note)
            row.is_damaged = item.damage is not None
            new.append(row)
            stored.new_keys.add(item.key)
        stored.published[item.key] = known[0] if known else new[-1]
        if item.damage and texts == Texts.REPAIRED:
            successor = _successor(item, known)
            if successor is None:
                successor = _repaired(item, 1 + max((row.version for row in known), default=1))
                new.append(successor)
            stored.successors[item.key] = successor
    research_field = ensure_field(FIELD, {item.subfield for item in items})
    for row in new:
        row.field = research_field.name
    Item.objects.bulk_create(new)
    Item.objects.bulk_update(dated, ["publication_date", "reviewed_sha256"])
    stored.n_created = len(new)
    return stored


def _disagreement(item: PublishedItem, known: Item) -> Problem | None:
    if (known.source, known.doi.lower()) != item.identity:
        message = f"the database has {known} for {known.doi or 'a text without a DOI'}, not for {item.doi}"
        return item.row.problem(message, "doi")
    if known.created_by_id and not known.collection:
        message = (
            f"{known} was brought by somebody else, in the field {known.field}, with a key that is now kept for"
            " the published set. Import the set on another site"
        )
        return item.row.problem(message, "combined_abstract")
    if known.markup != item.markup:
        return item.row.problem(f"the database has another text as {known}", "combined_abstract")
    return None


def _successor(item: PublishedItem, known: Sequence[Item]) -> Item | None:
    """The row that an earlier import, or a person since then, put in the place of a damaged text."""
    assert item.damage is not None
    later = [row for row in known if row.version > 1]
    if item.damage.repaired:
        return next((row for row in later if row.texts == Texts.REPAIRED), None)
    accepted = [row for row in later if row.status == Status.ACCEPTED]
    return next(reversed(accepted or later), None)


def _repaired(item: PublishedItem, version: int) -> Item:
    assert item.damage is not None
    why = f"Version 1 is damaged: {item.damage.reason}."
    if item.damage.repaired:
        note = f"{why} Repaired by the import from the published markup; the split is certain."
        return _row(item, version, item.damage.repaired, Texts.REPAIRED, Status.ACCEPTED, note)
    how = (
        "This suggestion closes the bracket; compare it with the published abstract before you accept it."
        if item.damage.suggestion
        else "This is the text as published, for you to correct."
    )
    markup = item.damage.suggestion or item.markup
    return _row(item, version, markup, Texts.REPAIRED, Status.DRAFT, f"{why} {how}")


def _row(
    item: PublishedItem, version: int, markup: str, texts: str, status: str, note: str
) -> Item:
    row = Item(
        key=item.key,
        version=version,
        kind=Item.Kind.TEST,
        source=item.source,
        generator=GENERATORS[item.source],
        subfield=item.subfield,
        doi=item.doi,
        publication_date=item.publication_date,
        collection=Item.Collection.BRAINBENCH,
        collection_row=item.row.number,
        markup=markup,
        status=status,
        texts=texts,
        note=note,
    )
    row.derive_texts()  # bulk_create does not call save()
    return row


# Which versions a study draws follows the choice of texts, and the decisions of curators come before the import's: a version
# that a person put in place stays, and what a person took out does not come back.


def pin_published(
    study: Study, items: Sequence[PublishedItem], stored: StoredItems, texts: str
) -> tuple[int, list[str]]:
    """Let the study draw the texts of this mode; returns how many were pinned or removed, and notes."""
    rows = list(study.items.order_by("version"))
    pinned: dict[str, Item] = {row.key: row for row in rows}
    sources = {pinned[item.key].source for item in items if item.key in pinned}
    chosen: list[Item] = []
    unpinned: list[Item] = []
    notes: list[str] = []
    for item in items:
        now = pinned.get(item.key)
        is_published = texts == Texts.AS_PUBLISHED or item.damage is None
        asked = (stored.published if is_published else stored.successors)[item.key]
        wanted = asked if asked.status == Status.ACCEPTED else None
        if now is None:
            uncorrected = item.damage is not None and not item.damage.repaired
            if wanted and (
                item.source not in sources or item.key in stored.new_keys or uncorrected
            ):
                chosen.append(wanted)
        elif now.texts == Texts.AUTHORED and now != wanted:
            notes.append(f"{study.slug} draws {now}, which a person chose. It was not changed.")
        elif wanted is None and now.status == Status.ACCEPTED:
            unpinned.append(now)
        elif wanted is not None and now != wanted:
            chosen.append(wanted)
    # Catch and practice items, where the study has none of its own
    missing = {Item.Kind.CATCH, Item.Kind.PRACTICE} - {row.kind for row in rows}
    if missing:
        chosen += [row for row in ensure_builtin_items() if row.kind in missing]
    replaced = {row.key for row in (*chosen, *unpinned)}
    kept = [row for row in rows if row.key not in replaced]
    revise(study, items=[*kept, *chosen], reason=f"import of published data, texts {texts}")
    return len({row.pk for row in chosen} - {row.pk for row in rows}) + len(unpinned), notes
