"""`{{ run|stands:"answers" }}` and `{{ spending|spent }}`: the sentences are in scoring/lab/words.py."""

from django import template

from scoring.lab import words

register = template.Library()
register.filter("stands", words.stands)
register.filter("spent", words.spent)
