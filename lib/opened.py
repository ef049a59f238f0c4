"""Changes of two people to one thing since its form was opened: merged by field, so that neither undoes the other's.

A hidden field holds a digest of each value that the page showed. When the form comes back, each field is compared with it and
with what is stored by then, which `held` keeps as it is until the transaction ends:

- what was not touched stays as it is stored, whoever changed it meanwhile;
- what nobody else has touched becomes what was sent;
- the rest is a conflict, which the page shows with who made it and when. Nothing is saved, and the form is opened anew: sent
  once more, it overwrites what it has shown.

A form that does not say what it was opened with has seen nothing: all that it would change is a conflict, once.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, ClassVar, TypeVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.forms.widgets import MultiWidget
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from lib.newlines import with_unix_newlines

OPENED, KEEP, THEIRS = "opened", "keep-", "theirs"
DIGITS = 16
Sent = list[str]  # of one field, as a browser sends it
RowT = TypeVar("RowT", bound=models.Model)


class Merged(Enum):
    """The person whose value a field gets; LOST: nobody's until a person has decided."""

    STORED, SENT, LOST = range(3)


def merge(opened: str | None, stored: Sent, sent: Sent) -> Merged:
    """`opened` is the digest of what the page showed, None where it did not say.

    >>> old, mine, theirs = ["3"], ["4"], ["5"]
    >>> merge(digest(old), theirs, old), merge(digest(old), old, mine), merge(digest(old), theirs, mine)
    (<Merged.STORED: 0>, <Merged.SENT: 1>, <Merged.LOST: 2>)
    >>> merge(None, theirs, mine), merge(None, mine, mine)
    (<Merged.LOST: 2>, <Merged.STORED: 0>)
    """
    if stored == sent or digest(sent) == opened:
        return Merged.STORED
    return Merged.SENT if digest(stored) == opened else Merged.LOST


def digest(sent: Sent) -> str:
    return hashlib.sha256(json.dumps(sent).encode()).hexdigest()[:DIGITS]


def stamp(values: Mapping[str, Sent]) -> str:
    """Names these values, for a hidden field.

    >>> stamp({"role": ["lead"], "title": []}).split("=")[0], read_stamp(stamp({"role": ["lead"]})).keys()
    ('role', dict_keys(['role']))
    """
    return " ".join(f"{name}={digest(values[name])}" for name in sorted(values))


def read_stamp(written: str | None) -> dict[str, str] | None:
    """None where there is none, or none of ours."""
    pairs = (pair.rpartition("=") for pair in (written or "").split())
    return {name: value for name, _mark, value in pairs if len(value) == DIGITS} or None


def hidden(written: str, name: str = OPENED) -> SafeString:
    return format_html('<input type="hidden" name="{}" value="{}">', name, written)


@contextmanager
def held(row: RowT, *, when: bool = True) -> Iterator[RowT]:
    """The row as it is stored now; nobody else changes it until the block ends. Where it is not needed, a copy.

    Raises:
        DoesNotExist: it is gone.
    """
    if not when:
        yield copy(row)
        return
    with transaction.atomic():
        yield type(row)._default_manager.select_for_update(no_key=True).get(pk=row.pk)


@dataclass(frozen=True, slots=True)
class Edit:
    """By whom something was changed last; empty for the site itself."""

    by: str
    at: datetime

    def __str__(self) -> str:
        return f"Changed by {self.by or 'the site'} on {self.at:%Y-%m-%d %H:%M} (UTC)."


@dataclass(frozen=True, slots=True)
class Conflict:
    """Changes of two people to one thing. can_keep: whether mine can still be saved."""

    name: str
    label: str
    mine: str
    now: str
    edit: Edit | None = None
    can_keep: bool = True

    @property
    def keep(self) -> str:
        """The name of the choice whose value counts."""
        return f"{KEEP}{self.name}"

    def __str__(self) -> str:
        text = f"{self.label}: you wrote “{self.mine}”, and it is now “{self.now}”."
        return text if self.edit is None else f"{text} {self.edit}"


