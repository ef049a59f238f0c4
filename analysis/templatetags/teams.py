"""Names of teams and members in templates: `{% load teams %}`."""

from django import template

from analysis.teams import names, words

register = template.Library()

register.filter("called", names.called)
register.filter("equally", names.equally)
register.filter("row_noun", words.row_noun)
register.filter("brackets", words.brackets)
