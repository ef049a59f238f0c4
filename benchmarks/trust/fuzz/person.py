"""A participant in this process who knows what they sent and what they were told, and what must hold of them after every step."""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client
from lxml import html

from benchmarks.trust.fuzz.cutting import Fault, befallen
from benchmarks.web.people import ABOUT, HTML, JSON, MEASURES, RATED
from experiment.models import Judgment, Participant, Study

HOST = "127.0.0.1"
Answers = dict[int, tuple[str, str]]  # position -> key, side
Stage = Participant.Stage


def new_client() -> Any:
    return Client(raise_request_exception=False, enforce_csrf_checks=True, SERVER_NAME=HOST)


class FoundError(AssertionError):
    """Something that must not be."""


@dataclass(frozen=True)
class Post:
    path: str
    fields: dict[str, str]
    by_script: bool = False

    @property
    def position(self) -> int | None:
        parts = self.path.strip("/").split("/")
        return int(parts[-1]) if parts[-2] == "trial" else None


@dataclass
class Person:
    """`told`: answers that the site said it has; `sent`: all that it may have."""

    study: Study
    client: Any = field(default_factory=new_client)
    told: Answers = field(default_factory=dict)
    sent: dict[int, set[tuple[str, str]]] = field(default_factory=dict)
    posts: list[Post] = field(default_factory=list)
    code: str = ""
    public_id: str = ""
    wants_out: bool = False
    struck: int = 0  # requests that a fault ended

    def row(self) -> Participant | None:
        """As the database has them."""
        if not self.public_id:
            return None
        return Participant.objects.select_related("study").get(public_id=self.public_id)

    def enrolled(self, row: Participant) -> None:
        """The row that the consent made is this person's."""
        self.public_id, self.code = str(row.public_id), row.withdrawal_code

    def next_form(self, rng: random.Random) -> Post | None:
        """The form of the page at hand, filled in; None where it has none that leads on."""
        path = self.study.get_absolute_url()
        page: Any = self.get(path)
        if page.redirect_chain:
            path = page.redirect_chain[-1][0]
        return self.fill(page, path, rng) if page.status_code == 200 else None

    def get(self, path: str, fault: Fault | None = None) -> HttpResponse:
        with befallen(fault):
            page: HttpResponse = self.client.get(path, follow=True)
        self._allowed(page, fault)
        return page

    def post(
        self, post: Post, fault: Fault | None = None, *, is_heard: bool = True
    ) -> HttpResponse:
        """Send it, and note what the answer says, where it is heard."""
        position = post.position
        answer = post.fields.get("idempotency_key", ""), post.fields.get("side", "")
        if position is not None:
            self.sent.setdefault(position, set()).add(answer)
        with befallen(fault):
            response: HttpResponse = self.client.post(
                post.path, post.fields, headers={"Accept": JSON if post.by_script else HTML}
            )
        self._allowed(response, fault)
        self.posts.append(post)
        is_taken = response.status_code == 303 or (
            response.status_code == 200
            and post.by_script
            and "next" in json.loads(response.content)
        )
        if is_taken and is_heard and position is not None:
            # The same key again is answered with what is stored already
            self.told.setdefault(position, answer)
        return response

    def _allowed(self, response: HttpResponse, fault: Fault | None) -> None:
        status = response.status_code
        if status == 503 and fault is not None and fault.struck and "Retry-After" in response:
            self.struck += 1
            return
        if status >= 500:
            raise FoundError(f"answered {status}")

    def fill(self, page: HttpResponse, path: str, rng: random.Random) -> Post | None:
        """The form of the page, filled in; None where it has none that leads on."""
        for form in html.document_fromstring(page.content.decode()).forms:
            action = form.action or path
            if (form.method or "").upper() != "POST" or action != path:
                continue
            fields = {name: value for name, value in form.form_values() if value is not None}
            place = path.strip("/").split("/")
            by_script = rng.random() < 0.5 and (place[-2] == "trial" or place[-1] == "practice")
            return Post(path, fields | self._answers(place, rng), by_script)
        return None

    def _answers(self, place: list[str], rng: random.Random) -> dict[str, str]:
        if len(place) == 2:
            return {"agree": "yes"}
        match place[-1]:
            case "about-you":
                return ABOUT | {"age_number": "34", "experience_years_number": "9.5"}
            case "debrief":
                return {"comments": "Thank you."}
            case "start":
                return {}
        return {"side": rng.choice("AB"), **RATED, **MEASURES}


def look(person: Person) -> None:
    """Acknowledged answers are stored, once and as they were sent; nothing is stored that was not sent; positions have no gaps."""
    row = person.row()
    if row is None:
        return
    judged = list(
        Judgment.objects.filter(trial__participant=row)
        .order_by("trial__position")
        .values_list("trial__position", "idempotency_key", "side")
    )
    stored = {position: (str(key), side) for position, key, side in judged}
    positions = list(row.trials.order_by("position").values_list("position", flat=True))
    if row.stage == Stage.WITHDRAWN or row.is_anonymous:
        _check(not judged or row.is_anonymous, "withdrawn, and still with answers")
        return
    _check(not person.wants_out, "told that they are withdrawn, and they are not")
    _check(len(stored) == len(judged), "several answers to one trial")
    _check(positions == list(range(1, len(positions) + 1)), f"trials at {positions}")
    _check(sorted(stored) == list(range(1, len(stored) + 1)), f"answers at {sorted(stored)}")
    for position, answer in person.told.items():
        _check(stored.get(position) == answer, f"answer {position} is lost or another one")
    for position, answer in stored.items():
        sent = {(key.lower(), side) for key, side in person.sent.get(position, ())}
        _check(_plain(answer) in map(_plain, sent), f"answer {position} was never sent")
    _check_stage(row, len(stored), len(positions))


def _plain(answer: tuple[str, str]) -> tuple[str, str]:
    return answer[0].replace("-", ""), answer[1]


def _check_stage(row: Participant, n_answers: int, n_trials: int) -> None:
    match row.stage:
        case Stage.TRIAL:
            _check(n_answers == row.position - 1, f"{n_answers} answers at trial {row.position}")
            _check(n_trials - n_answers in (0, 1), f"{n_trials} trials and {n_answers} answers")
        case Stage.DEBRIEF | Stage.FINISHED:
            _check(n_answers == row.n_trials, f"{n_answers} answers at the end")
        case _:
            _check(n_answers == n_trials == 0, f"{n_answers} answers before the trials")


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise FoundError(what)
