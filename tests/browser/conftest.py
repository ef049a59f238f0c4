"""Studies to take, and browsers to take them in."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from config.policies import reports
from experiment.models import Study
from experiment.services.study_setup import set_recruitment
from tests import databases, published
from tests.browser.drivers import Driver, MouseDriver
from tests.browser.visitor import TEST_CLOCK, Visitor
from tests.factories import make_user

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
TIMEOUT_MS = 60_000  # a busy machine; nothing waits for it to pass

expect.set_options(timeout=TIMEOUT_MS)


# Said aloud by every page that breaks its policy, whatever a browser itself writes of it
SAY_VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) =>
  console.error("securitypolicyviolation:", event.effectiveDirective, event.blockedURI, event.sample))"""
VIOLATION = re.compile("securitypolicyviolation:|Content.Security.Policy|Trusted(HTML|Script)")


@pytest.fixture(autouse=True)
def violations(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What pages did against the browser's policy, in any context of the test: nothing, and the site had no report of it."""
    found: list[str] = []
    open_context, n_reports = Browser.new_context, reports.n

    def note(message: ConsoleMessage) -> None:
        if VIOLATION.search(message.text):
            found.append(f"{message.page.url if message.page else ''}: {message.text}")

    def new_context(self: Browser, **options: Any) -> BrowserContext:
        context = open_context(self, **options)
        context.add_init_script(SAY_VIOLATIONS)
        context.on("console", note)
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
def brainbench(results_dir: Path, run_folder: Path, transactional_db: None) -> Study:
    """The study on the published test cases, open to participants."""
    published.load(results_dir, run_folder)
    Study.objects.update(contact="lab@example.org", created_at=timezone.now())
    study = Study.objects.get(slug="brainbench")
    set_recruitment(study, "open")
    return study


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Browser:
    """Chromium, or what a test names by `engines.both`."""
    found: Browser = request.getfixturevalue(getattr(request, "param", "browser"))
    return found


@pytest.fixture
def open_browser(engine: Browser, live_server: Any) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browsers that know nothing of each other; all are closed before the database is emptied."""
    opened: list[BrowserContext] = []

    def open_one(**options: Any) -> BrowserContext:
        context = engine.new_context(base_url=live_server.url, **(DESKTOP | options))
        context.set_default_timeout(TIMEOUT_MS)
        context.add_init_script(TEST_CLOCK)
        opened.append(context)
        return context

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[[], Page]]:
    """Pages of browsers that know nothing of each other, for a site in processes of its own."""
    contexts: list[BrowserContext] = []

    def open_one() -> Page:
        contexts.append(browser.new_context(**DESKTOP))
        contexts[-1].set_default_timeout(TIMEOUT_MS)
        contexts[-1].add_init_script(TEST_CLOCK)
        return contexts[-1].new_page()

    yield open_one
    for context in contexts:
        context.close()


@pytest.fixture
def visit(
    open_browser: Callable[..., BrowserContext], live_server: Any
) -> Iterator[Callable[..., Visitor]]:
    """Lets a visitor come to a study, in a browser of their own; no page may fail in its scripts or its policy."""
    visitors: list[Visitor] = []

    def come(study: Study, driver: type[Driver] = MouseDriver, **options: Any) -> Visitor:
        visitors.append(Visitor(open_browser(**options).new_page(), live_server.url, study, driver))
        return visitors[-1]

    yield come
    assert [error for visitor in visitors for error in visitor.errors] == []


@pytest.fixture
def open_page(browser: Browser, live_server: Any, study: Study) -> Iterator[Callable[..., Page]]:
    """Opens a page of the module's `study` as its researcher; no script may fail, nor the pages' policy be broken."""
    make_user("ruth", study)
    contexts, errors = [], []

    def open_one(path: str, **options: Any) -> Page:
        context = browser.new_context(base_url=live_server.url, **{**DESKTOP, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path)
        page.get_by_label("Username").fill("ruth")
        page.get_by_label("Password").fill("ruth")
        page.get_by_role("button", name="Sign in").click()
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert errors == []
