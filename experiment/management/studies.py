"""Which study a command is about."""

from django.core.management.base import CommandError

from experiment.models import Study


def find_study(slug: str) -> Study:
    """The study of this name. Raises CommandError where there is none."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study “{slug}”.")
    return study