class OpenedForm(forms.BaseForm):
    """A form whose initial values are those that are stored now, for a row that `held` keeps.

    apart: fields that say nothing of the row.
    """

    apart: ClassVar[frozenset[str]] = frozenset()
    conflicts: tuple[Conflict, ...] = ()
    unopened = False  # it did not say what it was opened with
    kept: tuple[str, ...] = ()  # labels of what others changed meanwhile, and stays so
    taken: frozenset[str] = frozenset()  # fields that get what is stored, not what was sent

    @property
    def merges(self) -> bool:
        """True if what was sent is compared with what is stored: not where nothing is yet that somebody else could change."""
        row: models.Model | None = getattr(self, "instance", None)
        return row is None or not row._state.adding

    def stored(self, name: str) -> Any:
        """The stored value, as the field's initial value."""
        return self.get_initial_for_field(self.fields[name], name)

    def replaces(self) -> Mapping[str, tuple[str, str, str]]:
        """Everything that the form replaces as a whole and does not show: of each its label, what it is now in words, and exactly."""
        return {}

    @cached_property
    def _whole(self) -> Mapping[str, tuple[str, str, str]]:
        return self.replaces()

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        """The last edit of each of these, as far as that is known."""
        return {}

    @property
    def opened(self) -> SafeString:
        """The hidden field."""
        return hidden(self.stamped, self.add_prefix(OPENED))

    @property
    def stamped(self) -> str:
        values = {name: as_sent(self.fields[name], self.stored(name)) for name in self._compared()}
        whole = {name: [exactly] for name, (_label, _now, exactly) in self._whole.items()}
        return stamp(values | whole)

    def full_clean(self) -> None:
        if self.is_bound and self.merges:
            self._merge()
        super().full_clean()
        if self.conflicts:
            self._refuse()

    def _refuse(self) -> None:
        """Where the conflicts are, the page says why (templates/lab/_opened.html)."""
        self.errors[OPENED] = self.error_class([str(each) for each in self.conflicts])

    def _compared(self) -> list[str]:
        return [name for name in self.fields if name not in self.apart and not self._is_fixed(name)]

    def _is_fixed(self, name: str) -> bool:
        """A field that cannot change, or holds a file, which replaces nothing by itself."""
        field = self.fields.get(name)
        return field is None or field.disabled or isinstance(field, forms.FileField)

    def _merge(self) -> None:
        data: Any = self.data
        self.data = data = data.copy()  # as sent, it cannot be changed
        opened = read_stamp(data.get(self.add_prefix(OPENED)))
        self.unopened, known = opened is None, opened or {}
        found, kept, taken = [], [], set()
        for name in self._compared():
            stored, sent = as_sent(self.fields[name], self.stored(name)), self._sent(name)
            if opened is not None and name not in opened and not sent:
                self._take(name, stored)  # the page did not show it
                continue
            gives_up = data.get(f"{KEEP}{self.add_prefix(name)}") == THEIRS
            whose = Merged.STORED if gives_up else merge(known.get(name), stored, sent)
            if whose is Merged.LOST:
                found.append(name)
            elif whose is Merged.STORED and sent != stored:
                kept += [] if gives_up else [name]
                taken.add(name)
                self._take(name, stored)
        gone = [name for name in known if self._is_fixed(name) and self._has_touched(name, known)]
        self.kept, self.taken = tuple(map(self._label, kept)), frozenset(taken)
        self.conflicts = self._conflicts(found, gone, known)

    def _conflicts(
        self, found: list[str], gone: list[str], known: Mapping[str, str]
    ) -> tuple[Conflict, ...]:
        replaced = {
            name: told for name, told in self._whole.items() if known.get(name) != digest([told[2]])
        }
        edits = self.edits([*found, *gone, *replaced]) if found or gone or replaced else {}
        return (
            *(self._conflict(name, edits.get(name), can_keep=True) for name in found),
            *(self._conflict(name, edits.get(name), can_keep=False) for name in gone),
            *(
                Conflict(name, label, "what you send", now, edits.get(name), can_keep=False)
                for name, (label, now, _exactly) in replaced.items()
            ),
        )

    def _conflict(self, name: str, edit: Edit | None, *, can_keep: bool) -> Conflict:
        field = self.fields.get(name)
        now = said(field, as_sent(field, self.stored(name))) if field else "not asked any more"
        asked = self._field(name)
        assert asked is not None
        mine = said(asked, self._sent(name))
        return Conflict(self.add_prefix(name), self._label(name), mine, now, edit, can_keep)

    def _field(self, name: str) -> forms.Field | None:
        """Also one that this form has dropped since."""
        declared: Mapping[str, forms.Field] = getattr(self, "base_fields", {})
        return self.fields.get(name) or declared.get(name)

    def _label(self, name: str) -> str:
        field = self._field(name)
        assert field is not None
        return str(field.label or forms.utils.pretty_name(name))

    def _has_touched(self, name: str, known: Mapping[str, str]) -> bool:
        """True if its sender has changed a field that now cannot change, and to something else than it is."""
        if self._field(name) is None or digest(self._sent(name)) == known[name]:
            return False
        field = self.fields.get(name)
        return field is None or as_sent(field, self.stored(name)) != self._sent(name)

    def _sent(self, name: str) -> Sent:
        field = self._field(name)
        assert field is not None
        value = field.widget.value_from_datadict(self.data, self.files, self.add_prefix(name))
        return as_sent(field, value)

    def _take(self, name: str, sent: Sent) -> None:
        """Into the data, as if it had been sent."""
        data: Any = self.data
        key, widget = self.add_prefix(name), self.fields[name].widget
        ends: list[str] = getattr(widget, "widgets_names", [""])  # of a MultiWidget
        names = [f"{key}{end}" for end in ends]
        for each in names:
            data.pop(each, None)
        if len(names) > 1:
            data.update(dict(zip(names, sent, strict=False)))
        elif sent:
            data.setlist(key, sent)


