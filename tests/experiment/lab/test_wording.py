"""Texts of participants' pages in a study's own words: one by one, and as a file."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiment.lab.wording import number_of
from experiment.models import Study
from experiment.services.study_language import participant_texts
from lib import po

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


def test_what_is_typed_is_previewed_before_it_is_saved(ruth: Client, study: Study) -> None:
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
    study.texts.all().delete()
    assert load(ruth, content).status_code == 302
    for wrong, words in (
        (b"\xff", "not UTF-8"),
        (b"hello", "Line 1 does not belong"),
        (b"x" * 1_100_000, "larger than 1 MB"),
    ):
        response = load(ruth, wrong)
        assert response.status_code == 422
        assert words in str(response.context["form"].errors)
    assert list(study.texts.values_list("forms", flat=True)) == [["No"]]
