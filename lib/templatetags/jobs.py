from django import template
from django.utils import timezone

from lib.jobs import workers
from lib.jobs.models import Job
from lib.jobs.progress import Measured, Progress, progress

register = template.Library()


@register.filter
def kind_of(job: Job) -> str:
    """The label by which pages name its kind."""
    return job._meta.label_lower


@register.simple_tag
def is_taken(job: Job) -> bool:
    """True if a living worker takes such jobs: `{% is_taken export as taken %}`."""
    return workers.is_taken(type(job))


@register.simple_tag
def said_of(job: Job) -> str:
    """The words that a screen reader hears of a job: its state, and each quarter."""
    announced = progress(job, timezone.now()).announced if job.is_open else 0
    state = job.get_status_display()
    return f"{state}, {announced}% done" if announced else state


@register.simple_tag
def progress_of(job: Measured) -> Progress:
    """How far it is, now: `{% progress_of export as progress %}`."""
    return progress(job, timezone.now())
