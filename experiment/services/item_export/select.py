"""Which versions a file of test cases holds."""

from collections.abc import Mapping

from experiment.models import Item, ResearchField

ALL = "all"
STATUSES = (*Item.Status.values, ALL)


def select(
    research_field: ResearchField, status: str = Item.Status.ACCEPTED.value, source: str = ""
) -> list[Item]:
    """The newest version of each test case that has this status, in the order in which the test cases came.

    Of any status where `all` is asked for; built-in ones are left out.
    """
    every = Item.objects.filter(field=research_field.name, is_demo=False).order_by("pk")
    came: Mapping[str, int] = {
        key: n for n, key in enumerate(dict.fromkeys(every.values_list("key", flat=True)))
    }
    wanted = every if status == ALL else every.filter(status=status)
    if source:
        wanted = wanted.filter(source=source)
    newest = {item.key: item for item in wanted.order_by("version")}
    return sorted(newest.values(), key=lambda item: came[item.key])
