"""The values that a form was opened with: two people's changes are merged by field, and the second is told of the rest."""

from typing import Any

import pytest
from django import forms
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from lib.opened import OpenedForm, as_sent, digest, merge, read_stamp, said, stamp
from lib.pages import UnixTextField

COLOURS = [("r", "Red"), ("b", "Blue")]
VALUES = st.lists(st.sampled_from("ab"), max_size=2)


class Settings(OpenedForm, forms.Form):
    title = forms.CharField(required=False)
    text = UnixTextField(widget=forms.Textarea, required=False)
    is_on = forms.BooleanField(required=False)
    colour = forms.ChoiceField(choices=COLOURS)
    several = forms.MultipleChoiceField(choices=COLOURS, required=False)
    n = forms.IntegerField(required=False)
    at = forms.SplitDateTimeField(required=False)


START: dict[str, Any] = {
    "title": "Sleep",
    "text": "One\nTwo",
    "is_on": True,
    "colour": "r",
    "several": ["b", "r"],
    "n": 3,
}
# Of each field another value, as it is stored and as it is sent
OTHER: dict[str, tuple[Any, list[str]]] = {
    "title": ("Dreams", ["Dreams"]),
    "text": ("Three", ["Three"]),
    "is_on": (False, []),
    "colour": ("b", ["b"]),
    "several": (["b"], ["b"]),
    "n": (4, ["4"]),
}


def page_of(stored: dict[str, Any]) -> tuple[str, dict[str, list[str]]]:
    """The values that a browser sends when nobody touches the form."""
    form = Settings(initial=stored)
    values = {name: as_sent(form.fields[name], form.stored(name)) for name in stored}
    return form.stamped, {name: value for name, value in values.items() if value}


def post(opened: str | None, values: dict[str, list[str]], stored: dict[str, Any]) -> Settings:
    data = QueryDict(mutable=True)
    for name, texts in values.items():
        data.setlist(name, [text.replace("\n", "\r\n") for text in texts])
    if opened is not None:
        data["opened"] = opened
    return Settings(data, initial=stored)


@given(VALUES, VALUES, VALUES)
def test_a_value_is_lost_by_nobody(opened: list[str], stored: list[str], sent: list[str]) -> None:
    whose = merge(digest(opened), stored, sent).name
    result = {"STORED": stored, "SENT": sent}.get(whose)
    if stored == opened:
        assert result == sent  # mine alone
    elif sent in (opened, stored):
        assert result == stored  # theirs alone, or both the same
    else:
        assert result is None
    assert (merge(None, stored, sent).name == "LOST") == (stored != sent)


def test_a_form_that_nobody_touches_changes_nothing_whatever_it_shows() -> None:
    opened, values = page_of(START)
    form = post(opened, values, START)
    assert form.is_valid(), form.errors
    assert {name: form.cleaned_data[name] for name in START} == START
    later = {name: other for name, (other, _sent) in OTHER.items()}
    form = post(opened, values, later)
    assert form.is_valid(), form.errors
    assert {name: form.cleaned_data[name] for name in START} == later
    assert len(form.kept) == len(START)


@pytest.mark.parametrize("mine", OTHER)
@pytest.mark.parametrize("theirs", OTHER)
def test_each_ones_change_survives_or_is_a_conflict(mine: str, theirs: str) -> None:
    opened, values = page_of(START)
    values[mine] = OTHER[mine][1]
    stored = START | {theirs: OTHER[theirs][0]}
    form = post(opened, values, stored)
    # The same change twice is none
    assert form.is_valid(), form.errors
    assert {n: form.cleaned_data[n] for n in START} == stored | {mine: OTHER[mine][0]}


@pytest.mark.parametrize("name", ["title", "text", "n", "several"])
def test_a_conflict_is_shown_kept_or_given_up(name: str) -> None:
    opened, values = page_of(START)
    third: dict[str, Any] = {"title": "Rest", "text": "Four", "n": 5, "several": []}
    values[name] = OTHER[name][1]
    stored = START | {name: third[name]}
    form = post(opened, values, stored)
    assert not form.is_valid()
    (conflict,) = form.conflicts
    assert conflict.mine == said(form.fields[name], OTHER[name][1])
    assert conflict.now == said(form.fields[name], as_sent(form.fields[name], third[name]))
    assert as_sent(form.fields[name], form[name].value()) == OTHER[name][1]  # mine is not lost
    # Sent once more, with what this page says
    again = post(form.stamped, values, stored)
    assert again.is_valid(), again.errors
    assert again.cleaned_data[name] == OTHER[name][0]
    given_up = post(form.stamped, values | {conflict.keep: ["theirs"]}, stored)
    assert given_up.is_valid(), given_up.errors
    assert given_up.cleaned_data[name] == third[name]
    # Unless somebody has changed it once more
    later = {"n": 77, "title": "X", "text": "Y", "several": ["r"]}
    assert not post(form.stamped, values, START | later).is_valid()


@pytest.mark.parametrize("opened", [None, "", "undefined", "title=short"])
def test_a_form_that_does_not_say_what_it_saw_overwrites_nothing(opened: str | None) -> None:
    _opened, values = page_of(START)
    assert post(opened, values, START).is_valid()
    form = post(opened, values | {"title": ["Mine"]}, START)
    assert not form.is_valid()
    assert [conflict.label for conflict in form.conflicts] == ["Title"]
    assert form.unopened
    assert post(form.stamped, values | {"title": ["Mine"]}, START).is_valid()


def test_a_field_that_the_page_did_not_have_keeps_its_value() -> None:
    opened, values = page_of(START)
    known = read_stamp(opened) or {}
    older = " ".join(f"{n}={d}" for n, d in known.items() if n not in ("is_on", "n"))
    form = post(older, {n: v for n, v in values.items() if n not in ("is_on", "n")}, START)
    assert form.is_valid(), form.errors
    assert (form.cleaned_data["is_on"], form.cleaned_data["n"]) == (True, 3)


def test_changes_of_a_field_that_cannot_change_any_more_are_reported() -> None:
    opened, values = page_of(START)
    form = post(opened, values | {"title": ["Mine"]}, START)
    form.fields["title"].disabled = True
    assert [(c.label, c.mine, c.can_keep) for c in _merged(form)] == [("Title", "Mine", False)]
    gone = post(opened, values | {"title": ["Mine"]}, START)
    del gone.fields["title"]
    assert [(c.mine, c.can_keep) for c in _merged(gone)] == [("Mine", False)]
    # Who did not touch it need not know
    untouched = post(opened, values, START)
    del untouched.fields["title"]
    assert untouched.is_valid()


def _merged(form: Settings) -> Any:
    assert not form.is_valid()
    return form.conflicts


def test_a_stamp_names_values_and_tells_none() -> None:
    written = stamp({"title": ["Sleep"], "n": []})
    assert read_stamp(written) == {"title": digest(["Sleep"]), "n": digest([])}
    assert "Sleep" not in written


def test_a_stamp_of_any_length_is_read_at_once() -> None:
    assert read_stamp("a" * 5_000_000) is None
    assert read_stamp("=" * 5_000_000) is None
