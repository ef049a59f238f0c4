"""No file that a page takes holds up the site: whatever it unpacks to, another process reads it, and the answer says why it was refused."""

import ast
import re
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from django import forms
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver, reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.lab.item_files import UploadForm
from experiment.lab.new_study import NewStudyForm
from experiment.lab.question_files import QuestionUploadForm
from experiment.lab.question_templates import TableForm
from experiment.lab.routes import Route, routes
from experiment.lab.wording import LoadForm
from experiment.models import ResearchField, Study
from experiment.services.questions import save_template
from lib import confined
from scoring.imports.work import run
from scoring.lab.choosing import ChoicesFileForm
from scoring.lab.drafting import DraftingForm
from scoring.lab.imports import ZipForm
from scoring.models import PublishedImport
from tests.api_client import Program
from tests.config.bombs import BOMBS, MB, UNPICKLED, bomb
from tests.config.rights_examples import address, arguments
from tests.config.test_code_security import sources
from tests.config.test_upload_limits import ASKED, taking_files
from tests.factories import make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
MEMORY = 256 * MB  # that this process may take while it answers: a file of 30 MB, a few times


@dataclass(frozen=True)
class Site:
    client: Client
    field: ResearchField
    study: Study
    template: int


@pytest.fixture
def site() -> Site:
    client, boss = Client(), make_user("boss", is_superuser=True, is_staff=True)
    client.force_login(boss)
    field = make_research_field("cooking", lead=boss)
    rules = [{"when": "", "answer": "{{ a }}"}]
    template = save_template(field, "t", "Is it {{ a }}?", rules, {}, by=boss)
    return Site(client, field, make_study(human=1, machine=1, catch=1), template.pk)


Send = Callable[[Site, SimpleUploadedFile], list[str]]


def answered(site: Site, answer: HttpResponse) -> str:
    """The page that comes of it."""
    if answer.status_code == 302:
        answer = site.client.get(answer["Location"])
    assert answer.status_code in (200, 409, 422), answer.status_code
    return re.sub(r"\s+", " ", answer.content.decode())


def by_page(name: str, *of: str, file: str = "file", **fields: Any) -> Send:
    """Sent to a page whose address names these of the site."""

    def send(site: Site, sent: SimpleUploadedFile) -> list[str]:
        args = {"field": site.field.slug, "study": site.study.slug, "pk": site.template}
        address = reverse(f"lab:{name}", args=[args[each] for each in of])
        return [answered(site, site.client.post(address, {file: sent, **fields}))]

    return send


def imported(site: Site, sent: SimpleUploadedFile) -> list[str]:
    """By the worker, which looks into it."""
    asked = {"zip-file": sent, "zip-study": "bomb", "zip-texts": "repaired"}
    page = answered(site, site.client.post(reverse("lab:imports_upload"), asked))
    job = PublishedImport.objects.filter(slug="bomb").last()
    if job is None:  # an empty file
        return [page]
    run(job)
    assert job.status == job.Status.FAILED
    return [job.error]


def named(*endings: str, send: Send) -> Send:
    """As a file of each of these kinds."""

    def each(site: Site, sent: SimpleUploadedFile) -> list[str]:
        data = sent.read()
        return [
            page
            for ending in endings
            for page in send(site, SimpleUploadedFile(f"bomb{ending}", data))
        ]

    return each


CHOICES = by_page(
    "choosing_upload", "study", file="import-file", **{"import-name": "m", "import-prompt": ""}
)
ROUTES: Mapping[type[forms.Form], Send] = {
    UploadForm: by_page("import_send", "field"),
    QuestionUploadForm: by_page("question_import", "field"),
    TableForm: by_page("question_template", "field", "pk"),
    LoadForm: by_page("setup_wording_load", "study"),
    NewStudyForm: by_page("new_study", start="file"),
    ChoicesFileForm: named(".jsonl", ".eval", ".json", ".xlsx", send=CHOICES),
    DraftingForm: by_page("drafting_start", "field", pasted="", **ASKED),
    ZipForm: imported,
}
# Of each form the files that its own readers take to be theirs; the others are tried in the sweep
OWN: Mapping[type[forms.Form], set[str]] = {
    UploadForm: {
        "500,000 columns",
        "199,000 wrong rows",
        "a Parquet file of one number",
        "a sheet of one text",
    },
    QuestionUploadForm: {"199,000 rows", "lines of brackets", "numbers of many digits"},
    TableForm: {
        "lines with names of their own",
        "a Parquet file of one text",
        "a sheet of two cells",
    },
    LoadForm: {"a plural that is computed"},
    NewStudyForm: {"a study of brackets", "brackets within brackets"},
    ChoicesFileForm: {
        "a log of brackets",
        "an object of brackets",
        "a log in Zstandard",
        "a sheet of one text",
    },
    DraftingForm: {"500,000 columns"},
    ZipForm: {"a ZIP of many names", "arrays that claim much"},
}
CASES = [
    pytest.param(
        form, name, id=f"{form.__name__}: {name}",
        marks=() if name in OWN[form] else pytest.mark.sweep,
    )
    for form in ROUTES for name in BOMBS
]  # fmt: skip


