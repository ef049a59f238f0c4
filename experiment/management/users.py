"""The user whose name a command's work bears."""

from django.contrib.auth.models import User
from django.core.management.base import CommandError


def find_user(name: str) -> User | None:
    """None for no name. Raises CommandError where there is no such user."""
    if not name:
        return None
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist as error:
        raise CommandError(f"There is no user {name}.") from error
