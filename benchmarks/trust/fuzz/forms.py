"""Forms as pages show them, filled in so that they would be taken."""

import random
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin, urlsplit

from lxml import html

from benchmarks.trust.fuzz.broken import FORM, MULTIPART, Fields, Sent
from benchmarks.trust.fuzz.material import Material
from benchmarks.trust.fuzz.person import Person, Post, new_client
from experiment.models import Participant, Study
from experiment.services import taking_part

TABLE = b"original,altered\nA cake rose slowly.,A cake fell slowly.\n"
# What ends the session, takes the fuzzed study or account away, or computes for minutes
LEFT_ALONE = re.compile(
    r"sign-out|purge|/password|/remove|/admin/|results|teams|\.(csv|svg|png|json|pdf|md|txt|html)$|/export/file|"
    r"/codes|/start/|/ask/|/queue/|/work/|/documents/|/preview|/simulat"
)
MOST_PAGES = 110
ELSEWHERE = ("withdraw", "return", "ping")
PAGES = ("consent", "link", "about-you", "practice", "start", "trial", "debrief", *ELSEWHERE)
TAKEN = (302, 303, 200)


@dataclass
class Form:
    """A form, and the person who would send it. `taken` are the statuses of a form that is; a person is where they were until one was."""

    name: str
    client: Any  # Django's test client, whose answers have types of their own
    sent: Sent
    person: Participant | None = None
    taken: tuple[int, ...] = TAKEN


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
    """Participants at each page of the study, who walked there."""

    study: Study
    _waiting: dict[str, Form] = field(default_factory=dict)

    def form(self, name: str) -> Form:
        """Somebody at this page; the same person until their form was taken."""
        if name not in self._waiting:
            self._waiting[name] = self.at(name)
        return self._waiting[name]

    def gone(self, name: str) -> None:
        self._waiting.pop(name, None)

    def at(self, name: str) -> Form:
        home, rng = self.study.get_absolute_url(), random.Random(len(name))
        if name == "link":  # with ids of a recruitment site
            ids = f"PROLIFIC_PID={uuid.uuid4().hex[:24]}&STUDY_ID=a1&SESSION_ID={uuid.uuid4().hex[:24]}"
            path = f"{home}?channel=prolific&{ids}"
            return Form("link", new_client(), Sent(path, [], {}, method="GET"))
        person = Person(self.study)
        post = person.next_form(rng)
        while post is not None and not is_at(name, post.path.removeprefix(home)):
            person.post(post)
            if not person.public_id:
                person.enrolled(self.study.participants.latest("pk"))
            post = person.next_form(rng)
            if post is not None and name in ELSEWHERE:
                post = self._elsewhere(person, f"{home}{name}/", post.fields)
        assert post is not None, name
        row, fields = person.row(), post.fields
        if name == "practice" and row is not None:
            fields["side"] = taking_part.practice_side(row)
        sent = Sent(post.path, [*fields.items()], cookies_of(person.client))
        return Form(name, person.client, sent, row, taken=(204,) if name == "ping" else TAKEN)

    def _elsewhere(self, person: Person, path: str, fields: dict[str, str]) -> Post | None:
        """A page that is open to a participant at any time."""
        if path.endswith("/ping/"):  # by the script of any page
            return Post(path, {n: value for n, value in fields.items() if n.startswith("csrf")})
        post = person.fill(person.get(path), path, random.Random(0))
        return post and Post(path, post.fields | {"code": person.code, "confirm": "1"})


def is_at(name: str, place: str) -> bool:
    return place == "" if name == "consent" else place.startswith(f"{name}/")


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
