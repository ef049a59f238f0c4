"""The study, field of research and user that a command is about."""

from collections.abc import Iterable

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from experiment.models import ResearchField, Study


def find_field(slug: str) -> ResearchField:
    found = ResearchField.objects.filter(slug=slug).first()
    if found is None:
        raise missing("field", "fields", slug, ResearchField.objects.values_list("slug", flat=True))
    return found


MOST_NAMED = 20


def missing(what: str, several: str, named: str, there: Iterable[str]) -> CommandError:
    """The refusal of a name that does not exist, which lists those that do."""
    names = list(there)
    if not names:
        return CommandError(f"There is no {what} “{named}”, and this site has no {several} yet.")
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return CommandError(
        f"There is no {what} “{named}”. Choose from {', '.join([*names[:MOST_NAMED], *more])}."
    )


def find_study(slug: str) -> Study:
    """The study of this name. Raises CommandError where there is none, naming those that there are."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        slugs = Study.objects.order_by("slug").values_list("slug", flat=True)
        raise missing("study", "studies", slug, slugs)
    return study


def find_user(name: str) -> User | None:
    """None for no name. Raises CommandError where there is no such user."""
    if not name:
        return None
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist as error:
        raise CommandError(f"There is no user {name}.") from error
