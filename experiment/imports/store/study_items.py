"""Part of the import: which versions a study draws.

They follow the choice of texts, and the decisions of curators come before the import's: a version that a person put in
place stays, and what a person took out does not come back.
"""

from collections.abc import Sequence

from experiment.imports.read.testcases import PublishedItem
from experiment.imports.store.items import StoredItems
from experiment.models import Item, Study
from experiment.services.item_choice import ensure_builtin_items
from experiment.services.study_versions import revise

Status, Texts = Item.Status, Item.Texts


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
        now, wanted = pinned.get(item.key), _wanted(item, stored, texts)
        if now is None:
            uncorrected = item.damage is not None and not item.damage.repaired
            if wanted and (
                item.source not in sources or item.key in stored.new_keys or uncorrected
            ):
                chosen.append(wanted)
        elif now.texts == Texts.AUTHORED and now != wanted:
            notes.append(f"{study.slug} draws {now}, which a person put in place: left as it is.")
        elif wanted is None and now.status == Status.ACCEPTED:
            unpinned.append(now)
        elif wanted is not None and now != wanted:
            chosen.append(wanted)
    chosen += _builtin_items(study)
    replaced = {row.key for row in (*chosen, *unpinned)}
    kept = [row for row in rows if row.key not in replaced]
    revise(study, items=[*kept, *chosen], reason=f"import of published data, texts {texts}")
    return len({row.pk for row in chosen} - {row.pk for row in rows}) + len(unpinned), notes


def _wanted(item: PublishedItem, stored: StoredItems, texts: str) -> Item | None:
    """The version that the choice of texts asks for, if it may be drawn."""
    published = texts == Texts.AS_PUBLISHED or item.damage is None
    row = stored.published[item.key] if published else stored.successors[item.key]
    return row if row.status == Status.ACCEPTED else None


def _builtin_items(study: Study) -> list[Item]:
    """Catch and practice items, where the study has none of its own."""
    kinds = set(study.items.values_list("kind", flat=True))
    missing = {Item.Kind.CATCH, Item.Kind.PRACTICE} - kinds
    return [row for row in ensure_builtin_items() if row.kind in missing] if missing else []
