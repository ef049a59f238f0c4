"""The works whose cost must not grow with a study: done as the site does them, by its own views and services."""

import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial

from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from benchmarks.growth.filling import KIND
from experiment.models import Participant, Study, Trial
from experiment.services import consenting, drawing, taking_part
from experiment.simulation.run import DEMOGRAPHICS

Work = Callable[[], object]
ABOUT = {name: values[0] for name, values in DEMOGRAPHICS.items()}


def draws(study: Study, repeats: int) -> Iterator[Work]:
    """Every trial of some participants: drawn, then answered."""
    for _ in range(repeats):
        person = at_first_trial(study)
        for position in range(1, person.n_trials + 1):
            shown: list[Trial] = []

            yield partial(_show, person, position, shown)
            answer(person, shown[0])


READING = timedelta(seconds=70)  # longer than `answer` says, as for a person


def _show(person: Participant, position: int, shown: list[Trial]) -> None:
    shown.append(drawing.show_trial(person, position, timezone.now() - READING))


def at_first_trial(study: Study) -> Participant:
    """Somebody new, who has read the pages before the trials."""
    now, consent = timezone.now(), study.consent
    assert consent is not None
    person = consenting.enroll(
        study, kind=lambda: KIND, consent_sha256=consent.sha256, key=uuid.uuid4(), now=now
    )
    person = taking_part.save_demographics(person, ABOUT, now)
    taking_part.attempt_practice(person, taking_part.practice_side(person), now)
    return taking_part.start_trials(person, now)


def answer(person: Participant, trial: Trial) -> None:
    answer = taking_part.Answer(
        trial.original_side, 70, 40, True, True, recognised=False, rt_ms=60_000
    )
    taking_part.judge(
        person, taking_part.Sent(trial.position, trial.token, uuid.uuid4(), answer, timezone.now())
    )


def consents(study: Study, repeats: int) -> Iterator[Work]:
    """A visitor's first page, and agreeing to it."""
    consent = study.consent
    assert consent is not None
    form = {"agree": "yes", "consent_sha256": consent.sha256}
    for _ in range(repeats):
        yield partial(_agree, Client(), study.get_absolute_url(), form)


def _agree(visitor: Client, address: str, form: dict[str, str]) -> None:
    _get(visitor, address)
    sent = visitor.post(address, form, secure=True)
    assert sent.status_code in (302, 303), sent.content


def pages(study: Study, repeats: int) -> dict[str, Iterator[Work]]:
    """The lab's pages by name, as a member of the study opens them."""
    member, _ = get_user_model().objects.get_or_create(username="bench-growth")
    study.members.add(member)
    client = Client()
    client.force_login(member)
    addresses = {
        "study_page": reverse("lab:study", args=[study.slug]),
        "live": reverse("lab:study_live", args=[study.slug]),
        "participants": reverse("lab:participants", args=[study.slug]),
        "left": reverse("lab:participants", args=[study.slug]) + "?status=left",
        "excluded": reverse("lab:participants", args=[study.slug]) + "?reason=missed_catch",
        "studies": reverse("lab:studies"),
        "results": reverse("lab:results", args=[study.slug]),
    }
    return {
        name: iter([partial(_get, client, address)] * repeats)
        for name, address in addresses.items()
    }


def _get(client: Client, address: str) -> None:
    shown = client.get(address, secure=True)
    assert shown.status_code == 200, shown.status_code
