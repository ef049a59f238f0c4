"""Names: what is none is refused by every way in, and a terminal never obeys one."""

import io
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import models, transaction

from analysis.management.arguments import Bar
from experiment.models import Item, ResearchField
from lib.commands import ReportingCommand, progress, table_lines
from lib.name_fields import is_name
from lib.names import fault, printed
from scoring.models import LanguageModel
from tests.hostile_names import PRINTABLE, UNPRINTABLE

APPS = ("experiment", "scoring", "analysis")
# Lists that the site writes, of what it knows
LISTS = {"PaymentBatch", "PaymentLine"}
# As a file of texts calls one of them; a column of exports, of letters, digits and underscores
IN_ONE = {"scoring.UnscoredText.name", "experiment.SurveyQuestion.name"}
# Written by the site itself or read from its files; what only databases see; held to stricter forms by validators
OWN = {
    "format", "state", "query", "shown", "upload", "excluded_by", "flags", "stratum", "finding", "study", "actor",
    "action", "source", "prompt", "external_source", "external_id", "external_study_id", "external_session_id",
    "published_id", "sealed_code", "text", "model", "text_id", "folder", "slug", "worker", "texts", "language",
    "abstract_language", "currency", "window", "translated", "cell",
    "completion_code", "original_side", "screen_out_code", "full_code", "side", "step", "unused", "backend", "generator",
    "pay_currency", "address", "place", "kind",
}  # fmt: skip


def columns() -> list[models.Field[Any, Any]]:
    found = [
        f for app in APPS for m in apps.get_app_config(app).get_models() for f in m._meta.fields
    ]
    return [
        f
        for f in found
        if type(f) is models.CharField and not f.choices and f.max_length != 64
        if f.model.__name__ not in LISTS
    ]


def test_every_column_that_people_name_something_in_is_a_column_of_names():
    # key of a corpus, sha256 and the like have 64 letters
    unknown = {
        str(f)
        for f in columns()
        if f.name not in OWN and not f.name.endswith(("_parameter", "_url", "_address"))
    }
    assert unknown == IN_ONE


@pytest.mark.parametrize("name", UNPRINTABLE)
def test_unprintable_lines_are_invalid_names(name):
    assert fault(name) is not None
    with pytest.raises(ValidationError) as raised:
        is_name(name)
    (said,) = raised.value.messages
    assert printed(said, keep="") == said


@pytest.mark.parametrize("name", [*PRINTABLE, "Müller", "نام‌ها", "👩‍🔬", "Étude : mémoire"])  # noqa: RUF001
def test_printable_lines_are_valid_names(name):
    assert fault(name) is None


@pytest.mark.django_db
@pytest.mark.parametrize("name", [*UNPRINTABLE, " blank", "blank ", "x" * 81])
def test_no_way_of_adding_a_row_takes_another_name(name):
    with pytest.raises(ValidationError), transaction.atomic():
        ResearchField.objects.create(slug="x", name=name)
    with pytest.raises(ValidationError), transaction.atomic():
        LanguageModel.objects.bulk_create([LanguageModel(name="m", display_name=name)])
    with pytest.raises(ValidationError), transaction.atomic():
        Item.objects.get_or_create(key="k", defaults={"markup": "[[a, b]]", "generator": name})
    assert not ResearchField.objects.exists()
    assert not LanguageModel.objects.exists()


@pytest.mark.django_db
def test_rows_of_older_sites_can_still_be_changed():
    field = ResearchField.objects.create(slug="x", name="x")
    ResearchField.objects.update(name=UNPRINTABLE[0])
    field.refresh_from_db()
    field.reviews_needed = 1
    field.save()
    assert ResearchField.objects.get().reviews_needed == 1


class Prints(ReportingCommand):
    def handle(self, *args: Any, **options: Any) -> None:
        if options["json"]:
            raise CommandError(UNPRINTABLE[4])
        self.stderr.write(f"{UNPRINTABLE[4]} is scored")
        self.report({"json": False}, {}, [*UNPRINTABLE])


def test_a_name_cannot_speak_to_the_terminal():
    out = io.StringIO()
    Prints().execute(
        json=False, no_color=True, force_color=False, skip_checks=True, stdout=out, stderr=out
    )
    assert "is scored" in out.getvalue()
    assert not [c for c in out.getvalue() if not c.isprintable() and c not in "\n\t"]
    with pytest.raises(CommandError) as raised:
        Prints(stdout=out).execute(json=True, force_color=False, no_color=False, skip_checks=True)
    assert str(raised.value).isprintable()
    assert not [c for c in out.getvalue() if not c.isprintable() and c not in "\n\t"]


def test_a_bar_and_a_table_show_names_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # a bar is for terminals
    name = f"[/b] [red]{UNPRINTABLE[4]}"
    for bar in (progress(name, 1), Bar(1)):
        with bar:
            if isinstance(bar, Bar):
                bar.announce(name)
        shown = capsys.readouterr().err
        assert "[/b] [red]" in shown
        assert "title\x07" not in shown
    assert len([*table_lines([{"name": name} for name in UNPRINTABLE])]) == 1 + len(UNPRINTABLE)
