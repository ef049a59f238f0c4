"""Forms as pages show them, filled in so that they would be taken."""

import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from lxml import html

from benchmarks.trust.fuzz.broken import FORM, MULTIPART, Fields, Sent
from benchmarks.trust.fuzz.material import Material
from benchmarks.web.walks import ABOUT, MEASURES, RATED
from experiment.models import Participant, Study
from experiment.participant import identity
from experiment.services import drawing, enrollment, taking_part

HOST = "127.0.0.1"
TABLE = b"original,altered\nA cake rose slowly.,A cake fell slowly.\n"
# What ends the session, takes the fuzzed study or account away, or computes for minutes
LEFT_ALONE = re.compile(
    r"sign-out|purge|/password|/remove|/admin/|results|teams|\.(csv|svg|png|json|pdf|md|txt|html)$|/export/file|"
    r"/codes|/start/|/ask/|/queue/|/work/|/documents/|/preview|/simulat"
)
MOST_PAGES = 110


@dataclass
class Form:
    """Who would send what. `taken` are the statuses of a form that is; a person is where they were until one was."""

    name: str
    client: Any  # Django's test client, whose answers have types of their own
    sent: Sent
    person: Participant | None = None
    taken: tuple[int, ...] = (302, 303, 200)


def new_client() -> Any:
    return Client(raise_request_exception=False, enforce_csrf_checks=True, SERVER_NAME=HOST)


def cookies_of(client: Any) -> dict[str, str]:
    return {name: morsel.value for name, morsel in client.cookies.items()}


def read_forms(page: str, address: str) -> Iterator[tuple[str, Fields, dict[str, bytes]]]:
    """The address, fields and files of each form that a page sends by POST."""
    for form in html.document_fromstring(page).forms:
        if (form.method or "GET").upper() != "POST":
            continue
        names = form.xpath(".//input[@type='file']/@name")
        yield (
            urlsplit(urljoin(address, form.action or "")).path,
            form.form_values(),
            dict.fromkeys(names, TABLE),
        )


