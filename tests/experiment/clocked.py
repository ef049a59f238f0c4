"""Participants whose every page comes when a test says so, on a clock of the test's own."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.test import Client

from experiment.models import Participant, Study, Trial
from experiment.services import taking_part
from tests.experiment.people import MEASURES, RATED, agree, client_of

UNIVERSITY, HOME = "192.0.2.7", "198.51.100.9"


@dataclass
class Clock:
    at: datetime

    def __call__(self) -> datetime:
        return self.at

    def forward(self, **by: float) -> datetime:
        self.at += timedelta(**by)
        return self.at


def begin(study: Study, address: str = UNIVERSITY, query: str = "") -> Participant:
    return agree(study, query, Client(REMOTE_ADDR=address))


def describe(person: Participant, clock: Clock) -> Participant:
    """They send the page after consent."""
    return taking_part.save_demographics(person, {"age": "34"}, clock())


def come_to_trials(person: Participant, clock: Clock) -> Participant:
    person = describe(person, clock)
    person = taking_part.attempt_practice(person, taking_part.practice_side(person), clock())
    return taking_part.start_trials(person, clock())


def send(person: Participant, clock: Clock, seconds: float, **says: Any) -> Client:
    """Open the trial's page, and send its form so many seconds later; rightly, by the page's script."""
    client = client_of(person, headers={"accept": "application/json"})
    person.refresh_from_db()
    address = f"{person.study.get_absolute_url()}trial/{person.position}/"
    client.get(address)
    clock.forward(seconds=seconds)
    trial = Trial.objects.get(participant=person, position=person.position)
    keys = {"trial_token": str(trial.token), "idempotency_key": str(uuid.uuid4()), "reminded": "1"}
    form = {**keys, "side": trial.original_side, **RATED, **MEASURES, **says}
    assert client.post(address, form).status_code == 200
    return client


def finish(person: Participant, clock: Clock, seconds: float, **says: Any) -> Participant:
    while person.stage == "trial":
        send(person, clock, seconds, **says)
        person.refresh_from_db()
    return taking_part.finish(person, cheated=False, comments="", now=clock())
