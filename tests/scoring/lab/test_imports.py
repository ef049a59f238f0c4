"""The page of imports: a ZIP is uploaded or a folder of the server chosen, a worker imports it, the page says what came of it."""

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiment.models import AuditEvent, Study
from scoring.imports.work import run
from scoring.lab.imports import ZipForm
from scoring.models import PublishedImport, ScoringRun
from tests.experiment.imports import small_copy
from tests.factories import make_user
from tests.sheets import xlsx

pytestmark = pytest.mark.django_db
PAGE = "/lab/imports/"
ASKED = {"folder": "copy", "study": "neuro", "texts": "repaired"}


@pytest.fixture
def admin() -> Client:
    user = make_user("ada")
    user.is_superuser = True
    user.save()
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    settings.IMPORTS_DIR = tmp_path / "imports"
    settings.IMPORTS_DIR.mkdir()
    (tmp_path / "secret").mkdir()
    return Path(settings.IMPORTS_DIR) / "copy"


def test_a_folder_is_imported_and_the_page_says_what_came_of_it(
    admin: Client, folder: Path
) -> None:
    assert "From a folder of the server" not in admin.get(PAGE).text
    small_copy.SmallCopy(folder).write()
    assert admin.post(f"{PAGE}start/", ASKED).status_code == 302
    job = PublishedImport.objects.get()
    page = admin.get(PAGE).text
    assert "No worker is running" in page
    assert "step 0 of 2" in page
    assert run(job).status == "finished", job.error
    assert Study.objects.filter(slug="neuro").exists()
    page = admin.get(PAGE).text
    assert all(line.strip() in page for line in job.lines if line.isascii() and "'" not in line)
    assert "/lab/studies/neuro/" in page
    started = AuditEvent.objects.get(action="work_started")
    assert (started.actor, started.details["kind"]) == ("ada", "scoring.publishedimport")


def zipped(folder: Path, top: str = "") -> SimpleUploadedFile:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in folder.rglob("*.*"):
            archive.write(path, f"{top}{path.relative_to(folder)}")
    return SimpleUploadedFile("results-main.zip", file.getvalue())


@pytest.mark.parametrize("top", ["", "brainbench_results-main/"])
def test_an_uploaded_zip_is_imported_and_kept_no_longer(
    admin: Client, folder: Path, top: str
) -> None:
    small_copy.SmallCopy(folder).write()
    sent = {"zip-file": zipped(folder, top), "zip-study": "neuro", "zip-texts": "repaired"}
    assert admin.post(f"{PAGE}upload/", sent).status_code == 302
    job = PublishedImport.objects.get()
    assert (str(job), job.status) == ("results-main.zip for neuro", "waiting")
    assert run(job).status == "finished", job.error
    assert Study.objects.get(slug="neuro").participants.exists()
    assert "/lab/studies/neuro/results/" in admin.get(PAGE).text
    assert f'href="{PAGE}">Import {job.pk}' in admin.get("/lab/").text
    job = run(PublishedImport.objects.create(folder="a.zip", upload=job.upload, slug="neuro"))
    assert job.error == "The file is no longer stored. Upload it again."


def test_the_error_about_a_zip_names_the_missing_file_and_no_server_path(
    admin: Client, folder: Path
) -> None:
    folder.mkdir()
    (folder / "other.csv").write_text("a\n")
    for content, said in ((zipped(folder), "results-main.zip"), (b"no zip", "is not a ZIP")):
        file = SimpleUploadedFile("x.zip", content) if isinstance(content, bytes) else content
        sent = {"zip-file": file, "zip-study": "neuro", "zip-texts": "repaired"}
        admin.post(f"{PAGE}upload/", sent)
        job = run(PublishedImport.objects.latest("pk"))
        assert job.status == "failed"
        assert said in job.error
        assert "/tmp" not in job.error
    assert not Study.objects.exists()


def test_a_zip_that_is_too_large_is_not_kept(
    admin: Client, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ZipForm.base_fields["file"], "most_bytes", 10)
    sent = {"zip-file": SimpleUploadedFile("x.zip", b"0123456789a"), "zip-study": "neuro"}
    answer = admin.post(f"{PAGE}upload/", sent | {"zip-texts": "repaired"})
    assert (answer.status_code, PublishedImport.objects.count()) == (422, 0)


@pytest.mark.parametrize("name", ["../secret", "/etc", "", ".", "copy/..", "none"])
def test_only_what_lies_in_the_folder_for_imports_can_be_chosen(
    admin: Client, folder: Path, name: str
) -> None:
    small_copy.SmallCopy(folder).write()
    answer = admin.post(f"{PAGE}start/", ASKED | {"folder": name})
    assert (answer.status_code, PublishedImport.objects.count()) == (422, 0)
    job = run(PublishedImport.objects.create(folder=name, slug="neuro", texts="repaired"))
    assert job.status == "failed"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("letters.jsonl", b'{"text": "Four score and seven years ago."}\n'),
        ("letters.xlsx", xlsx({"Letters": [("Text",), ("Four score and seven years ago.",)]})),
    ],
)
def test_a_model_is_asked_to_read_a_file_of_reference_texts(
    admin: Client, folder: Path, name: str, content: bytes
) -> None:
    (folder.parent / name).write_bytes(content)
    asked = {"file": name, "model": "embedded", "anchor": "on"}
    for _ in range(2):  # the same again is the same run
        assert admin.post(f"{PAGE}corpus/", asked).status_code == 302
    scoring = ScoringRun.objects.get()
    assert (scoring.corpus, scoring.is_anchor, scoring.status) == ("letters", True, "waiting")
    assert "letters" in admin.get("/lab/work/").text
    for wrong in ({"file": "../secret_key"}, {"model": "hf", "model_args": "pretrained=/etc"}):
        answer = admin.post(f"{PAGE}corpus/", asked | wrong)
        assert (answer.status_code, ScoringRun.objects.count()) == (422, 1)