@dataclass
class People:
    """Participants at each page of the study, made through the services."""

    study: Study
    _waiting: dict[str, Form] = field(default_factory=dict)

    def pages(self) -> dict[str, Callable[[], Form]]:
        return {
            "consent": self.consent,
            "link": self.link,
            "about-you": lambda: self.at("about-you"),
            "practice": lambda: self.at("practice"),
            "start": lambda: self.at("start"),
            "trial": lambda: self.at("trial"),
            "debrief": lambda: self.at("debrief"),
            "withdraw": lambda: self.at("withdraw"),
            "return": lambda: self.at("return"),
            "ping": lambda: self.at("ping"),
        }

    def form(self, name: str) -> Form:
        """Somebody at this page; the same person until their form was taken."""
        if name not in self._waiting:
            self._waiting[name] = self.pages()[name]()
        return self._waiting[name]

    def gone(self, name: str) -> None:
        self._waiting.pop(name, None)

    def consent(self) -> Form:
        client, home = new_client(), self.study.get_absolute_url()
        page = client.get(home)
        return self._filled("consent", client, home, page, {"agree": "yes"})

    def link(self) -> Form:
        """An entry link with ids of a recruitment site."""
        query = (
            f"PROLIFIC_PID={uuid.uuid4().hex[:24]}&STUDY_ID=a1&SESSION_ID={uuid.uuid4().hex[:24]}"
        )
        path = f"{self.study.get_absolute_url()}?channel=prolific&{query}"
        return Form("link", new_client(), Sent(path, [], {}, method="GET"))

    def at(self, name: str) -> Form:
        person = self._person(name)
        client, home = new_client(), self.study.get_absolute_url()
        response = HttpResponse()
        identity.write_participant(response, self.study, person)
        client.cookies.update(response.cookies)
        page = f"trial/{person.position}" if name == "trial" else name
        shown = client.get(home if name == "ping" else f"{home}{page}/", follow=name == "ping")
        if name == "ping":
            token = next(read_forms(shown.content.decode(), home))[1]
            sent = Sent(
                f"{home}ping/",
                [pair for pair in token if pair[0].startswith("csrf")],
                cookies_of(client),
            )
            return Form(name, client, sent, person, taken=(204,))
        return self._filled(
            name, client, f"{home}{page}/", shown, self._answers(name, person), person
        )

    def _answers(self, name: str, person: Participant) -> dict[str, str]:
        match name:
            case "about-you":
                return ABOUT | {"age_number": "34", "experience_years_number": "9.5"}
            case "practice":
                return {"side": taking_part.practice_side(person), **RATED, **MEASURES}
            case "trial":
                return {"side": "A", **RATED, **MEASURES}
            case "debrief":
                return {"cheated": "1", "comments": "Thank you."}
            case "withdraw":
                return {"code": person.withdrawal_code, "confirm": "1"}
            case "return":
                return {"code": person.withdrawal_code}
        return {}

    def _filled(
        self,
        name: str,
        client: Any,
        path: str,
        page: HttpResponse,
        answers: dict[str, str],
        person: Participant | None = None,
    ) -> Form:
        fields = {}
        for action, found, _files in read_forms(page.content.decode(), path):
            if action == path:
                fields = dict(found)
        sent = Sent(path, [*(fields | answers).items()], cookies_of(client))
        return Form(name, client, sent, person)

    def _person(self, page: str) -> Participant:
        now, study = timezone.now(), self.study
        assert study.consent is not None
        person = enrollment.enroll(
            study,
            kind=lambda: Participant.Kind.REAL,
            consent_sha256=study.consent.sha256,
            key=uuid.uuid4(),
            now=now,
        )
        if page in ("about-you", "ping", "withdraw", "return"):
            return person
        person = taking_part.save_demographics(person, {"age": "34"}, now)
        if page == "practice":
            return person
        person = taking_part.attempt_practice(person, taking_part.practice_side(person), now)
        if page == "start":
            return person
        person = taking_part.start_trials(person, now)
        last = person.n_trials if page == "debrief" else 0
        for position in range(1, last + 1):
            trial = drawing.show_trial(person, position, now)
            answer = taking_part.Answer(side="A", confidence=50, expertise=50)
            taking_part.judge(
                person, taking_part.Sent(position, trial.token, uuid.uuid4(), answer, now)
            )
        person.refresh_from_db()
        return person


def lab_forms(material: Material) -> list[Form]:
    """Every form of the lab's pages about one study and one field, found by following their links."""
    client = new_client()
    client.force_login(material.user)
    slug, of_field = material.study.slug, material.research_field.slug
    waiting = [
        "/lab/",
        f"/lab/studies/{slug}/",
        f"/lab/fields/{of_field}/",
        "/lab/account/",
        "/lab/new-study/",
        "/lab/people/",
    ]
    ours = re.compile(
        rf"/lab/(studies/{slug}/|fields/({of_field}|new)/|account/|people/|new-study/|imports/)"
    )
    met, found = set(waiting), {}
    while waiting and len(met) < MOST_PAGES:
        path = waiting.pop(0)
        page = client.get(path)
        if page.status_code != 200 or not page.get("Content-Type", "").startswith("text/html"):
            continue
        text = page.content.decode()
        for action, fields, files in read_forms(text, path):
            kind = re.sub(r"\d+", "N", action)
            if not LEFT_ALONE.search(action) and (kind, len(fields)) not in found:
                content_type = MULTIPART if files else FORM
                sent = Sent(
                    action, fields, cookies_of(client), content_type=content_type, files=files
                )
                found[kind, len(fields)] = Form(kind, client, sent)
        for link in html.document_fromstring(text).xpath("//a/@href"):
            target = urlsplit(urljoin(path, link)).path
            if ours.match(target) and target not in met and not LEFT_ALONE.search(target):
                met.add(target)
                waiting.append(target)
    return [*found.values(), sign_in()]


def sign_in() -> Form:
    client, path = new_client(), "/lab/sign-in/"
    (_, fields, _files) = next(read_forms(client.get(path).content.decode(), path))
    values = dict(fields) | {"username": "nobody", "password": "wrong"}
    return Form("sign-in", client, Sent(path, [*values.items()], cookies_of(client)))
