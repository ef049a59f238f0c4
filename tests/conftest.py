"""What all tests share: the published data, a browser, and the rule that nothing is skipped in CI."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FORBID_SKIPS = os.environ.get("FORBID_SKIPS", "") not in ("", "0")
FIXTURE_MARKS = {"browser": "browser", "shared_dir": "shared"}
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

_skipped: list[str] = []


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of published data: $SHARED_DATA, else `shared` beside the repository."""
    folder = Path(os.environ.get("SHARED_DATA") or ROOT.parent / "shared")
    if not (folder / "brainbench_results").is_dir():
        pytest.skip(f"the published data are not at {folder}: name their folder with SHARED_DATA")
    return folder


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for the whole run; each test opens its own context in it."""
    finder = [sys.executable, str(ROOT / "scripts" / "find_browser.py")]
    found = subprocess.run(finder, capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip(found.stderr.strip())
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=found.stdout.strip(), args=CHROMIUM_ARGS
        )
        yield chromium
        chromium.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the fixtures they use; leave out those about the other database."""
    other = "postgres" if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3") else "sqlite"
    left_out = []
    for item in items:
        for fixture, mark in FIXTURE_MARKS.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)
        if item.get_closest_marker(other):
            left_out.append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that was skipped; an expected failure is none."""
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a whole module that was skipped."""
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With FORBID_SKIPS=1 a run that skipped anything has failed."""
    if FORBID_SKIPS and _skipped and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was skipped against the rule."""
    if FORBID_SKIPS and _skipped:
        terminalreporter.section("skipped although FORBID_SKIPS=1", red=True)
        for name in _skipped:
            terminalreporter.line(name)
