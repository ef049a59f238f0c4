"""A backup is made while people answer: it is one moment's state, and they notice nothing."""

import threading
from pathlib import Path

from django.core.management import call_command
from django.db.models import Count, Max

from config.env import parse_database_url
from experiment.models import Judgment, Participant, Study
from lib.backup import manifest as manifests
from lib.backup.making import opened
from tests.experiment.copies.conftest import Backup
from tests.experiment.http_client import Server, Visitor, at_once, hidden_fields
from tests.experiment.people import RATED

N_PEOPLE = 3
ENOUGH = 10  # acknowledged answers before the backup begins


class Crowd:
    """People who answer as fast as the server does, and what they were told is stored."""

    def __init__(self, server: Server, slug: str) -> None:
        self.server, self.slug = server, slug
        self.acknowledged: list[str] = []
        self.enough = threading.Event()

    def take_part(self) -> None:
        with Visitor(self.server.url, self.slug) as visitor:
            page = visitor.reach_first_trial()
            while not page.url.endswith("/debrief/"):
                key = hidden_fields(page.text)["idempotency_key"]
                page = visitor.go_on(page, side="A", **RATED)
                self.acknowledged.append(key)
                if len(self.acknowledged) >= ENOUGH:
                    self.enough.set()
            visitor.go_on(page, comments="")


def test_it_is_one_moment_of_a_study_under_way(
    server: Server, open_study: Study, backup: Backup, elsewhere: str
) -> None:
    crowd = Crowd(server, open_study.slug)
    made: list[Path] = []
    before: set[str] = set()

    def back_up() -> None:
        assert crowd.enough.wait(60)
        before.update(crowd.acknowledged)
        made.append(backup())

    at_once([crowd.take_part] * N_PEOPLE + [back_up])
    call_command("restore", made[0], verify=True)
    call_command("restore", made[0], into=elsewhere)
    rows = manifests.read(made[0]).database.rows
    with opened(parse_database_url(elsewhere)):
        kept = {str(key) for key in Judgment.objects.values_list("idempotency_key", flat=True)}
        assert before <= kept
        assert len(kept) == rows["experiment_judgment"]
        people = Participant.objects.filter(trials__isnull=False)
        shown = people.annotate(n=Count("trials"), last=Max("trials__position"))
        assert all(person.n == person.last for person in shown)
        for person in shown.filter(stage="trial").annotate(judged=Count("trials__judgment")):
            assert person.judged in (person.position - 1, person.position)
    assert Judgment.objects.count() == N_PEOPLE * open_study.n_trials
