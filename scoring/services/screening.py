"""Use case: a language model reads texts that are not in use yet, and how hard they are for it is kept for leads."""

from collections.abc import Callable, Sequence
from contextlib import closing

from experiment.models import Item, ResearchField
from scoring.backends.opening import open_backend
from scoring.domain.backend import ScoringError
from scoring.models import ItemScreening
from scoring.pairs import score_pairs

UNUSED = (Item.Status.DRAFT, Item.Status.IN_REVIEW)


def unscreened(research_field: ResearchField, model: str, prompt: str) -> list[Item]:
    """The field's drafts and versions in review whose text this model has not read."""
    unused = Item.objects.filter(field=research_field.name, status__in=UNUSED)
    items = unused.exclude(kind=Item.Kind.QUESTION).order_by("key")
    read = set(
        ItemScreening.objects.filter(item__in=items, model=model, prompt=prompt).values_list(
            "item", "sha256"
        )
    )
    return [item for item in items if (item.pk, item.sha256) not in read]


def screen(
    items: Sequence[Item],
    kind: str,
    args: dict[str, str],
    model: str,
    prompt: str,
    on_done: Callable[[int], None],
) -> list[ItemScreening]:
    """Score both versions of each text, by the same path as everywhere, and keep the perplexities at once.

    Raises:
        ScoringError: the model cannot be had, or cannot score a text.
    """
    kept = []
    with closing(open_backend(kind, args)) as backend:
        for n, item in enumerate(items, start=1):
            pair = (item.original, item.altered)
            try:
                (scored,) = score_pairs({item.key: pair}, backend, prompt)
            except ScoringError as error:
                raise ScoringError(f"{error} Screened before it: {n - 1}.") from error
            found = {"ppl_original": scored.original.ppl, "ppl_altered": scored.altered.ppl}
            row, _ = ItemScreening.objects.update_or_create(
                item=item, sha256=item.sha256, model=model, prompt=prompt, defaults=found
            )
            kept.append(row)
            on_done(n)
    return kept
