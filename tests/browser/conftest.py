"""Studies to take, and browsers to take them in."""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, WebError, expect

from analysis.report.chapters.accuracy.results import Accuracy
from config.policies import reports
from experiment.models import Study
from tests import databases
from tests.analysis import results_stub as stub
from tests.browser.drivers import Driver, MouseDriver
from tests.browser.sites import sign_in
from tests.browser.visitor import TEST_CLOCK, Visitor
from tests.factories import make_user

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
TIMEOUT_MS = 60_000  # a busy machine; nothing waits for it to pass

expect.set_options(timeout=TIMEOUT_MS)


# Said aloud by every page that breaks its policy, whatever a browser itself writes of it
SAY_VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) =>
  console.error("securitypolicyviolation:", event.effectiveDirective, event.blockedURI, event.sample))"""
VIOLATION = re.compile("securitypolicyviolation:|Content.Security.Policy|Trusted(HTML|Script)")
# The browser says this of every 4xx answer and every lost request; what the page does then is tested.
EXPECTED = "Failed to load resource"


@pytest.fixture(autouse=True)
def troubles(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The failures of scripts and breaches of the browser's policy, in any page of the test: none, and the site had no report of any."""
    found: list[str] = []
    open_context, n_reports = Browser.new_context, reports.n

    def note(message: ConsoleMessage) -> None:
        is_error = message.type == "error" and EXPECTED not in message.text
        if is_error or VIOLATION.search(message.text):
            found.append(f"{message.page.url if message.page else ''}: {message.text}")

    def note_failure(failure: WebError) -> None:
        found.append(f"{failure.page.url if failure.page else ''}: {failure.error}")

    def new_context(self: Browser, **options: Any) -> BrowserContext:
        context = open_context(self, **options)
        context.add_init_script(SAY_VIOLATIONS)
        context.on("console", note)
        context.on("weberror", note_failure)
        return context

    monkeypatch.setattr(Browser, "new_context", new_context)
    yield found
    assert found == []
    assert reports.n == n_reports, "a browser reported a violation"


def load_demo() -> None:
    call_command("load_demo", simulate=0, stdout=io.StringIO())


@pytest.fixture
def demo(transactional_db: None, run_folder: Path) -> Study:
    """The built-in study, which needs no published data."""
    databases.fill("demo", load_demo, run_folder)
    # What a process remembers of a study goes by this too: a copy is another study
    Study.objects.update(created_at=timezone.now())
    return Study.objects.get(slug="demo")


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Browser:
    """Chromium, or what a test names by `engines.both`."""
    found: Browser = request.getfixturevalue(getattr(request, "param", "browser"))
    return found


@pytest.fixture
def site(live_server: Any) -> Any:
    """On the test's own database; modules have sites in processes of their own."""
    return live_server


@pytest.fixture
def open_browser(engine: Browser, site: Any) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browsers that know nothing of each other; all are closed before the database is emptied."""
    opened: list[BrowserContext] = []

    def open_one(**options: Any) -> BrowserContext:
        context = engine.new_context(base_url=site.url, **(DESKTOP | options))
        context.set_default_timeout(TIMEOUT_MS)
        context.add_init_script(TEST_CLOCK)
        opened.append(context)
        return context

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def visit(open_browser: Callable[..., BrowserContext], site: Any) -> Callable[..., Visitor]:
    """Lets a visitor come to a study, in a browser of their own."""

    def come(study: Study, driver: type[Driver] = MouseDriver, **options: Any) -> Visitor:
        return Visitor(open_browser(**options).new_page(), site.url, study, driver)

    return come


@pytest.fixture
def open_as(open_browser: Callable[..., BrowserContext]) -> Callable[..., Page]:
    """Opens a page as somebody whose password is the name, in a browser of their own."""

    def open_one(name: str, path: str, **options: Any) -> Page:
        page = open_browser(**options).new_page()
        sign_in(page, name, path)
        return page

    return open_one


@pytest.fixture
def open_page(open_as: Callable[..., Page], study: Study) -> Callable[..., Page]:
    """Opens a page of the module's `study` as its researcher."""
    make_user("ruth", study)
    return lambda path, **options: open_as("ruth", path, **options)


@pytest.fixture
def uncomputed(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    """Reports of whatever study are there without computing, with the longest words that may come."""
    settings.VAR_DIR = tmp_path
    settings.JOB_EXECUTOR = "inline"
    own = stub.source().of(Accuracy)
    longest = replace(own.models[0], display_name=f"org/{'long-name-' * 12}")
    results = stub.without(stub.source(), "flips", "integration")
    results = stub.with_results(results, replace(own, models=(*own.models, longest)))
    monkeypatch.setattr(
        "analysis.report.services.make.make_report", lambda s, o, p=None: stub.report(s, o, results)
    )
    monkeypatch.setattr("analysis.report.services.save.draw_all", stub.figures)
