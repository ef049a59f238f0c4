"""Which versions a file of test cases, or of questions, holds."""

from collections.abc import Collection, Mapping

from experiment.models import Item, ResearchField

ALL = "all"
STATUSES = (*Item.Status.values, ALL)


PAIRS = (Item.Kind.TEST, Item.Kind.CATCH, Item.Kind.PRACTICE)


def select(
    research_field: ResearchField,
    status: str = Item.Status.ACCEPTED.value,
    source: str = "",
    kinds: Collection[str] = PAIRS,
) -> list[Item]:
    """The newest version of each test case that has this status, in the order in which the test cases came.

    Of any status where `all` is asked for; built-in pairs are left out.
    """
    every = Item.objects.filter(field=research_field.name, kind__in=kinds).order_by("pk")
    every = every.exclude(is_demo=True, kind__in=PAIRS).select_related("template")
    came: Mapping[str, int] = {
        key: n for n, key in enumerate(dict.fromkeys(every.values_list("key", flat=True)))
    }
    wanted = every if status == ALL else every.filter(status=status)
    if source:
        wanted = wanted.filter(source=source)
    newest = {item.key: item for item in wanted.order_by("version")}
    return sorted(newest.values(), key=lambda item: came[item.key])
