"""Connections end before, within and after a request, and are slow."""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.trust.chaos import Cut, chaos
from benchmarks.trust.check import SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.people import Ledger
from benchmarks.trust.world import World
from benchmarks.web.site import ENTRY

BODY = b"agree=yes&consent_sha256=" + b"0" * 64
REFUSED = "cut within the body"
LOGGED_WITHIN_S = 10.0
# Close at once and forget what was not sent, as when a cable is pulled
RESET = struct.pack("ii", 1, 0)


def cut_and_slow(world: World, scale: Scale) -> Outcome:
    """People behind a bad network, who send again what was not answered."""
    with (
        world.site() as site,
        chaos(site.port, tuple(Cut), share=0.15, seed=world.seed) as network,
        world.people(scale.of(5, 24), network.port) as ledger,
    ):
        pass
    missing = tuple(f"no connection was {cut}" for cut in Cut if not network.struck[cut])
    return world.settle(ledger, sum(network.struck.values()), problems=missing)


def half_sent(world: World, scale: Scale) -> Outcome:
    """Forms that end within their body: 400 to who still listens, one line in the log, nothing stored."""
    n = scale.of(2, 20)
    problems = []
    with world.site() as site:
        for _ in range(n):
            with half_a_form(site.port) as connection:
                connection.shutdown(socket.SHUT_WR)
                if (status := status_of(connection)) != 400:
                    problems.append(f"half a form was answered {status}")
            with half_a_form(site.port):
                pass  # closed
            with half_a_form(site.port) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        until = time.monotonic() + LOGGED_WITHIN_S
        while (lines := refusals(site.log.read_text())) != 3 * n and time.monotonic() < until:
            time.sleep(0.1)
        if lines != 3 * n:
            problems.append(f"{3 * n} forms that were cut off are {lines} lines of the log")
    return world.settle(Ledger(), 3 * n, problems=tuple(problems))


def refusals(log: str) -> int:
    return sum(REFUSED in line for line in log.splitlines())


@contextmanager
def half_a_form(port: int) -> Iterator[socket.socket]:
    """A connection on which the head of a request and half of its body were sent."""
    head = (
        f"POST {ENTRY} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(BODY)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode() + BODY[: len(BODY) // 2])
        time.sleep(0.05)  # the site is reading the body by now
        yield connection


def status_of(connection: socket.socket) -> int:
    answer = b""
    while b"\r\n" not in answer:
        if not (received := connection.recv(4096)):
            return 0
        answer += received
    return int(answer.split(b" ", 2)[1])


CHECKS = (
    Check(
        "network-cut",
        "Connections cut within requests and answers, or slow",
        Part.REQUESTS,
        cut_and_slow,
        short_on=SQLITE_ALONE,
    ),
    Check(
        "half-sent",
        "Forms cut off within their body",
        Part.REQUESTS,
        half_sent,
        short_on=SQLITE_ALONE,
    ),
)
