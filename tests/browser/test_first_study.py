"""A lab's first study with people from a recruitment site and a chat model: from an empty site to payments and results."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from experiment.domain.markup import parse
from experiment.models import Participant, Study
from experiment.services.item_choice import read_items
from lib.jobs import worker
from tests.browser.pictures import picture
from tests.browser.sites import (
    WORK_MS,
    figure,
    from_account_menu,
    name_study,
    open_recruitment,
    part,
    say_who_answers_for_it,
)
from tests.experiment.people import ABOUT_ME, agree, decide, open_trial, practice_fields
from tests.factories import make_user
from tests.scoring.backends.chat.stub import ChatStub
from tests.scoring.lab.servers import KEY
from tests.storages import store_files_in

TITLE = "Findings on memory: people and a chat model"
FIELD = "Memory"
MODEL = "chat-1"
# Ten that ship with the project, on which the automatic checks have no remark
KEYS = [f"demo-test-{n:02}" for n in (2, 4, 5, 8, 11, 13, 14, 16, 17, 19)]
TEXTS = [item["markup"] for item in read_items() if item["key"] in KEYS]
N_TRIALS = 4  # three test cases and a catch trial
SCREENED_OUT, WITHDRAWS, COMES_TWICE, BOT = 1, 3, 4, 5
STUDY_ID = "65aa00112233445566778899"
IDS = [f"5f3a9c21e0b7d4a6f8c1b{n:03}" for n in range(12)]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatStub]:
    """It is right in every test case of the field."""
    for stub in ("benchmarks.completions.stub", "tests.scoring.backends.chat.stub"):
        monkeypatch.setattr(f"{stub}.MODEL", MODEL)
    originals = [parse(text).original for text in TEXTS]

    def reply(request: dict[str, Any]) -> str:
        asked = request["messages"][-1]["content"]
        if "Version B:" in asked:
            first = asked.split("Version B:")[0]
            is_a = any(original in first for original in originals)
            return json.dumps({"side": "A" if is_a else "B", "confidence": 90})
        return '{"larger": 3}' if "response_format" in request else "3"

    with ChatStub(reply) as stub:
        yield stub


def test_from_an_empty_site_to_payments_and_results(
    transactional_db: None,
    site: Any,
    open_as: Callable[..., Page],
    provider: ChatStub,
    settings: Any,
    tmp_path: Path,
) -> None:
    settings.BASE_URL = "https://studies.example.org"
    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "studies.example.org"]
    settings.VAR_DIR = tmp_path
    store_files_in(settings, tmp_path)
    make_user("boss", is_superuser=True, is_staff=True)
    make_user("rita")
    page = open_as("boss", "/lab/")
    paste_into_a_new_field(page)
    let_somebody_review(page, open_as)
    add_server(page, provider)
    slug = make_the_study(page)
    people = Crowd(Study.objects.get(slug=slug), open_to_prolific(page))
    people.come()
    exclude_the_bot(page, people)
    ask_the_model(page, provider)
    pay(page)
    read_results(page)


def work_off() -> None:
    """Do what waits, as a worker would."""
    while (job := worker.next_job()) is not None:
        worker.do(job)


def paste_into_a_new_field(page: Page) -> None:
    page.get_by_role("link", name="Test cases", exact=True).click()
    page.get_by_role("link", name="New field").click()
    page.get_by_label("Name").fill(FIELD)
    page.get_by_role("button", name="Create the field").click()
    field_part(page, "Test cases")
    page.get_by_role("link", name="Paste abstracts").click()
    page.get_by_label("Abstracts", exact=True).fill("\n\n".join(TEXTS))
    picture(page, "first-study-paste", page.get_by_label("Abstracts", exact=True))
    page.get_by_role("button", name="Send to review").click()
    expect(page.get_by_text("10 test cases are in review now.")).to_be_visible()


def field_part(page: Page, name: str) -> None:
    menu = page.get_by_role("navigation", name="Parts of the field")
    menu.get_by_text(name, exact=True).click()


def let_somebody_review(page: Page, open_as: Callable[..., Page]) -> None:
    """Somebody whom an administrator adds, in a session of their own."""
    field_part(page, "People")
    page.get_by_label("User name").fill("rita")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_label("Role of rita")).to_be_visible()
    reviewer = open_as("rita", "/lab/fields/")
    reviewer.get_by_role("link", name=FIELD).click()
    reviewer.get_by_label("Select all 10 shown").check()
    reviewer.get_by_role("button", name="Accept").click()
    expect(reviewer.get_by_role("heading", name="Accept 10")).to_be_visible()
    picture(reviewer, "first-study-review")
    reviewer.get_by_role("button", name="Accept").click()
    expect(reviewer.get_by_text("10 test cases now have enough verdicts")).to_be_visible()


def add_server(page: Page, provider: ChatStub) -> None:
    from_account_menu(page, "Model servers")
    page.get_by_role("link", name="Add a server").click()
    page.get_by_label("Name").fill("Provider")
    page.get_by_label("Kind").select_option("chat")
    page.get_by_label("Address").fill(provider.url)
    page.get_by_label("Key", exact=True).fill(KEY)
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_label("Model", exact=True).fill(MODEL)
    page.get_by_role("button", name="Try it").click()
    expect(page.get_by_role("row", name="Answers yes")).to_be_visible()
    assert provider.headers[-1]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in page.content()
    picture(page, "first-study-server", page.get_by_role("heading", name="Try it"))


def make_the_study(page: Page) -> str:
    slug = name_study(page, TITLE)
    section(page, "Choice of test cases")
    page.get_by_label("Field of research").select_option(FIELD)
    page.get_by_role("button", name="Use these test cases").click()
    section(page, "Trials and ratings")
    for name, n in (("Human-created", 3), ("Machine-created", 0), ("Catch trials", 1)):
        page.get_by_role("spinbutton", name=name).fill(str(n))
    save(page)
    section(page, "Payment")
    page.get_by_label("Currency").fill("GBP")
    page.get_by_label("Payment for finishing").fill("2")
    page.get_by_label("Part for screened-out participants").fill("0.50")
    page.get_by_label("An amount for each test trial").check()
    page.get_by_label("Amount of the bonus").fill("0.10")
    save(page)
    section(page, "Dates and target")
    page.get_by_label("Groups of participants").select_option("gender")
    page.get_by_label("Targets of groups").fill("male: 1")
    save(page)
    say_who_answers_for_it(page)
    return slug


def section(page: Page, name: str) -> None:
    menu = page.get_by_role("navigation", name="Sections of the set-up")
    menu.get_by_role("link", name=name).click()
    expect(menu.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()


def open_to_prolific(page: Page) -> str:
    """The link to give to Prolific."""
    part(page, "Set up", "Recruitment")
    page.get_by_role("link", name="Add a channel").click()
    page.get_by_label("Prolific").check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Code after finishing").fill("DONE-1")
    page.get_by_label("Code for participants who do not agree").fill("OUT-1")
    page.get_by_role("button", name="Save the channel").click()
    open_recruitment(page)
    picture(
        page, "first-study-recruitment", page.get_by_role("heading", name="Participants' links")
    )
    link = page.get_by_role("region", name="Prolific").locator(".copy-text")
    return link.inner_text()


class Crowd:
    """Twelve people of the recruitment site, each with a browser of their own."""

    def __init__(self, study: Study, link: str) -> None:
        self.study, self.link = study, link
        self.home = study.get_absolute_url()
        self.bot = ""

    def query(self, n: int) -> str:
        """The link as the site fills it in for a person."""
        link = self.link
        for name, value in (
            ("PROLIFIC_PID", IDS[n]),
            ("STUDY_ID", STUDY_ID),
            ("SESSION_ID", IDS[n][::-1]),
        ):
            assert f"{{{{%{name}%}}}}" in link
            link = link.replace(f"{{{{%{name}%}}}}", value)
        assert dict(parse_qsl(urlsplit(link).query))["PROLIFIC_PID"] == IDS[n]
        return f"?{urlsplit(link).query}"

    def come(self) -> None:
        for n in range(len(IDS)):
            client = Client()
            person = agree(self.study, self.query(n), client)
            gender = "male" if n in (0, SCREENED_OUT) else "female"
            shown = client.post(f"{self.home}about-you/", ABOUT_ME | {"gender": gender})
            if n == SCREENED_OUT:
                assert "OUT-1" in shown.content.decode()
                continue
            self.take(person, client)
            person.refresh_from_db()
            if n == BOT:
                self.bot = person.pseudonym
            if n == WITHDRAWS:
                sent = {"code": person.withdrawal_code, "confirm": "1"}
                assert client.post(f"{self.home}withdraw/", sent).status_code == 200
            if n == COMES_TWICE:
                for browser in (client, Client()):
                    browser.get(f"{self.home}{self.query(n)}", follow=True)
                    decide(self.study, browser)
        assert Participant.objects.count() == len(IDS)

    def take(self, person: Participant, client: Client) -> None:
        """From the practice to the thanks, with every answer right."""
        page = client.get(f"{self.home}practice/")
        assert page.status_code == 200
        person.refresh_from_db()
        client.post(f"{self.home}practice/", practice_fields(person))
        client.post(f"{self.home}start/")
        for position in range(1, N_TRIALS + 1):
            person.refresh_from_db()
            assert person.position == position
            at = open_trial(person)
            assert client.post(at.address, at.fields).status_code == 303
        client.post(f"{self.home}debrief/", {"comments": ""})
        assert "DONE-1" in client.get(f"{self.home}done/").content.decode()


def exclude_the_bot(page: Page, people: Crowd) -> None:
    part(page, "Overview")
    expect(figure(page, "Valid")).to_have_text("10")
    expect(page.get_by_text("not admitted because their group was complete")).to_be_visible()
    expect(page.get_by_text("not as the recruitment site sends them")).to_have_count(0)
    page.get_by_role("link", name="List the participants").click()
    page.get_by_role("link", name=people.bot).click()
    page.get_by_text("For a reason that no rule looks at").click()
    page.get_by_label("Reason").select_option("bot")
    page.get_by_label("What happened").fill("Every answer came after the same time.")
    picture(page, "first-study-exclusion", page.get_by_role("heading", name="Exclude by hand"))
    page.get_by_role("button", name="Exclude this participant").click()
    expect(page.get_by_role("button", name="Include again")).to_be_visible()
    part(page, "Overview")
    expect(figure(page, "Valid")).to_have_text("9")


def ask_the_model(page: Page, provider: ChatStub) -> None:
    part(page, "Models", "Choices")
    expect(page.get_by_label("Where the model runs")).to_contain_text("Provider")
    page.get_by_label("Model", exact=True).fill(MODEL)
    page.get_by_role("button", name="Ask the model").click()
    expect(page.get_by_text("Waiting for the worker")).to_be_visible()
    work_off()
    expect(page.get_by_text("100.0% of 10 judged test cases")).to_be_visible(timeout=WORK_MS)
    assert {headers["Authorization"] for headers in provider.headers} == {f"Bearer {KEY}"}


def pay(page: Page) -> None:
    """Everybody once for each reason, and the same file whenever a list is downloaded."""
    part(page, "Set up", "Pay participants")
    files = {}
    for n, offer in enumerate(("who finished", "part payment", "bonuses"), start=1):
        page.get_by_role("button", name=offer).click()
        expect(page.get_by_text(f"List {n} is ready.")).to_be_visible()
        expect(page.get_by_role("button", name=offer)).to_have_count(0)
        picture(page, "first-study-pay", page.get_by_role("heading", name="Prolific"))
        first, second = (download(page, n) for _ in range(2))
        assert first == second
        files[n] = first.replace(",", "\n").split()
    finished = [n for n in range(len(IDS)) if n != SCREENED_OUT]
    assert sorted(files[1]) == sorted(IDS[n] for n in finished)
    assert files[2] == [IDS[SCREENED_OUT], "0.50"]
    assert sorted(files[3][::2]) == sorted(IDS[n] for n in finished)
    assert set(files[3][1::2]) == {"0.30"}


def download(page: Page, number: int) -> str:
    with page.expect_download() as found:
        page.get_by_role("link", name=f"Download list {number}").click()
    return found.value.path().read_text()


def read_results(page: Page) -> None:
    part(page, "Results")
    work_off()
    short = page.get_by_role("region", name="in short")
    expect(short).to_contain_text("100.0%", timeout=WORK_MS)
    picture(page, "first-study-results", short)
    chapter = page.locator("#asked")
    chapter.get_by_role("heading").first.click()
    expect(chapter.get_by_role("rowheader", name=MODEL, exact=True).first).to_be_visible()
    expect(chapter.get_by_text("(asked)")).to_have_count(0)
