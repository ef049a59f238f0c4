"""The server is killed in the midst of work: whatever it acknowledged is stored, once, and people go on."""

import threading
from dataclasses import dataclass, field

import requests
from django.db import connections

from experiment.models import Judgment, Participant, Study, Trial
from tests.experiment.http_client import TIMEOUT_S, Server, Visitor, at_once, hidden_fields
from tests.experiment.people import RATED

N_PEOPLE = 12
KILL_AFTER = 30  # acknowledged answers


@dataclass
class Burst:
    """People who answer as fast as they can, until the server is gone."""

    server: Server
    slug: str
    enough: threading.Event = field(default_factory=threading.Event)
    acknowledged: dict[str, str] = field(default_factory=dict)  # idempotency key -> side

    def take_part(self, visitor: Visitor, number: int) -> requests.PreparedRequest | None:
        """Answer until an answer or the next page does not come; the request that no one acknowledged."""
        try:
            page = visitor.open()
            while not page.url.endswith("/debrief/"):
                side = "AB"[number % 2]
                prepared = visitor.prepare(page, side=side, **RATED)
                try:
                    answer = visitor.session.send(
                        prepared, allow_redirects=False, timeout=TIMEOUT_S
                    )
                except requests.RequestException:
                    return prepared
                assert answer.status_code == 303, answer.text
                self.acknowledged[hidden_fields(page.text)["idempotency_key"]] = side
                if len(self.acknowledged) >= KILL_AFTER:
                    self.enough.set()
                page = visitor.open(answer.headers["Location"])
        except requests.RequestException:
            pass  # it was a page that did not come
        return None

    def kill_in_the_midst(self) -> None:
        assert self.enough.wait(timeout=TIMEOUT_S)
        self.server.kill()


def test_a_kill_amid_a_burst_keeps_each_acknowledged_answer_once_and_others_can_be_sent_again(
    server: Server, open_study: Study
) -> None:
    burst = Burst(server, open_study.slug)
    visitors = [Visitor(server.url, open_study.slug) for _ in range(N_PEOPLE)]
    at_once([visitor.reach_first_trial for visitor in visitors])
    jobs = [
        lambda number=number, visitor=visitor: burst.take_part(visitor, number)
        for number, visitor in enumerate(visitors)
    ]
    connections.close_all()
    *unacknowledged, _ = at_once([*jobs, burst.kill_in_the_midst])
    n_acknowledged = len(burst.acknowledged)
    assert KILL_AFTER <= n_acknowledged < N_PEOPLE * open_study.n_trials

    server.start()
    stored = dict(Judgment.objects.values_list("idempotency_key", "side"))
    stored = {str(key): side for key, side in stored.items()}
    assert len(stored) == Judgment.objects.count()
    assert burst.acknowledged.items() <= stored.items()
    assert len(stored) - n_acknowledged <= sum(sent is not None for sent in unacknowledged)

    in_doubt = 0
    for visitor, sent in zip(visitors, unacknowledged, strict=True):
        if sent is not None:  # what the page does: the same request again
            in_doubt += 1
            answer = visitor.session.send(sent, allow_redirects=False, timeout=TIMEOUT_S)
            assert answer.status_code == 303, answer.text
    assert in_doubt > 0, "no one was in the middle of an answer: the test has shown nothing"
    keys = [str(key) for key in Judgment.objects.values_list("idempotency_key", flat=True)]
    assert len(keys) == len(set(keys)) == n_acknowledged + in_doubt
    assert burst.acknowledged.keys() <= set(keys)

    for visitor in visitors:
        page = visitor.open()  # from the study's link to wherever they were
        while not page.url.endswith("/debrief/"):
            page = visitor.go_on(page, side="A", **RATED)
        visitor.go_on(page)
        visitor.session.close()
    assert Participant.objects.finished().count() == N_PEOPLE
    assert Judgment.objects.count() == Trial.objects.count() == N_PEOPLE * open_study.n_trials
