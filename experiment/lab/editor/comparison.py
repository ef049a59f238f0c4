"""What is stored beside what a writer has typed, where somebody else was quicker."""

from dataclasses import dataclass

from django.forms import BoundField

from experiment.domain.text_diff import Piece, word_diff
from experiment.lab.editor.forms import ItemForm
from lib.newlines import with_unix_newlines


@dataclass(frozen=True, slots=True)
class Detail:
    """A value that differs, in words; empty where there is none."""

    label: str
    stored: str
    typed: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """pieces: from the text that is stored to the one that was typed."""

    pieces: tuple[Piece, ...]
    details: list[Detail]


def comparison(stored: ItemForm, typed: ItemForm) -> Comparison:
    pairs = [(stored[name], typed[name]) for name in typed.fields if name != "markup"]
    details = [
        Detail(str(mine.label), _said(theirs), _said(mine))
        for theirs, mine in pairs
        if _said(theirs) != _said(mine)
    ]
    return Comparison(word_diff(_said(stored["markup"]), _said(typed["markup"])), details)


def _said(bound: BoundField) -> str:
    """A value as the page shows it."""
    value = with_unix_newlines(str(bound.field.prepare_value(bound.value()) or ""))
    choices = dict(getattr(bound.field, "choices", ()))
    return str(choices.get(value, value))
