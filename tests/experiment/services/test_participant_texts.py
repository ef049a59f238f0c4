"""A study's pages in its language and its own words; what is not translated is English, and listed."""

import io
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.utils.translation import get_language, gettext, ngettext

from experiment.models import Study
from experiment.services.study_language import (
    load_texts,
    participant_texts,
    speaking,
    untranslated,
)
from lib.po import Message, read
from tests.factories import make_study

pytestmark = pytest.mark.django_db
AGREE = "I agree and want to take part"
RIGHT = "<strong>Abstract %(n)s: right.</strong> You chose side %(side)s, the original."


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open", language="tr")


def test_a_study_speaks_its_own_words_and_leaves_others_alone(study: Study, client: Client) -> None:
    load_texts(study, [Message(AGREE, ("Kabul ediyorum",))])
    page = client.get(study.get_absolute_url()).content.decode()
    assert '<html lang="tr" dir="ltr">' in page
    assert "Kabul ediyorum" in page
    assert "I do not agree" in page  # no translation: English
    assert get_language() == "en"
    other = make_study("other", recruitment="open")
    assert AGREE in client.get(other.get_absolute_url()).content.decode()


def test_a_language_that_no_catalogue_knows_reads_from_right_to_left_where_it_should(
    study: Study, client: Client
) -> None:
    for language, direction in (("ar", "rtl"), ("ps", "rtl"), ("he-IL", "rtl"), ("gsw", "ltr")):
        Study.objects.filter(pk=study.pk).update(language=language)
        page = client.get(study.get_absolute_url()).content.decode()
        assert f'<html lang="{language.lower()}" dir="{direction}">' in page


def test_plural_forms_follow_the_language(study: Study) -> None:
    key, plural = next((m.source, m.plural) for m in participant_texts() if m.plural)
    Study.objects.filter(pk=study.pk).update(language="pl")
    study.refresh_from_db()
    study.texts.create(source=key, forms=["one", "few", "many", "other"])
    with speaking(study):
        assert [ngettext(key, plural, n) for n in (1, 3, 5)] == ["one", "few", "many"]


@pytest.mark.parametrize(
    ("source", "form", "reason"),
    [
        ("No such text", "Yok", "not a text of the participants"),
        (RIGHT, "<strong>%(n)s</strong>", "its placeholders differ"),
        (RIGHT, "%(n)s %(side)s", "its tags differ"),
        (RIGHT, "<strong>%(n)s</strong> %(side)s <script>", "its tags differ"),
        (AGREE, "a < b", "its tags differ"),
        (AGREE, "I \x00agree", "a character that cannot"),
        (AGREE, "I \ud800agree", "a character that cannot"),
    ],
)
def test_a_text_that_would_break_the_page_is_left_out(
    study: Study, source: str, form: str, reason: str
) -> None:
    loaded = load_texts(study, [Message(source, (form,)), Message("Continue", ("Devam",))])
    (problem,) = loaded.problems
    assert problem.source == source
    assert reason in str(problem)
    assert list(study.texts.values_list("source", flat=True)) == ["Continue"]


def test_the_first_of_two_translations_of_a_text_is_taken(study: Study) -> None:
    loaded = load_texts(study, [Message("Continue", ("Devam",)), Message("Continue", ("Haydi",))])
    assert (loaded.n, [p.reason for p in loaded.problems]) == (1, ["it is a repetition"])
    assert study.texts.get().forms == ["Devam"]


def test_translators_get_a_file_and_give_it_back(study: Study, tmp_path: Path) -> None:
    file = tmp_path / "tr.po"
    call_command("participant_texts", study.slug, write=file, stdout=io.StringIO())
    assert len(list(read(file.read_text()))) == len(participant_texts())
    n_before = len(untranslated(study))
    # A word of the study's own, in the form that translators' tools write
    text = file.read_text().replace(
        'msgid "Continue"\nmsgstr ""', 'msgid "Continue"\nmsgstr "Devam"'
    )
    file.write_text(text, encoding="utf-8-sig")
    out = io.StringIO()
    call_command("participant_texts", study.slug, load=file, stdout=out)
    assert "its own wording for 1 texts" in out.getvalue()
    assert f"{n_before - 1} texts are shown in English" in out.getvalue()
    with speaking(study):
        assert gettext("Continue") == "Devam"


def test_the_german_translation_is_whole_and_breaks_no_page() -> None:
    """A new or changed text of a page needs its line in locale/de.po."""
    file = settings.BASE_DIR / "locale" / "de.po"
    messages = list(read(file.read_text(encoding="utf-8")))
    study = make_study(language="de")
    translated = {message.key for message in messages if message.is_translated}
    assert {m.key for m in participant_texts()} - translated == set(), "missing in locale/de.po"
    assert translated - {m.key for m in participant_texts()} == set(), "no longer on any page"
    assert load_texts(study, messages).problems == ()
    assert not study.texts.exists()  # what is built in is not stored again
    assert untranslated(study) == untranslated(make_study("english", language="en-GB")) == []


def test_a_study_is_set_up_in_its_language() -> None:
    study = make_study(language="de")
    assert "freiwillig" in study.consent.text
    assert "Abstracts" in study.briefing
    assert get_language() == "en"
