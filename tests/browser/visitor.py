"""A page object: the participant's pages as a visitor uses them."""

import re
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.http import HttpResponse
from django.utils import timezone
from playwright.sync_api import Locator, Page, Request, expect

from experiment.models import Judgment, Participant, Study, Trial
from experiment.participant import identity
from experiment.services.consenting import enroll
from experiment.services.taking_part import (
    attempt_practice,
    practice_side,
    save_demographics,
    start_trials,
)
from tests.browser.drivers import Driver, MouseDriver

# The page's own clock, which a test can put forward: reading takes minutes, tests should not.
# Events and frames tell their time on the same clock; each was dispatched after what was skipped before it.
TEST_CLOCK = """(() => {
  const now = performance.now.bind(performance);
  const stamp = Object.getOwnPropertyDescriptor(Event.prototype, "timeStamp").get;
  const frame = window.requestAnimationFrame.bind(window);
  window.skippedMs = 0;
  window.requestAnimationFrame = (then) => frame((time) => then(time + window.skippedMs));
  performance.now = () => now() + window.skippedMs;
  Object.defineProperty(Event.prototype, "timeStamp", {
    configurable: true,
    get() { return stamp.call(this) + window.skippedMs; },
  });
})()"""
# A page that is put in another's place counts from its second frame: what is skipped before it, nobody has read for.
# A page that nobody sees has no frames.
SKIP = """async (ms) => {
  const frame = () => new Promise((came) => { requestAnimationFrame(came); setTimeout(came, 1000); });
  await frame();
  await frame();
  window.skippedMs += ms;
}"""


@dataclass
class Answer:
    """A visitor's answer to one abstract."""

    side: str
    confidence: int | None = None
    expertise: int | None = None
    recognised: bool = False


DOUBLE_CLICK_MS = 600  # more than static/js/turning.js takes for one


