"""Names of teams and members in templates: `{% load teams %}`."""

from collections.abc import Sequence

from django import template

from analysis.teams import names, words
from analysis.teams.results import Member, Team

register = template.Library()

register.filter("called", names.called)
register.filter("the_member", names.the_member)
register.filter("method_name", names.method_name)
register.filter("equally", names.equally)


@register.filter
def short(team: Team, every: Sequence[Member]) -> str:
    """`{{ team|short:members }}`, where all members have been named."""
    return names.short(team, every)


register.filter("rows", words.rows_of)
register.filter("row_noun", words.row_noun)
register.filter("brackets", words.brackets)
