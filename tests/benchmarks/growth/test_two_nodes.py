"""Two web servers that share a database and a secret key, and nothing else, are one site."""

import asyncio
from itertools import cycle
from pathlib import Path

import pytest

from benchmarks.databases import scratch_postgres, using
from benchmarks.web.client import Client, Record
from benchmarks.web.material import make_items
from benchmarks.web.people import Ledger, Person
from benchmarks.web.site import ENTRY, make_study, serve_site
from experiment.domain.exclusion import Rules
from experiment.models import ItemCount, Participant, Study
from experiment.services.recounting import check
from experiment.services.study_versions import revise

PEOPLE = 8


class Alternating(Client):
    """Every request goes to the other server than the one before."""

    def __init__(self, ports: list[int], record: Record) -> None:
        super().__init__(ports[0], record)
        self._ports = cycle(ports)

    async def ask(
        self, method: str, path: str, body: bytes | None, accept: str
    ) -> tuple[int, dict[str, str], str]:
        self.close()
        self.port = next(self._ports)
        return await super().ask(method, path, body, accept)

    def path_of(self, location: str) -> str:
        return "/" + location.split("/", 3)[3] if "://" in location else location


async def _walk(ports: list[int], ledger: Ledger) -> None:
    people = [Person(n, ports[0], ledger, scripted=True) for n in range(PEOPLE)]
    for person in people:
        person.client = Alternating(ports[:: 1 if person.number % 2 else -1], ledger.record)
    await asyncio.gather(*(person.take_part(ENTRY) for person in people))
    await asyncio.sleep(0.1)  # until the loop has closed what they closed


@pytest.mark.sweep
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_requests_that_alternate_between_two_servers_are_one_session(tmp_path: Path) -> None:
    ledger = Ledger()
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    shared = {"SECRET_KEY": "shared by both " * 4, "STATIC_HASHED": "0"}
    with scratch_postgres() as url:
        assert url is not None
        make_study(url, make_items())
        with using(url):
            # Items of who is left out are drawn again: without them, the draws themselves say whether they are balanced
            revise(Study.objects.get(), rules=Rules(missed_catch=False, min_rt_ms=0))
        with (
            serve_site(url, folders[0], **shared) as one,
            serve_site(url, folders[1], **shared) as two,
        ):
            asyncio.run(_walk([one.port, two.port], ledger))
            logs = one.log.read_text() + two.log.read_text()
        with using(url):
            people = Participant.objects.all()
            assert (people.count(), people.finished().count()) == (PEOPLE, PEOPLE)
            assert set(people.values_list("excluded_by", flat=True)) == {""}
            # There are more of these than are drawn in all
            for stratum in ("human", "machine"):
                taken = ItemCount.objects.filter(stratum=stratum).values_list("assigned", flat=True)
                assert max(taken) - min(taken) <= 1
            assert check(Study.objects.all()) == []
    assert ledger.record.dropped == 0
    # 422: the wrong side of the practice trial, as some try first
    assert set(ledger.record.statuses) <= {200, 422}
    assert "Traceback" not in logs