class Visitor:
    """A person with a browser and a link to a study."""

    def __init__(
        self, page: Page, site: str, study: Study, driver: type[Driver] = MouseDriver
    ) -> None:
        self.site = site
        self.study = study
        self.driver_type = driver
        self.posts: list[Request] = []
        self.known: list[Page] = []
        self.use(page)

    def use(self, page: Page) -> None:
        """Look at this page from now on."""
        self.page = page
        self.driver = self.driver_type(page)
        if page in self.known:
            page.bring_to_front()
            return
        self.known.append(page)
        page.on("request", lambda r: self.posts.append(r) if r.method == "POST" else None)

    # What there is

    @property
    def home(self) -> str:
        return self.study.get_absolute_url()

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name)

    def link(self, name: str) -> Locator:
        return self.page.get_by_role("link", name=name)

    @property
    def heading(self) -> Locator:
        return self.page.get_by_role("heading", level=1)

    @property
    def participant(self) -> Participant:
        """The row of the only real participant there is."""
        return Participant.objects.get(study=self.study, kind="real")

    def judgments(self) -> list[Judgment]:
        rows = Judgment.objects.filter(trial__participant=self.participant)
        return list(rows.select_related("trial__item").order_by("trial__position"))

    def sent_keys(self) -> list[str]:
        """The idempotency keys of the trial's answers that this page sent, in order."""
        bodies = [post.post_data or "" for post in self.posts if "/trial/" in post.url]
        return [re.findall(r"idempotency_key=([0-9a-f-]+)", body)[0] for body in bodies]

    # Going from page to page

    def enter(self, query: str = "") -> None:
        self.page.goto(self.home + query)

    def agree(self) -> None:
        self.driver.press(self.button("I agree and want to take part"))
        self.is_at("about-you")

    def fill_demographics(self) -> None:
        self.send_demographics()
        self.is_at("practice")

    def send_demographics(self) -> None:
        page, driver = self.page, self.driver
        driver.press(page.get_by_label("Female"))
        driver.write(page.get_by_label("Age in years").and_(page.locator("[type=number]")), "41")
        driver.pick(page.get_by_label("Country where you live"), "Germany")
        driver.pick(page.get_by_label("Current position"), "Doctoral student")
        driver.press(page.locator("#id_experience_years_1"))
        driver.press(self.button("Continue"))

    def practise(self) -> None:
        """Choose the wrong version first, then the right one; and read what comes."""
        self.fill(Answer(self.wrong_practice_side, 70, 30))
        self.go_on()
        expect(self.page.get_by_text("Not this one.")).to_be_visible()
        self.is_at("practice")
        if self.driver.has_script:
            self.driver.choose(other(self.wrong_practice_side))
        else:  # what was filled in is kept by the page's script alone
            self.fill(Answer(other(self.wrong_practice_side), 70, 30))
        self.go_on()
        self.is_at("start")
        self.press_unhurried("Show the first abstract")
        self.is_at("trial/1")

    def finish(self) -> None:
        """Leave the debriefing."""
        self.press_unhurried("Finish")

    def press_unhurried(self, name: str) -> None:
        """Press a button of a page that has just come; in a hurry it would end a double click on the page before."""
        self.page.wait_for_timeout(DOUBLE_CLICK_MS)
        self.driver.press(self.button(name))

    @property
    def wrong_practice_side(self) -> str:
        return other(practice_side(self.participant))

    def start(self) -> "Visitor":
        """Be at the first abstract, as one who has come through the pages before it."""
        self.begin()
        self.skip()
        self.is_at("trial/1")
        return self

    def skip(self) -> None:
        """Come through the pages between consent and the first trial."""
        person = save_demographics(self.participant, {"gender": "female"}, timezone.now())
        if person.judges_abstracts:
            assert attempt_practice(person, practice_side(person), timezone.now()).stage == "start"
        start_trials(person, timezone.now())
        self.enter()

    def practice(self) -> "Visitor":
        """Be at the practice abstract, likewise."""
        self.begin()
        save_demographics(self.participant, {"gender": "female"}, timezone.now())
        self.enter()
        self.is_at("practice")
        return self

    def begin(self) -> None:
        """Be a participant who has agreed, and have the cookie that says so."""
        assert self.study.consent is not None
        person = enroll(
            self.study,
            kind=lambda: "real",
            consent_sha256=self.study.consent.sha256,
            key=uuid.uuid4(),
            now=timezone.now(),
        )
        response = HttpResponse()
        identity.write_participant(response, self.study, person)
        [cookie] = response.cookies.values()
        self.page.context.add_cookies(
            [
                {
                    "name": cookie.key,
                    "value": cookie.coded_value,
                    "domain": urlsplit(self.site).hostname or "",
                    "path": cookie["path"],
                }
            ]
        )

    def is_at(self, where: str) -> None:
        expect(self.page).to_have_url(re.compile(f"{re.escape(self.home)}{where}/?$"))
        expect(self.heading).to_be_visible()
        if where.startswith(("trial", "practice")):
            self.wait_for_script()

    def wait_for_script(self) -> None:
        """Until all of the abstract is there, and trial.js at work, which puts sliders in the place of number fields."""
        self.page.wait_for_load_state("domcontentloaded")
        if self.driver.has_script:
            expect(self.page.locator("#shortcuts:not([hidden])")).to_be_attached()

    # A trial

    @property
    def trial(self) -> Trial:
        """The row behind the abstract that this participant is on."""
        participant = self.participant
        return participant.trials.select_related("item").get(position=participant.position)

    def chosen(self) -> str:
        checked = self.page.locator('input[name="side"]:checked')
        return checked.input_value() if checked.count() else ""

    def rating(self, name: str) -> str:
        return self.page.locator(f'input[name="{name}"]').input_value()

    def read_for(self, ms: int) -> None:
        if self.driver.has_script:
            self.page.evaluate(SKIP, ms)

    def forget(self) -> None:
        """Let the browser forget, on leaving this page, what was done on it."""
        self.page.evaluate("""() => {
          addEventListener("pagehide", () => localStorage.clear());
          document.addEventListener("visibilitychange", () => localStorage.clear());
        }""")

    def reopen(self) -> None:
        """Close the tab, and come to the study again in a new one."""
        context = self.page.context
        self.page.close()
        self.use(context.new_page())
        self.enter()

    def error(self, name: str) -> Locator:
        """The message beside a question."""
        return self.page.locator(f"#{name}-error")

    def answer_recognised(self, seen: bool = False) -> None:
        self.driver.press(self.page.locator("#recognised-yes" if seen else "#recognised-no"))

    def go_on(self) -> None:
        self.driver.press(self.button("Continue"))

    def fill(self, given: Answer) -> Answer:
        """Answer everything but Continue; returns what the page holds."""
        self.driver.choose(given.side)
        assert self.chosen() == given.side
        for name in ("confidence", "expertise"):
            wanted = getattr(given, name)
            if wanted is not None:
                taken = self.driver.rate(name, wanted)
                assert abs(taken - wanted) <= 4
                setattr(given, name, taken)
        self.answer_recognised(given.recognised)
        return given

    def answer(self, side: str = "A") -> Answer:
        """Answer the abstract and continue to the next page."""
        position = self.participant.position
        given = self.fill(Answer(side, 70, 30))
        self.go_on()
        self.is_at("debrief" if position == self.study.n_trials else f"trial/{position + 1}")
        return given


def other(side: str) -> str:
    return "B" if side == "A" else "A"
