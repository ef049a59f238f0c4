"""Which study a command is about."""

from django.core.management.base import CommandError

from experiment.models import Study

MOST_NAMED = 20


def find_study(slug: str) -> Study:
    """The study of this name. Raises CommandError where there is none, naming those that there are."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        slugs = list(Study.objects.order_by("slug").values_list("slug", flat=True))
        more = [f"and {len(slugs) - MOST_NAMED} more"] if len(slugs) > MOST_NAMED else []
        there = ", ".join([*slugs[:MOST_NAMED], *more]) or "none"
        raise CommandError(f"There is no study “{slug}” (there are: {there}).")
    return study
