"""The field of research that a command is about."""

from django.core.management.base import CommandError

from experiment.models import ResearchField


def find_field(slug: str) -> ResearchField:
    found = ResearchField.objects.filter(slug=slug).first()
    if found is None:
        there = ", ".join(ResearchField.objects.values_list("slug", flat=True)) or "none"
        raise CommandError(f"There is no field “{slug}” (there are: {there}).")
    return found
