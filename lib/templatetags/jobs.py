from django import template

from lib.jobs import workers
from lib.jobs.models import Job

register = template.Library()


@register.filter
def kind_of(job: Job) -> str:
    """The label by which pages name its kind."""
    return job._meta.label_lower


@register.simple_tag
def is_taken(job: Job) -> bool:
    """Whether a worker lives that takes such jobs: `{% is_taken export as taken %}`."""
    return workers.is_taken(type(job))
