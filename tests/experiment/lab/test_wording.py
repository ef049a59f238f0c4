"""Texts of participants' pages in a study's own words: one by one, and as a file."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management.base import CommandError
from django.test import Client

from experiment.lab.wording_read import MEANINGS
from experiment.models import Study
from experiment.services.study_language import number_of, participant_texts
from lib import po
from tests.experiment.lab_client import run
from tests.forms import form_at, forms_of

pytestmark = pytest.mark.django_db
URL = "/lab/studies/memory/set-up/wording/"


def built_in(start: str) -> po.Message:
    return next(m for m in participant_texts() if m.source.startswith(start))


def send(client: Client, message: po.Message, *forms: str, to: str = "") -> Any:
    sent = {f"form-{n}": form for n, form in enumerate(forms, 1)}
    number = number_of(message)
    url = to or f"{URL}{number}/"
    return client.post(url, {**sent, "number": number, "section": "wording"})


def load(client: Client, content: bytes) -> Any:
    return client.post(f"{URL}load/", {"file": SimpleUploadedFile("de.po", content)})


def test_one_text_is_reworded_and_given_back_and_one_that_lacks_a_placeholder_refused(
    ruth: Client, study: Study
) -> None:
    message = built_in("I do not agree")
    assert send(ruth, message, "No, thank you").status_code == 302
    assert "No, thank you" in ruth.get(study.get_absolute_url()).text
    assert "No, thank you" in ruth.get(f"{URL}?show=own").text
    send(ruth, message, "")
    assert not study.texts.exists()
    message = next(m for m in participant_texts() if "%(hours)s" in m.source and m.plural)
    response = send(ruth, message, "One hour", "Some hours")
    assert (response.status_code, "Some hours" in response.text) == (422, True)
    assert not study.texts.exists()


def test_texts_are_listed_as_they_are_read_and_parts_that_are_filled_in_are_explained(
    ruth: Client,
) -> None:
    listed = ruth.get(URL).context["wordings"]
    assert not [each.read for each in listed if re.search(r"%%|%\(|<\w|\{\w", each.read)]
    names = {
        name
        for each in listed
        for pair in re.findall(r"%\((\w+)\)|\{(\w+)\}", f"{each.shown}{each.message.plural}")
        for name in pair
        if name
    }
    assert names <= MEANINGS.keys()
    guess = next(each for each in listed if "50%% would" in each.shown)
    page = ruth.get(f"{URL}{guess.number}/").text
    assert "(50% would be a guess)" in page
    assert "<code>%%</code> the sign %" in page
    assert "50% would be a guess" in ruth.get(f"{URL}?q=50%25+would").text


def test_unsaved_wording_is_previewed(ruth: Client, study: Study) -> None:
    preview = "/lab/studies/memory/set-up/preview/consent/"
    for form, is_shown in (("<i>Rather not", False), ("Rather not", True)):  # a tag of its own
        shown = send(ruth, built_in("I do not agree"), form, to=preview).text
        assert ("Rather not" in shown) is is_shown
    assert not study.texts.exists()


def test_the_file_comes_back_as_it_was_written_and_one_that_is_none_is_refused(
    ruth: Client, study: Study
) -> None:
    send(ruth, built_in("I do not agree"), "No")
    content = ruth.get(f"{URL}file/").content
    assert load(ruth, content.replace(b'"No"', b'"Never"')).status_code == 302
    assert list(study.texts.values_list("forms", flat=True)) == [["Never"]]
    send(ruth, built_in("I do not agree"), "No")
    for wrong, words in (
        (b"\xff", "not UTF-8"),
        (b"hello", "Line 1 does not belong"),
        (b"x" * 1_100_000, "larger than 1 MB"),
    ):
        response = load(ruth, wrong)
        assert response.status_code == 422
        assert words in str(response.context["form"].errors)
    assert list(study.texts.values_list("forms", flat=True)) == [["No"]]


def test_two_words_for_one_text_are_both_shown_and_neither_is_lost(
    ruth: Client, study: Study
) -> None:
    message = built_in("I do not agree")
    url = f"{URL}{number_of(message)}/"
    early = form_at(ruth, url)
    assert early is not None
    assert send(ruth, message, "No, thank you").status_code == 302
    told = Client.post(ruth, url, early.filled(**{"form-1": "Never"}))
    assert told.status_code == 409
    assert all(words in told.text for words in ("No, thank you", "Never", "Changed by ruth"))
    assert list(study.texts.values_list("forms", flat=True)) == [["No, thank you"]]
    again = next(form for form in forms_of(told.text) if "form-1" in form.names)
    assert again.values["form-1"] == ["Never"]
    assert Client.post(ruth, url, again.filled()).status_code == 302
    assert list(study.texts.values_list("forms", flat=True)) == [["Never"]]
    # Who changed nothing undoes nothing
    assert Client.post(ruth, url, early.filled()).status_code == 302
    assert list(study.texts.values_list("forms", flat=True)) == [["Never"]]


def test_a_file_undoes_nothing_that_was_worded_since_it_was_written(
    ruth: Client, study: Study
) -> None:
    one, two = built_in("I do not agree"), built_in("I agree")
    send(ruth, one, "No")
    file = ruth.get(f"{URL}file/").content
    send(ruth, two, "Yes")
    # Others alone have changed it: it stays, and what the file changes comes
    assert load(ruth, file.replace(b'"No"', b'"Never"')).status_code == 302
    own = dict(study.texts.values_list("source", "forms"))
    assert own == {one.key: ["Never"], two.key: ["Yes"]}
    # Both have: nothing of the file is taken until its sender has seen it
    told = load(ruth, file.replace(b'"No"', b'"Not me"'))
    assert (told.status_code, "Changed by ruth" in told.text, "Not me" in told.text) == (
        409,
        True,
        True,
    )
    assert dict(study.texts.values_list("source", "forms")) == own
    seen = next(form for form in forms_of(told.text) if form.action.endswith("/load/"))
    again = {"file": SimpleUploadedFile("de.po", file.replace(b'"No"', b'"Not me"'))}
    assert Client.post(ruth, f"{URL}load/", again | seen.opened).status_code == 302
    assert dict(study.texts.values_list("source", "forms")) == own | {one.key: ["Not me"]}
    # A file that does not say what it was written from replaces what is built in, and asks for the rest
    bare = b"".join(line for line in file.splitlines(keepends=True) if b"X-Opened" not in line)
    assert load(ruth, bare).status_code == 409
    study.texts.all().delete()
    assert load(ruth, bare).status_code == 302
    assert dict(study.texts.values_list("source", "forms")) == {one.key: ["No"]}


def test_the_command_asks_before_it_replaces_what_others_have_worded(
    ruth: Client, study: Study, tmp_path: Path
) -> None:
    file = tmp_path / "de.po"
    send(ruth, built_in("I do not agree"), "No")
    run("participant_texts", "memory", "--write", str(file))
    send(ruth, built_in("I do not agree"), "Never")
    file.write_text(file.read_text().replace('"No"', '"Not me"'))
    with pytest.raises(CommandError, match=r"(?s)--overwrite.*Changed by ruth"):
        run("participant_texts", "memory", "--load", str(file))
    assert list(study.texts.values_list("forms", flat=True)) == [["Never"]]
    run("participant_texts", "memory", "--load", str(file), "--overwrite")
    assert list(study.texts.values_list("forms", flat=True)) == [["Not me"]]
