"""Participants with a page open: a browser that the site knows, an address, and a form that would be taken."""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from experiment.models import Judgment, Participant, Study, Trial
from experiment.participant import identity
from experiment.services import consenting, drawing, taking_part

PAGES = ("consent", "about-you", "practice", "start", "trial", "debrief", "withdraw")
ABOUT_ME = {
    "gender": "female",
    "age_number": "34",
    "country": "GB",
    "position": "faculty",
    "experience_years_number": "9.5",
}
RATED = {"confidence": "70", "expertise": "9", "recognised": "no"}
MEASURES = {
    "rt_choice_ms": "61000",
    "rt_final_choice_ms": "64000",
    "rt_ms": "75250",
    "confidence_first_ms": "66000",
    "confidence_last_ms": "68000",
    "expertise_first_ms": "70000",
    "expertise_last_ms": "70000",
    "changes": "1",
    "aid_switches": "2",
    "blur_count": "0",
    "hidden_ms": "0",
    "reloads": "0",
    "viewport_width": "1280",
    "viewport_height": "800",
    "translated": "no",
}


READING = timedelta(seconds=80)  # longer than any test says that somebody read


@dataclass
class AtPage:
    """Somebody at a page, and what they have filled in there."""

    client: Client
    address: str
    fields: dict[str, str]
    person: Participant | None = None

    def send(self, **changes: Any) -> HttpResponse:
        """Send the form, with other values in some of its fields."""
        return self.client.post(self.address, self.fields | changes)


def read(person: Participant) -> None:
    """The page with the trial that they are on was shown a while ago."""
    open_now = Trial.objects.filter(participant=person, judgment=None, advised=None)
    # In a transaction it waits its turn; outside of one, SQLite lets others overtake until it gives up
    with transaction.atomic(savepoint=False):
        open_now.update(shown_at=F("shown_at") - READING)


def enroll(study: Study, **fields: Any) -> Participant:
    """Somebody who has just agreed."""
    values = {
        "kind": lambda: consenting.entry_kind(study, timezone.now(), is_member=False),
        "consent_sha256": study.consent.sha256,
        "key": uuid.uuid4(),
        "now": timezone.now(),
    }
    return consenting.enroll(study, **(values | fields))


def start(study: Study, **fields: Any) -> Participant:
    """Somebody who has passed the practice trial, where there is one, and the page after it."""
    person = enroll(study, **fields)
    person = taking_part.save_demographics(person, {"age": "34"}, timezone.now())
    if person.judges_abstracts:
        right = taking_part.practice_side(person)
        assert taking_part.attempt_practice(person, right, timezone.now()).stage == "start"
    return taking_part.start_trials(person, timezone.now())


def answer(person: Participant, *, until: int, side: str | None = None) -> Participant:
    """Show and answer the trials that are left, up to this position; rightly unless a side is given."""
    for position in range(person.position, until + 1):
        trial = drawing.show_trial(person, position, timezone.now())
        read(person)
        written = None
        choice = taking_part.Answer(
            side or trial.original_side, 70, 9, True, True, recognised=False, rt_ms=60_000
        )
        if trial.stratum == "question":
            choice = taking_part.Answer("", 70, confidence_moved=True, rt_ms=60_000)
            written = taking_part.Written("It rises.")
        now = timezone.now()
        sent = taking_part.Sent(position, trial.token, uuid.uuid4(), choice, now, written)
        taking_part.judge(person, sent)
    person.refresh_from_db()
    return person


def finish(study: Study) -> Participant:
    """Somebody who took the whole study, and validly."""
    person = answer(start(study), until=study.n_trials)
    return taking_part.finish(person, cheated=False, comments="", now=timezone.now())


def client_of(person: Participant | None = None, **options: Any) -> Client:
    """A browser that the site knows as this person's; a failure in a view is a 500 here as elsewhere."""
    client = Client(raise_request_exception=False, **options)
    if person is not None:
        response = HttpResponse()
        identity.write_participant(response, person.study, person)
        client.cookies.update(response.cookies)
    return client


def come(study: Study, query: str = "", client: Client | None = None) -> str:
    """The page to which a link leads; without a client, in a browser that knows nothing."""
    shown = (client or Client()).get(study.get_absolute_url() + query, follow=True)
    return shown.content.decode()


def decide(study: Study, client: Client, agree: str = "yes") -> HttpResponse:
    """The answer to the form of consent."""
    form = {"agree": agree, "consent_sha256": study.consent.sha256}
    return client.post(study.get_absolute_url(), form)


def agree(study: Study, query: str = "", client: Client | None = None) -> Participant:
    """Somebody who comes by this link and agrees."""
    client = client or Client()
    come(study, query, client)
    assert decide(study, client).status_code == 303
    return Participant.objects.latest("pk")


def open_page(study: Study, page: str, **options: Any) -> AtPage:
    """Somebody at one of PAGES, who has filled in all that it asks."""
    home = study.get_absolute_url()
    if page == "consent":
        client = client_of(None, **options)
        client.get(home)
        return AtPage(client, home, {"agree": "yes", "consent_sha256": study.consent.sha256})
    if page == "withdraw":
        person = finish(study)
        fields = {"code": person.withdrawal_code, "confirm": "1"}
        return AtPage(client_of(person, **options), f"{home}withdraw/", fields, person)
    if page == "about-you":
        person = enroll(study)
        fields = ABOUT_ME
    elif page == "practice":
        person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
        fields = practice_fields(person)
    elif page == "start":
        person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
        taking_part.attempt_practice(person, taking_part.practice_side(person), timezone.now())
        fields = {}
    elif page == "debrief":
        person = answer(start(study), until=study.n_trials)
        fields = {"cheated": "1", "comments": "Thank you."}
    else:
        return open_trial(answer(start(study), until=1), **options)
    return AtPage(client_of(person, **options), f"{home}{page}/", dict(fields), person)


def practice_fields(person: Participant) -> dict[str, str]:
    """The form of the practice, with the right side chosen."""
    keys = {"trial_token": str(uuid.uuid4()), "idempotency_key": str(uuid.uuid4())}
    return {**keys, "side": taking_part.practice_side(person), **RATED, **MEASURES}


def open_trial(person: Participant, **options: Any) -> AtPage:
    """This person at the trial that they are on."""
    trial = drawing.show_trial(person, person.position, timezone.now())
    read(person)
    fields = {
        "trial_token": str(trial.token),
        "idempotency_key": str(uuid.uuid4()),
        "reminded": "",
        "side": trial.original_side,
        **RATED,
        **MEASURES,
    }
    address = f"{person.study.get_absolute_url()}trial/{person.position}/"
    return AtPage(client_of(person, **options), address, fields, person)


def stored() -> list[list[dict[str, Any]]]:
    """All that is known of participants, but for when they were last seen."""
    tables = [
        list(model.objects.order_by("pk").values()) for model in (Participant, Trial, Judgment)
    ]
    for row in tables[0]:
        del row["last_seen_at"]
    return tables
