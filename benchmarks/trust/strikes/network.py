"""Faults of the network between participants and the site."""

import asyncio
import http.client
import random
import socket
import struct
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from functools import partial
from typing import Any

from benchmarks.trust.outcome import Outcome, Scale
from benchmarks.trust.world import World
from benchmarks.web.client import Client, Record
from benchmarks.web.people import Ledger
from benchmarks.web.site import ENTRY

BODY = b"agree=yes&consent_sha256=" + b"0" * 64
REFUSED = "cut within the body"
LOGGED_WITHIN_S = 10.0
# Close at once and forget what was not sent, as when a cable is pulled
RESET = struct.pack("ii", 1, 0)


CUT_SHARE = 0.15  # of requests
TRICKLE_S, TRICKLED = 0.05, 40  # bytes, one by one; the others at once


class Cut(StrEnum):
    """The fate of a request and its answer. After all but the last two, the connection is closed."""

    BEFORE = "before the request"
    WITHIN_HEAD = "within the request's head"
    WITHIN_BODY = "within the request's body"
    BEFORE_ANSWER = "before the answer"
    WITHIN_ANSWER = "within the answer"
    TRICKLE = "sent byte by byte"
    HALF_CLOSED = "closed on one side after the request"


class CutClient(Client):
    """A browser behind a bad network."""

    def __init__(self, port: int, record: Record, rng: random.Random, struck: Counter[Cut]) -> None:
        super().__init__(port, record)
        self.rng, self.struck = rng, struck
        self.is_half_closed = False

    def _next(self, has_body: bool) -> Cut | None:
        if self.rng.random() >= CUT_SHARE:
            return None
        cuts = [cut for cut in Cut if has_body or cut is not Cut.WITHIN_BODY]
        fewest = min(self.struck[cut] for cut in cuts)  # so that every kind has its turn
        cut = self.rng.choice([cut for cut in cuts if self.struck[cut] == fewest])
        self.struck[cut] += 1
        return cut

    async def send(
        self, request: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        n_head = request.index(b"\r\n\r\n") + 4
        n_body = len(request) - n_head
        cut = self._next(has_body=n_body > 0)
        n_sent = {
            Cut.BEFORE: 0,
            Cut.WITHIN_HEAD: n_head // 2,
            Cut.WITHIN_BODY: n_head + n_body // 2,
            Cut.TRICKLE: len(request) - TRICKLED,
        }.get(cut or Cut.BEFORE_ANSWER, len(request))
        await super().send(request[:n_sent], reader, writer)
        if cut is Cut.TRICKLE:
            for at in range(n_sent, len(request)):
                await super().send(request[at : at + 1], reader, writer)
                await asyncio.sleep(TRICKLE_S)
        elif cut is Cut.HALF_CLOSED:
            writer.write_eof()
            self.is_half_closed = True
        elif cut is not None:
            if cut is Cut.WITHIN_ANSWER:
                await reader.readexactly(self.rng.randrange(1, 100))
            raise ConnectionAbortedError(cut)

    async def ask(self, *args: Any) -> tuple[int, dict[str, str], str]:
        answer = await super().ask(*args)
        if self.is_half_closed:
            self.close()
            self.is_half_closed = False
        return answer


def cut_and_slow(world: World, scale: Scale) -> Outcome:
    """People behind a bad network, who send again what was not answered."""
    struck = Counter[Cut]()
    ledger = Ledger(connect=partial(CutClient, rng=random.Random(world.seed), struck=struck))
    with world.site() as site, world.people(scale.of(5, 24), site.port, ledger=ledger):
        pass
    missing = tuple(f"no connection was {cut}" for cut in Cut if not struck[cut])
    return world.settle(ledger, sum(struck.values()), problems=missing)


def half_sent(world: World, scale: Scale) -> Outcome:
    """Forms that end within their body: 400 to who still listens, one line in the log, nothing stored."""
    n = scale.of(2, 20)
    problems = []
    with world.site() as site:
        for _ in range(n):
            with half_a_form(site.port) as connection:
                connection.sock.shutdown(socket.SHUT_WR)
                if (status := connection.getresponse().status) != 400:
                    problems.append(f"a truncated form got the status {status}")
            with half_a_form(site.port):
                pass  # closed
            with half_a_form(site.port) as connection:
                connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        until = time.monotonic() + LOGGED_WITHIN_S
        while (lines := refusals(site.log.read_text())) != 3 * n and time.monotonic() < until:
            time.sleep(0.1)
        if lines != 3 * n:
            problems.append(f"{3 * n} truncated forms caused {lines} lines of the log")
    return world.settle(Ledger(), 3 * n, problems=tuple(problems))


def refusals(log: str) -> int:
    return sum(REFUSED in line for line in log.splitlines())


@contextmanager
def half_a_form(port: int) -> Iterator[http.client.HTTPConnection]:
    """A connection on which the head of a request and half of its body were sent."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection.putrequest("POST", ENTRY)
        connection.putheader("Content-Type", "application/x-www-form-urlencoded")
        connection.putheader("Content-Length", str(len(BODY)))
        connection.endheaders(BODY[: len(BODY) // 2])
        time.sleep(0.05)  # the site is reading the body by now
        yield connection
