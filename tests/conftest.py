"""Shared by all tests: the published data, a browser, and the rule that nothing is skipped in CI."""

import gc
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase
from hypothesis import settings as hypothesis_settings
from moto.server import ThreadedMotoServer
from playwright.sync_api import Browser, Playwright, sync_playwright
from pytest_django.plugin import blocking_manager_key
from xdist.scheduler import LoadFileScheduling

from lib.commands import ReportingCommand
from scoring.backends.http import address
from tests import databases, forms, published

ROOT = Path(__file__).resolve().parent.parent

# Machines differ: a slow one is no failure
hypothesis_settings.register_profile("any machine", deadline=None)
hypothesis_settings.load_profile("any machine")
FORBID_SKIPS = os.environ.get("FORBID_SKIPS", "") not in ("", "0")
# As tests/settings.py says, in processes that tests start
os.environ.setdefault("ONE_ROOM", "1")
SWEEP = os.environ.get("SWEEP", "") not in ("", "0")
# One worker takes all of these: torch needs seconds and 400 MB
TORCH = tuple(
    f"tests/scoring/{folder}/"
    for folder in ("backends/causal_lm", "demo_lm", "lm_eval", "services/training", "training/lm")
)
# Files that take long come first: at the end no worker has much left while others have nothing
LONG = tuple(
    f"tests/{folder}/"
    for folder in (
        "browser",
        "scoring/processes",
        "analysis/report",
        "analysis/management",
        "config",
        "analysis/lab",
    )
)
FIXTURE_MARKS = {"browser": "browser", "engine": "browser", "shared_dir": "shared"}
FIREFOX_ESR = ROOT / "tests" / "browser" / "firefox_esr.cjs"
CHROMIUM_ARGS = [
    "--no-sandbox",  # in CI's containers the tests run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    # Chromium's own errands are no part of a test, and may have no network to run in
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Playwright's loop lives in the tests' thread, where Django would then refuse every query.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

# A command that prints other keys than it declares fails its tests
ReportingCommand.is_checked = True

# Small models are scored on one core: torch's threads only wait for each other where tests run side by side.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# After a test whose writes were seen by others, nothing is rolled back
TransactionTestCase._fixture_teardown = databases.empty
BaseDatabaseWrapper.savepoint_commit = databases.end_savepoint

# Other tests in browsers set up rows by themselves
COUNTED = re.compile(r"/tests/(experiment/|browser/test_(interruptions|whole_test)\.py)")

_skipped: list[str] = []


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """Makes the log of a test fit for another process: it goes there as UTF-8, which has no halves of characters."""
    outcome: Any = yield
    report = outcome.get_result()
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    forget()


@pytest.fixture(autouse=True)
def _no_list_without_a_database(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Backends ask the site's list of servers, which a test without a database does not have."""
    has_rows = request.node.get_closest_marker("django_db") is not None
    if not has_rows and not {"db", "transactional_db"} & set(request.fixturenames):
        monkeypatch.setattr(address, "LISTED", [])


def forget() -> None:
    """The ids of an earlier test come again: what a process keeps by them is forgotten."""
    if kept := sys.modules.get("lib.fast.kept"):
        kept.forget()
    if duration := sys.modules.get("experiment.services.counts"):
        duration.forget_durations()
    if channels := sys.modules.get("experiment.services.channels"):
        channels.forget()
    if survey := sys.modules.get("experiment.services.survey"):
        survey.forget()
    if drawing := sys.modules.get("experiment.services.drawing"):
        drawing.known_item.cache_clear()
    if study_language := sys.modules.get("experiment.services.study_language"):
        study_language.own_texts.cache_clear()
    if cache := sys.modules.get("django.core.cache"):
        cache.cache.clear()


@pytest.fixture
def client() -> forms.Browser:
    return forms.Browser()


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of published data: $SHARED_DATA, else `shared` beside the repository."""
    folder = Path(os.environ.get("SHARED_DATA") or ROOT.parent / "shared")
    if not (folder / "brainbench_results").is_dir():
        pytest.skip(f"the published data are not at {folder}: name their folder with SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def results_dir(shared_dir: Path) -> Path:
    return shared_dir / "brainbench_results"


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all workers of this run share."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, run_folder: Path, django_db_blocker: Any
) -> None:
    """Before a worker's database is made."""
    with django_db_blocker.unblock():
        databases.migrate_once(run_folder)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A browser that is still open keeps a thread of the last test's site, and so its session of the database."""
    yield
    with django_db_blocker.unblock():
        databases.end_other_sessions()


@pytest.fixture(scope="module")
def imported(
    results_dir: Path, run_folder: Path, django_db_setup: None, django_db_blocker: Any
) -> Iterator[dict[str, Any]]:
    """The report of an import that all tests of a module start from."""
    with django_db_blocker.unblock(), published.imported(results_dir, run_folder) as report:
        yield report


@pytest.fixture(autouse=True)
def counters_say_what_the_rows_do(request: pytest.FixtureRequest) -> Iterator[None]:
    """Checks them after each test of participants: faults, copies of requests, kills, withdrawals, other rules, imports."""
    names, node = set(request.fixturenames), request.node
    has_database = node.get_closest_marker("django_db") or names & {"db", "transactional_db"}
    if not has_database or not COUNTED.search(str(node.path)) or node.get_closest_marker("drifts"):
        yield
        return
    request.getfixturevalue("db")  # still there afterwards
    yield
    from experiment.models import ItemCount, Participant, PeopleCount, Study
    from experiment.services.recounting import check

    counted = (Participant, ItemCount, PeopleCount)
    studies = {pk for model in counted for pk in model.objects.values_list("study", flat=True)}
    assert check(Study.objects.filter(pk__in=studies)) == []


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_OPTIONS", f"--require {FIREFOX_ESR}")
        manager = sync_playwright()
        started = manager.start()
    yield started
    started.stop()


def find_browser(name: str) -> str:
    finder = [sys.executable, str(ROOT / "scripts" / "find_browser.py"), name]
    found = subprocess.run(finder, capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip(found.stderr.strip())
    return found.stdout.strip()


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """One Chromium for the whole run; each test opens its own context in it."""
    path = find_browser("chromium")
    with playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def firefox(playwright: Playwright) -> Iterator[Browser]:
    """One Firefox, likewise: Mozilla's, by the protocol WebDriver BiDi, or Playwright's own build."""
    path = find_browser("firefox")
    is_own = path == playwright.firefox.executable_path
    with playwright.firefox.launch(
        executable_path=path, channel=None if is_own else "moz-firefox"
    ) as firefox:
        yield firefox


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keeps all that is imported: a third of the time would go into looking through it for garbage."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they use; leave out those about the other database and slow sweeps."""
    other = "postgres" if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3") else "sqlite"
    left_out = []
    for item in items:
        for fixture, mark in FIXTURE_MARKS.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
        is_slow = item.get_closest_marker("sweep") and not SWEEP
        if item.get_closest_marker(other) or is_slow:
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    # Databases are made where a test is marked for them; without one, a fixture of the whole run would find none
    users = [item for item in items if "django_db_setup" in getattr(item, "fixturenames", ())]
    if users and not any(item.get_closest_marker("django_db") for item in items):
        users[0].add_marker("django_db")
    items.sort(
        key=lambda item: (not item.nodeid.startswith(TORCH), not item.nodeid.startswith(LONG))
    )


class ByFile(LoadFileScheduling):
    """A file's tests go to one worker, since they share fixtures."""

    def _split_scope(self, nodeid: str) -> str:
        return "torch" if nodeid.startswith(TORCH) else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    return ByFile(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that was skipped; an expected failure is none."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """With FORBID_SKIPS=1 a module that skips itself is an error: its process may not be the one that reports."""
    if report.skipped and FORBID_SKIPS:
        report.outcome, report.longrepr = "failed", "skipped although FORBID_SKIPS=1"


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With FORBID_SKIPS=1 a run that skipped anything has failed; what workers shared is removed."""
    if not hasattr(session.config, "workerinput"):
        with session.config.stash[blocking_manager_key].unblock():
            databases.forget_migrated()
    if FORBID_SKIPS and _skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was skipped against the rule."""
    if FORBID_SKIPS and _skipped:
        terminalreporter.section("skipped although FORBID_SKIPS=1", red=True)
        for name in _skipped:
            terminalreporter.line(name)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[Any]:
    """A bucket of an S3 server of the test's own, over HTTP."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "of-the-test",
        "AWS_SECRET_ACCESS_KEY": "of-the-test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    bucket = boto3.resource("s3").create_bucket(Bucket="records")
    yield bucket
    bucket.objects.delete()  # the next server of this process would hold them still
    server.stop()


@pytest.fixture
def questions_report(db: None, settings: Any, run_folder: Path) -> Any:
    """A study of questions with made-up answers and grades, and its report, computed once a run: to be read."""
    from tests import reports

    return reports.of_questions(settings, run_folder)
