"""Files in Markdown and PDF about a study in which every name is hostile: they are words, wherever they stand."""

import io
import zipfile
from itertools import cycle
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pypdf import PdfReader

from experiment.domain.release import DATA_SET, Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Item, ResearchField, Study
from experiment.services.export.files import export_trials
from experiment.services.item_files import HUGGING_FACE, Wanted, download
from tests.factories import (
    make_channel,
    make_item,
    make_participant,
    make_study,
    make_survey,
    make_user,
)
from tests.hostile import payloads
from tests.hostile_names import EVERY, PRINTABLE
from tests.markdown_pages import wrong

pytestmark = pytest.mark.django_db
NAMES = (*EVERY, *payloads(longest=60))


@pytest.fixture
def study() -> Study:
    study, names = make_study(human=8, machine=4), cycle(NAMES)
    for n in range(12):
        make_channel(study, f"way-{n}")
        make_user(f"user-{n}", study)
    labels = [name[:200] for name in PRINTABLE if name.strip() == name and name][:8]
    make_survey(study, "choice", text="\n".join(NAMES)[:1000], parts={"labels": [*labels, "other"]})
    make_survey(study, "scale", parts={"points": 5, "low": "*a*|b", "high": "<b>c</b>"})
    make_participant(study)
    for model in (type(study.channels.first()), Item):
        for row in model.objects.all():
            fields = ("label",) if hasattr(row, "label") else ("subfield", "generator", "field")
            model.objects.filter(pk=row.pk).update(**{f: next(names)[:80] for f in fields})
    for user in study.members.all():
        type(user).objects.filter(pk=user.pk).update(username=next(names), first_name=next(names))
    texts = ("title", "field", "contact", "briefing", "debriefing")
    Study.objects.update(
        **{name: "\n".join(NAMES) if "brief" in name else next(names) for name in texts}
    )
    Study.objects.update(ethics_number=NAMES[17], ethics_body=NAMES[16], ethics_contact=NAMES[5])
    Study.objects.update(title=PRINTABLE[5])
    study.refresh_from_db()
    return study


@pytest.mark.parametrize("name", ["preregistration", "data-management"])
def test_documents_hold_names_as_words(client: Client, study: Study, name: str) -> None:
    client.force_login(make_user("ada", is_superuser=True, is_staff=True))
    found: dict[str, Any] = {
        form: client.get(reverse("lab:document", args=["memory", name, form]))
        for form in ("md", "pdf")
    }
    text = found["md"].content.decode()
    assert "script>pwned(1)" in text
    assert wrong(text) == []
    document = PdfReader(io.BytesIO(found["pdf"].content))
    assert not {"/OpenAction", "/AA", "/Names"} & {*document.trailer["/Root"]}
    links = [a.get_object() for page in document.pages for a in page.get("/Annots", ())]
    assert not [link for link in links if "pwned" in str(link) or "evil.example" in str(link)]


def test_the_readme_of_an_export_holds_names_as_words(study: Study) -> None:
    file = io.BytesIO()
    export_trials(study, TrialQuery(), file, Form(format=DATA_SET))
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        texts = {name: archive.read(name).decode() for name in names if name.endswith(".md")}
    assert len(texts) >= 3
    assert {name: found for name, text in texts.items() if (found := wrong(text))} == {}
    # Whatever a study is called, unpacking writes below one folder
    assert not [name for name in names if name.startswith("/") or ".." in name or "\\" in name]


@pytest.mark.parametrize("name", NAMES[::7])
def test_a_data_card_holds_names_as_words(name: str) -> None:
    field = ResearchField.objects.create(slug="x", name="x")
    item = make_item("one", field="x")
    ResearchField.objects.update(name=name[:80])
    Item.objects.filter(pk=item.pk).update(field=name[:80], subfield=name[:80], generator=name[:80])
    field.refresh_from_db()
    with zipfile.ZipFile(io.BytesIO(download(Wanted(field, HUGGING_FACE)))) as archive:
        _, head, body = archive.read("README.md").decode().split("---\n", 2)
    assert wrong(body) == []
    assert "<" not in head
