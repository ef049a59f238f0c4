"""A participant who knows what they sent and what they were told."""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from lxml import html

from benchmarks.trust.fuzz.forms import new_client
from benchmarks.trust.fuzz.journey.faults import Fault, befallen
from benchmarks.web.walks import ABOUT, MEASURES, RATED
from experiment.models import Participant, Study

JSON = "application/json"
Answers = dict[int, tuple[str, str]]  # position -> key, side


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
                post.path, post.fields, headers={"Accept": JSON if post.by_script else "text/html"}
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
