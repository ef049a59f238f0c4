"""Every form that takes a file refuses one that is larger than its own limit, unread; a request has few files and fields."""

import re
from collections.abc import Callable, Iterator

import pytest
from django import forms
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import get_resolver

from experiment.lab.item_files import UploadForm
from experiment.lab.new_study import NewStudyForm
from experiment.lab.question_files import QuestionUploadForm
from experiment.lab.question_templates import TableForm
from experiment.lab.wording import LoadForm
from experiment.models import ResearchField
from scoring.lab.choosing import ChoicesFileForm
from scoring.lab.drafting import DraftingForm
from scoring.lab.imports import ZipForm
from tests.factories import make_user

pytestmark = pytest.mark.django_db
Files = dict[str, SimpleUploadedFile]
ASKED = {"generator": "chat", "base_url": "http://localhost:9", "model": "x", "repairs": 0}
FORMS: dict[type[forms.Form], Callable[[Files], forms.Form]] = {
    QuestionUploadForm: lambda files: QuestionUploadForm({}, files, is_lead=True),
    TableForm: lambda files: TableForm({}, files),
    UploadForm: lambda files: UploadForm({}, files, is_lead=True),
    LoadForm: lambda files: LoadForm({}, files),
    NewStudyForm: lambda files: NewStudyForm({"start": "file"}, files, user=make_user("ada")),
    ChoicesFileForm: lambda files: ChoicesFileForm({}, {"import-file": next(iter(files.values()))}),
    ZipForm: lambda files: ZipForm({}, {"zip-file": next(iter(files.values()))}),
    DraftingForm: lambda files: DraftingForm(
        ResearchField.objects.create(slug="x", name="x"), ASKED, files, user=make_user("ada")
    ),
}


class Unread(SimpleUploadedFile):
    def read(self, *_: object) -> bytes:  # type: ignore[override]
        raise AssertionError("a file of this size is read")


def taking_files(form: type[forms.Form] = forms.Form) -> Iterator[type[forms.Form]]:
    for own in form.__subclasses__():
        fields = getattr(own, "base_fields", {}).values()
        if any(isinstance(field, forms.FileField) for field in fields):
            yield own
        yield from taking_files(own)


def test_every_form_that_takes_a_file_has_a_limit_of_its_own() -> None:
    assert get_resolver().url_patterns  # all views are loaded, and with them their forms
    ours = {
        form for form in taking_files() if form.__module__.split(".")[0] not in ("django", "tests")
    }
    assert ours == set(FORMS)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_beyond_the_limit_is_refused_unread(form: type[forms.Form]) -> None:
    file = Unread("x.csv", b"x")
    file.size = settings.UPLOAD_MAX_SIZE
    assert re.search("larger than|too large", str(FORMS[form]({"file": file}).errors))


def test_a_request_has_few_files_and_fields() -> None:
    assert settings.DATA_UPLOAD_MAX_NUMBER_FILES <= 100
    assert settings.DATA_UPLOAD_MAX_NUMBER_FIELDS <= 5000
