"""Take docs/screenshots anew, on scratch databases: .venv/bin/python scripts/take_screenshots.py

Those of the demo study are taken here, and those of a first study by its browser test on its way.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import django
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "screenshots"
DESKTOP: Any = {"viewport": {"width": 1280, "height": 900}}
PHONE: Any = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
SHORT = "demo-test-05"
COMPUTING_MS = 180_000
PASSWORD = "thrown-away-with-the-database"  # noqa: S105
SETTLED = """async () => {
  await document.fonts.ready;
  await Promise.all(document.getAnimations().map(animation => animation.finished));
  const seen = [...document.images].filter(image => image.getBoundingClientRect().top < innerHeight);
  await Promise.all(seen.map(image => image.decode()));
}"""


def shoot(page: Page, name: str, *, whole: bool = True) -> None:
    """Save the page once nothing moves any more; `whole`: also what the window does not hold."""
    page.mouse.move(0, 0)
    page.evaluate(SETTLED)
    page.screenshot(path=FOLDER / f"{name}.png", full_page=whole)
    print(f"docs/screenshots/{name}.png")


def show(visitor: Any, key: str) -> None:
    """Put this item before the visitor, with nothing answered."""
    from experiment.models import Item

    trial = visitor.trial
    trial.item, trial.original_side = Item.objects.get(key=key), "B"
    trial.save()
    visitor.forget()
    visitor.page.reload()
    visitor.is_at(f"trial/{trial.position}")


def shoot_participant(visitor: Any) -> None:
    """Consent, an abstract after a choice, and the results."""
    visitor.enter()
    shoot(visitor.page, "consent")
    visitor.start()
    show(visitor, SHORT)
    visitor.driver.choose("B", 1)
    visitor.driver.rate("confidence", 72)
    shoot(visitor.page, "trial-chosen")
    for position in range(1, visitor.study.n_trials + 1):
        visitor.answer("A" if position % 3 else "B")
    visitor.page.locator(".result summary").first.click()
    shoot(visitor.page, "debrief")


def shoot_phone(visitor: Any) -> None:
    visitor.start()
    show(visitor, SHORT)
    visitor.driver.choose("A")
    # A picture of more than the window shows hints on keys, as on a device with a mouse
    height = visitor.page.evaluate("document.documentElement.scrollHeight")
    visitor.page.set_viewport_size(PHONE["viewport"] | {"height": height})
    shoot(visitor.page, "trial-phone", whole=False)


def shoot_lab(page: Page, welcome_url: str) -> None:
    page.goto(welcome_url)
    for field in page.locator('input[type="password"]').all():
        field.fill(PASSWORD)
    page.get_by_role("button", name="sign in").click()
    page.goto("/lab/studies/demo/?kind=simulated")
    page.get_by_role("heading", level=1).wait_for()
    shoot(page, "lab-study")
    page.goto("/lab/studies/demo/set-up/texts/")
    page.frame_locator("[name=preview-phone]").get_by_role("heading", level=1).wait_for()
    page.frame_locator("[name=preview-desktop]").get_by_role("heading", level=1).wait_for()
    shoot(page, "set-up", whole=False)
    page.goto("/lab/studies/demo/export/?kind=simulated&set=analysis")
    page.get_by_role("heading", level=2).first.wait_for()
    shoot(page, "export")
    page.goto("/lab/studies/demo/results/?kind=simulated&now=1", timeout=COMPUTING_MS)
    page.get_by_role("heading", level=2).first.wait_for()
    shoot(page, "results", whole=False)


def shoot_graded(page: Page) -> None:
    """The chapter on quality and safety."""
    page.goto("/lab/studies/demo-questions/results/?kind=simulated&now=1", timeout=COMPUTING_MS)
    page.get_by_role("heading", name="Answers to questions", exact=True).click()
    chapter = page.locator("details.chapter[open]")
    chapter.get_by_role("img").first.evaluate("image => image.decode()")
    chapter.evaluate("opened => opened.scrollIntoView()")
    shoot(page, "graded", whole=False)


def shoot_import(page: Page) -> None:
    """The preview of the example file with two rows more, in which something is wrong."""
    from django.contrib.auth.models import User

    from experiment.models import ResearchField

    sleep = ResearchField.objects.create(slug="sleep", name="Sleep")
    sleep.members.add(User.objects.get(username="ruth"), through_defaults={"role": "lead"})
    written = (ROOT / "docs" / "examples" / "sleep.csv").read_bytes()
    wrong = b"""sleep-caffeine,Treatment,human,BrainBench Live,Twice [[the same | a different]] key.,
sleep-naps,Treatment,human,BrainBench Live,Naps [[restore | impair alertness.,
"""
    page.goto("/lab/fields/sleep/import/")
    file: Any = {"name": "sleep.csv", "mimeType": "text/csv", "buffer": written + wrong}
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Show the difference").click()
    page.get_by_role("link", name="Add these").click()
    page.get_by_role("heading", level=2).first.wait_for()
    shoot(page, "import-difference")


def shoot_all(chromium: Browser, site: Any) -> None:
    from experiment.models import Participant, Study
    from tests.browser.visitor import Visitor

    study = Study.objects.get(slug="demo")
    found = json.loads(site.manage("create_admin", "ruth", "--json"))
    page = chromium.new_page(base_url=site.url, **DESKTOP)
    shoot_lab(page, found["url"])
    shoot_import(page)
    shoot_graded(page)
    for options, tour in ((DESKTOP, shoot_participant), (PHONE, shoot_phone)):
        # A visitor is the only real participant: whoever came before was trying the study out.
        Participant.objects.filter(kind="real").update(kind="pilot")
        tour(Visitor(chromium.new_page(base_url=site.url, **options), site.url, study))


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.browser.server import SiteServer

    FOLDER.mkdir(parents=True, exist_ok=True)
    finder = [sys.executable, str(ROOT / "scripts" / "find_browser.py")]
    browser = subprocess.run(finder, capture_output=True, text=True, check=True).stdout.strip()
    journey = [sys.executable, "-m", "pytest", "-q", "tests/browser/test_first_study.py"]
    subprocess.run(journey, cwd=ROOT, env={**os.environ, "SCREENSHOTS": str(FOLDER)}, check=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = SiteServer(Path(folder))
        os.environ.update(site.environment, DJANGO_ALLOW_ASYNC_UNSAFE="1")
        django.setup()
        site.manage("migrate", "--verbosity", "0")
        site.manage("load_demo", "--simulate", "40")
        site.manage("score", "--model", "embedded", "--study", "demo")
        site.manage("make_up_answers", "demo-questions")
        site.start()
        try:
            args = ["--no-sandbox", "--disable-gpu"]
            shoot_all(playwright.chromium.launch(executable_path=browser, args=args), site)
        finally:
            site.kill()


if __name__ == "__main__":
    main()
