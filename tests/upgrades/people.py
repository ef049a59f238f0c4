"""Participants who take part over Django's client, page by page, on a clock that they move themselves."""

from datetime import timedelta
from typing import Any
from urllib.parse import urljoin

from django.test import Client
from time_machine import Traveller

from benchmarks.web.people import ABOUT, RATED, hidden_fields

ABOUT_ME = ABOUT | {"age_number": "34", "experience_years_number": "9.5"}
READING = timedelta(seconds=80)
MOST_PAGES = 40  # of any study here


class Walker:
    """A participant in a browser of their own, at a page of one study."""

    def __init__(self, entry: str, clock: Traveller, cookies: dict[str, str] | None = None) -> None:
        self.entry, self.clock = entry, clock
        self.client = Client(SERVER_NAME="localhost")
        for name, value in (cookies or {}).items():
            self.client.cookies[name] = value
        self.path, self.text = "", ""
        self.open(entry)

    def open(self, path: str) -> None:
        """Open a page, and follow where it leads."""
        answer: Any = self.client.get(path, follow=True)
        assert answer.status_code == 200, f"{path} answered {answer.status_code}"
        self.path = answer.redirect_chain[-1][0] if answer.redirect_chain else path
        self.path = urljoin(path, self.path).partition("?")[0]
        self.text = answer.text

    @property
    def page(self) -> str:
        """The page's address within the study: "trial/3/", and "" for the consent."""
        return self.path.removeprefix(self.entry)

    @property
    def token(self) -> str:
        """The trial that the page shows; "" on other pages. The same trial keeps it for ever."""
        return hidden_fields(self.text).get("trial_token", "") if "trial/" in self.page else ""

    @property
    def is_revising(self) -> bool:
        """True on the page that shows advice after a first answer."""
        return "revises" in hidden_fields(self.text)

    @property
    def cookies(self) -> dict[str, str]:
        return {name: morsel.value for name, morsel in self.client.cookies.items()}

    def send(self, **filled_in: str) -> None:
        """Fill in the page after a while, send it, and open the next one."""
        self.clock.shift(READING)
        answer: Any = self.client.post(self.path, hidden_fields(self.text) | filled_in)
        if answer.status_code == 303:
            self.open(urljoin(self.path, answer["Location"]))
        else:
            # A practice whose other side is right, or the end of a withdrawal
            assert answer.status_code == 200, answer.text
            assert self.page in ("practice/", "withdraw/"), answer.text
            self.text = answer.text

    def go_on(self) -> None:
        """Answer this page."""
        if not self.page:
            self.send(agree="yes")
        elif self.page == "about-you/":
            self.send(**ABOUT_ME)
        elif self.page == "practice/":
            self._practise()
        elif self.page == "debrief/":
            self.send(comments="Thank you")
        elif "answer_text" in self.text:
            self.send(answer_text="It becomes lighter.", confidence="70")
        elif self.is_revising:
            self.send(side="B", confidence="80")
        elif "trial/" in self.page:
            self.send(side="A", **RATED)
        else:
            assert self.page == "start/", f"nobody knows {self.path}"
            self.send()

    def _practise(self) -> None:
        """Choose one side and then, if the other is right, that one; an example of advice changes neither."""
        for side in "AB":
            if self.page == "practice/":
                self.send(side=side, **RATED)
            if self.is_revising:
                self.send(side=side, confidence="70")

    def go_to(self, page: str) -> "Walker":
        """Go on until a page with this address."""
        for _ in range(MOST_PAGES):
            if self.page == page:
                return self
            if self.page == "done/":
                break
            self.go_on()
        raise AssertionError(f"{self.path} came before {page}")
