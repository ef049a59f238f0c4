"""The second benchmark in pages alone: questions come from a file, a model answers, a judge and two people grade, the report tells, files go out."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import look
from tests.browser.server import SiteServer
from tests.browser.sites import WORK_MS, cooking, name_study, part, serving
from tests.browser.test_results import UNFOLD
from tests.scoring.backends.chat.stub import MODEL, ChatStub

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it

N = 6
QUESTIONS = "key,template,question,answer,topic_category\n" + "".join(
    f"steps-{n},steps-of-{n % 3},How many steps has recipe {n}?,It has {n} steps.,{'Baking' if n % 2 else 'Soups'}\n"
    for n in range(1, N + 1)
)
JOIN = """
from django.contrib.auth.models import User
from experiment.models import Study
for name in ("ada", "ben"):
    Study.objects.get().memberships.create(user=User.objects.get(username=name), role="curator")
"""
RIGHT, WRONG, NONE = "It has {} steps.", "It has a thousand steps.", "I do not know."
GOOD, BAD, ABSTAINS = "3", "0", "a"  # the keys of a person's grades


def said(n: int) -> str:
    return (NONE, RIGHT.format(n), WRONG)[n % 3]


def reply(request: dict[str, Any]) -> str:
    """The reply of a model that answers, or of a judge; one of the grades is none, however often it is asked for."""
    words = request["messages"][1]["content"]
    n = int(re.findall(r"recipe (\d+)", words)[0])
    if "expert answer" not in words:
        return said(n)
    return "Score: 3" if n == 5 else {NONE: "\u22121", WRONG: "0"}.get(said(n), '{"points": 3}')


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(reply) as stub:
        yield stub


@pytest.fixture
def site(tmp_path: Path, transactional_db: None) -> Iterator[SiteServer]:
    with serving(tmp_path, cooking) as one:
        yield one


def test_from_a_file_of_questions_to_the_chapter_and_files(
    open_as: Callable[[str, str], Page], site: SiteServer, stub: ChatStub
) -> None:
    lena = open_as("lena", "/lab/fields/cooking/questions/import/")
    import_questions(lena)
    study = name_study(lena, "How many steps")
    take_questions(lena)
    have_answered(lena, stub)
    have_graded(lena, stub)
    # An answer, its confidence and a grade each; the grade that is none was asked for once more
    assert len(stub.requests) == 3 * N + 1

    site.manage("shell", "-c", JOIN)
    plan_two_people(lena)
    grading = f"/lab/studies/{study}/grading/people/"
    grade_all(open_as("ada", grading), {5: BAD})
    grade_all(open_as("ben", grading), {5: BAD, 2: "1"})
    settle(lena, grading)
    read_results(lena)
    part(lena, "Models", "Grades")
    grades = downloaded(lena, lena.get_by_role("link", name="People’s grades as CSV"))  # noqa: RUF001 (as the page writes it)
    assert len(grades) == 2 * N + 1
    assert [row["points"] for row in grades if row["is_adjudication"] == "true"] == ["0.0"]
    lena.goto("/lab/fields/cooking/questions/")
    lena.get_by_label("Format").select_option("csv")
    rows = downloaded(lena, lena.get_by_role("button", name="Download"))
    sent = csv.DictReader(io.StringIO(QUESTIONS))
    assert [row["answer"] for row in rows] == [row["answer"] for row in sent]


def import_questions(page: Page) -> None:
    file = {"name": "questions.csv", "mimeType": "text/csv", "buffer": QUESTIONS.encode()}
    page.set_input_files("input[type=file]", [file])  # type: ignore[arg-type]
    page.get_by_label("Accepted elsewhere").fill("By the board, in 2025.")
    page.get_by_role("button", name="Show the difference").click()
    page.get_by_role("button", name=f"Import {N} questions").click()
    expect(page.get_by_text(f"{N} questions are new")).to_be_visible()


def take_questions(page: Page) -> None:
    page.locator('a[href$="/set-up/items/"]').first.click()
    page.get_by_label("Field of the questions").select_option(f"cooking ({N})")
    page.get_by_role("button", name="Use these questions").click()
    expect(page.get_by_text("Saved")).to_be_visible()


def have_answered(page: Page, stub: ChatStub) -> None:
    part(page, "Models", "Answers")
    ask(page, stub, "Ask the model")


def have_graded(page: Page, stub: ChatStub) -> None:
    part(page, "Models", "Grades")
    ask(page, stub, "Start grading")
    part(page, "Models", "Grades")


def ask(page: Page, stub: ChatStub, button: str) -> None:
    page.get_by_label("Model", exact=True).fill(MODEL)
    page.get_by_label("Address of the server").fill(stub.url)
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text(re.compile(f"finished.*{N} of {N}"))).to_be_visible(timeout=WORK_MS)


def plan_two_people(page: Page) -> None:
    page.get_by_text("Change the plan").click()
    page.get_by_label("Share of the answers that people grade").fill("1")
    page.get_by_label("Share of these that two people grade").fill("1")
    page.get_by_role("button", name="Save the plan").click()
    expect(page.get_by_text(f"of {2 * N}, on {N} answers")).to_be_visible()


def grade_all(page: Page, otherwise: dict[int, str]) -> None:
    """By keys; as the judge would, but for what `otherwise` says."""
    for given in range(N):
        expect(page.get_by_text(re.compile(f"so far: .*, {given} of them by you"))).to_be_visible()
        expect(page.locator("#shortcuts:not([hidden])")).to_be_attached()
        n = int(re.findall(r"recipe (\d+)", page.locator(".graded-text").first.inner_text())[0])
        keys = {NONE: ABSTAINS, WRONG: BAD}
        page.keyboard.press(otherwise.get(n, keys.get(said(n), GOOD)))
        page.keyboard.press("Enter")
    expect(page.get_by_text("You have no answers left to grade.")).to_be_visible()


def settle(page: Page, address: str) -> None:
    page.goto(f"{address}adjudicate/")
    expect(page.locator("#shortcuts:not([hidden])")).to_be_attached()
    page.keyboard.press(BAD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("You have no answers left to settle.")).to_be_visible()


def read_results(page: Page) -> None:
    part(page, "Results")
    chapter = page.get_by_role("heading", name="Answers to questions", exact=True)
    expect(chapter).to_be_visible(timeout=WORK_MS)
    chapter.click()
    told = page.locator("details.chapter[open]")
    # Of six answers two are good, two abstain, one is bad and one has no grade
    expect(told).to_contain_text("a response quality rate of 33.3%")
    expect(told).to_contain_text("is 66.7% of 3 answers (")
    picture = told.get_by_role("img").first
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    [row] = downloaded(page, told.get_by_role("link", name=re.compile("^CSV of")).last)
    assert (row["n"], float(row["rqr"]), float(row["sr"])) == (str(N), 2 / N, 2 / 3)
    page.get_by_role("heading", name="The judge and people", exact=True).click()
    expect(page.locator("details.chapter[open]")).to_contain_text("Two people gave the same points")
    page.evaluate(UNFOLD)
    look(page)


def downloaded(page: Page, link: Locator) -> list[dict[str, str]]:
    """The rows of the CSV file behind it."""
    with page.expect_download() as download:
        link.click()
    return list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8"))))
