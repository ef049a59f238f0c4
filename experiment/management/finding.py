"""The study, field of research and user that a command is about."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from experiment.models import ResearchField, Study


def find_field(slug: str) -> ResearchField:
    found = ResearchField.objects.filter(slug=slug).first()
    if found is None:
        there = ", ".join(ResearchField.objects.values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no field “{slug}”. Choose from {there}.")
    return found


MOST_NAMED = 20


def find_study(slug: str) -> Study:
    """The study of this name. Raises CommandError where there is none, naming those that there are."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        slugs = list(Study.objects.order_by("slug").values_list("slug", flat=True))
        more = [f"and {len(slugs) - MOST_NAMED} more"] if len(slugs) > MOST_NAMED else []
        there = ", ".join([*slugs[:MOST_NAMED], *more]) or "none"
        raise CommandError(f"There is no study “{slug}”. Choose from {there}.")
    return study


def find_user(name: str) -> User | None:
    """None for no name. Raises CommandError where there is no such user."""
    if not name:
        return None
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist as error:
        raise CommandError(f"There is no user {name}.") from error