def as_sent(field: forms.Field, value: Any) -> Sent:
    """A value, whether it is stored or was sent, as a browser sends the field when nobody touches it; empty for nothing."""
    widget = _inner(field)
    if isinstance(widget, forms.CheckboxInput):
        return ["on"] if widget.check_test(value) else []
    value = field.prepare_value(value)
    if isinstance(widget, MultiWidget):
        parts = value if isinstance(value, list | tuple) else widget.decompress(value)
        texts = [_text(w.format_value(v)) for w, v in zip(widget.widgets, parts or (), strict=True)]
        return texts if any(texts) else []
    shown = widget.format_value(value)
    several = isinstance(shown, list | tuple | set)
    texts = [_text(each) for each in (shown if several else [shown])]
    found = [text for text in texts if text]
    return sorted(found) if getattr(widget, "allow_multiple_selected", False) else found


def _inner(field: forms.Field) -> forms.Widget:
    """Django's administration wraps the widgets of relations."""
    inner = getattr(field.widget, "widget", None)
    return inner if isinstance(inner, forms.Widget) else field.widget


def _text(value: Any) -> str:
    return "" if value is None else with_unix_newlines(str(value)).strip()


def said(field: forms.Field, sent: Sent) -> str:
    """A value of the field for people."""
    widget = _inner(field)
    if isinstance(widget, forms.CheckboxInput):
        return "yes" if sent else "no"
    named = dict(_flat(getattr(widget, "choices", ())))
    return ", ".join(named.get(text, text) for text in sent) or "-"


def _flat(choices: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for value, label in choices:
        if isinstance(label, list | tuple):
            yield from _flat(label)
        else:
            yield str(value), str(label)


Edits = Callable[[Iterable[str]], Mapping[str, Edit]]


def seen(row: models.Model, *names: str, opened_as: str = OPENED) -> SafeString:
    """The hidden field of a button about a row, of which a page has shown these columns; all where none is named."""
    return hidden(stamp(_columns(row, names)), opened_as)


def check_seen(
    sent: Mapping[str, Any], row: models.Model, *names: str, edits: Edits, opened_as: str = OPENED
) -> None:
    """For a button about a row, which `held` keeps. opened_as: the name of the hidden field.

    Raises:
        ValidationError: the page has shown it otherwise than it is now, or does not say what it has shown.
    """
    opened, now = read_stamp(sent.get(opened_as)) or {}, _columns(row, names)
    changed = [name for name in now if opened.get(name) != digest(now[name])]
    if not changed:
        return
    found, lines = edits([*map(_plain_name, changed)]), []
    for name in changed if opened else [*names]:
        field = row._meta.get_field(_plain_name(name))
        label = str(getattr(field, "verbose_name", name))
        display = getattr(row, f"get_{field.name}_display", None)
        value = Truncator(str(display() if display else getattr(row, field.name))).chars(100)
        line = f"{label} is now “{value}”."
        edit = found.get(field.name)
        lines.append(line if edit is None else f"{line} {edit}")
    why = (
        f"“{row}” was changed since this page was opened, so nothing was done. Check it and try again."
        if opened
        else f"This page does not say what it has shown of “{row}”, so nothing was done. Check it and try again."
    )
    raise ValidationError([why, *lines], code="changed_since")


def _columns(row: models.Model, names: Iterable[str]) -> dict[str, Sent]:
    fields = row._meta.concrete_fields
    wanted = {*names} or {field.attname for field in fields}
    assert wanted <= {field.attname for field in fields}, wanted
    return {f.attname: [str(getattr(row, f.attname))] for f in fields if f.attname in wanted}


def _plain_name(name: str) -> str:
    return name.removesuffix("_id")
