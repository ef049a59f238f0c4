"""`{{ run|stands:"answers" }}` and `{{ spending|spent }}`: the sentences are in scoring/lab/words.py."""

from datetime import datetime

from django import template
from django.template.defaultfilters import date
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from lib.jobs.models import Job
from scoring.lab import words

register = template.Library()
register.filter("stands", words.stands)
register.filter("spent", words.spent)
register.filter("step", words.step)


@register.filter
def moment(at: datetime) -> SafeString:
    """A time for people and for programs."""
    local = timezone.localtime(at)
    return format_html('<time datetime="{}">{}</time>', date(local, "c"), date(local, "j F Y, H:i"))


@register.filter
def ended(job: Job) -> str:
    """The end of a sentence on how far a job is: when it ended; empty where it goes on."""
    return "" if job.finished_at is None else format_html(", {}", moment(job.finished_at))