@contextmanager
def little_memory() -> Iterator[None]:
    """Memory of this process beyond MEMORY raises MemoryError; the one that reads the file has limits of its own."""
    if sys.platform != "linux":
        yield
        return
    (kb,) = re.findall(r"VmData:\s+(\d+)", Path("/proc/self/status").read_text())
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (int(kb) * 1024 + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The size of each file that another process read."""
    sizes: list[int] = []
    start = confined._run

    def counted(asked: Any, *how: Any) -> None:
        sizes.append(asked.seek(0, 2))
        asked.seek(0)
        start(asked, *how)

    monkeypatch.setattr(confined, "_run", counted)
    return sizes


def rows() -> dict[str, int]:
    names = ("Item", "Study", "StudyText", "Participant", "ChoiceRun", "DraftingRun")
    models = [model for model in apps.get_models() if model.__name__ in names]
    assert len(models) == len(names)
    return {model.__name__: model.objects.count() for model in models}  # type: ignore[attr-defined]


def test_every_form_that_takes_a_file_is_tried() -> None:
    assert get_resolver().url_patterns  # all views are loaded, and with them their forms
    ours = {
        form for form in taking_files() if form.__module__.split(".")[0] not in ("django", "tests")
    }
    assert ours == set(ROUTES)
    assert {name for names in OWN.values() for name in names} <= {*BOMBS}


@pytest.mark.parametrize(("form", "name"), CASES)
def test_a_file_that_takes_much_is_refused_and_read_elsewhere(
    site: Site, form: type[forms.Form], name: str, readings: list[int], tmp_path: Path
) -> None:
    unpickled = tmp_path / "unpickled"
    before, data = rows(), bomb(name).replace(UNPICKLED, bytes(unpickled))
    with little_memory():
        pages = ROUTES[form](site, SimpleUploadedFile("bomb.bin", data))
    assert rows() == before
    assert not unpickled.exists()
    assert all(map(len, pages))
    assert max(map(len, pages)) < MB
    # By nobody where it is too large for its form, or no text where that is asked for
    unread = re.compile("larger than|too large|not UTF-8")
    assert readings or all(map(unread.search, pages))


def test_a_page_says_what_is_too_much(site: Site) -> None:
    def said(form: type[forms.Form], name: str) -> str:
        pages = ROUTES[form](site, SimpleUploadedFile("bomb.eval", bomb(name)))
        return " ".join(pages)

    assert "500,000 columns, but at most 1,000" in said(UploadForm, "500,000 columns")
    assert "more than 20,000 rows" in said(UploadForm, "199,000 wrong rows")
    assert "4,000,000 cells" in said(UploadForm, "a Parquet file of one number")
    assert re.search(r"bomb.eval: Reading the file needs more than 40\d MB of memory",
                     said(ChoicesFileForm, "a log of brackets"))  # fmt: skip


def test_the_first_of_many_wrong_rows_are_named_and_the_others_counted(site: Site) -> None:
    wrong = b"question,answer\n" + b"Q?,\n" * 19_000
    (page,) = ROUTES[QuestionUploadForm](site, SimpleUploadedFile("a.csv", wrong))
    assert "… and 18,000 more problems" in page
    assert page.count("is empty") <= 50


BODIES = {
    "deep": b"[" * 500_000 + b"]" * 500_000,
    "deep object": b'{"a":' * 150_000,
    "flat": b"[" + b"[]," * 340_000 + b"[]]",
    "a field of brackets": b'{"model": [' + b"{}," * 340_000 + b"{}]}",
    "many fields": b"{" + b",".join(b'"%d":0' % n for n in range(90_000)) + b"}",
    "one number": b"1" * MB,
}


def api_posts() -> list[Route]:
    return [r for r in routes() if r.address.startswith("api/") and "POST" in r.methods]


@pytest.mark.parametrize("body", BODIES)
def test_a_body_of_brackets_is_refused_by_every_address_of_the_api_that_takes_one(
    site: Site, body: str
) -> None:
    program = Program(make_user("ruth", site.study, is_superuser=True))
    with_body = 0
    for route in api_posts():
        path = address(route, arguments(route, site.study)).removeprefix("/api/v1/")
        with little_memory():
            answer = program.post(path, BODIES[body])
        assert answer.status_code < 500, (route.address, answer.status_code)
        with_body += answer.status_code == 400
        assert len(answer.content) < MB / 10
    assert with_body


def test_a_form_of_many_parts_is_refused(site: Site) -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="%s"%s\r\n\r\n[\r\n'
    for name, file, n in ((b"a", b"", 200_000), (b"file", b'; filename="a"', 100_000)):
        body = part % (name, file) * n + b"--b--\r\n"
        with little_memory():
            answer = site.client.post(
                reverse("lab:question_import", args=[site.field.slug]),
                body,
                "multipart/form-data; boundary=b",
            )
        assert answer.status_code == 400


def test_a_page_reads_one_file_of_an_account_at_a_time(site: Site) -> None:
    """However many windows send one, others' files wait for one of them at most."""
    other = Client()
    other.force_login(make_user("other", is_superuser=True, is_staff=True))
    send, account = ROUTES[UploadForm], site.client.session["_auth_user_id"]
    with confined._queue._place(account):
        (mine,) = send(site, SimpleUploadedFile("a.csv", b"key,markup\na,It rose.\n"))
        (theirs,) = send(
            replace(site, client=other), SimpleUploadedFile("a.csv", b"key,markup\na,It rose.\n")
        )
    assert confined.OWN_FILE in mine
    assert confined.OWN_FILE not in theirs


# What reads a file's bytes, or the files of a folder
READERS = {
    "experiment.imports.read.rows": {"read_rows", "read_known"},
    "experiment.imports.read.items": {"read_items"},
    "experiment.imports.read.questions": {"read_questions"},
    "experiment.imports.read.filled": {"fill_table"},
    "experiment.imports.read.brainbench": {"read_published"},
    "scoring.imports.read.published": {"read_results"},
    "scoring.imports.read.everything": {"read_everything"},
    "scoring.training.corpus.read.reference": {"read_texts"},
    "scoring.domain.choosing.files": {"read_choices"},
    "scoring.domain.answer_tables": {"table_rows"},
    "scoring.domain.choosing.inspect_logs": {"read_log"},
    "lib.json_bounds": {"check_json"},
    "lib.zips": {"unpack"},
    "lib.po": {"read"},
    "lib.spreadsheets": {"read_sheet"},
}
# They run in the other process, read what the site itself wrote, or are told that a file is small
MAY_READ = re.compile(r"/read/|/domain/|lib/(zips|po|json_bounds)\.py|services/study_language\.py")


def test_code_that_serves_pages_or_commands_calls_no_reader_itself() -> None:
    """It hands them to `confined`, also where a page names a folder of the server."""
    found, there = [], set()
    for path, tree in sources("lib", "experiment", "scoring"):
        names = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name in READERS.get(node.module or "", ())
        }
        module = path.removesuffix(".py").replace("/", ".")
        there |= {(module, n.name) for n in tree.body if isinstance(n, ast.FunctionDef)}
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        if not MAY_READ.search(path):
            found += [f"{path}: {name}" for name in sorted(called & names)]
            found += [f"{path}: po.read"] * ("po.read" in called)
    assert {(module, name) for module, names in READERS.items() for name in names} <= there
    assert found == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)  # fmt: skip


@pytest.mark.parametrize("form", ROUTES)
@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | JSON.map(repr).map(str.encode)
)
def test_every_upload_is_answered(site: Site, form: type[forms.Form], data: bytes) -> None:
    assert all(map(len, ROUTES[form](site, SimpleUploadedFile("a.bin", data))))
