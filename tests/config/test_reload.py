"""A reload (SIGHUP) while requests come: every one is answered."""

import threading
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from signal import SIGHUP
from urllib.parse import urlsplit

import pytest

from tests.experiment.http_client import TIMEOUT_S, Server

PAUSE_S = 0.02  # else what asks takes the processor from what starts


@pytest.mark.django_db(transaction=True)
def test_no_request_is_lost_while_the_site_reloads(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    assert server.process is not None
    stop, wrong = threading.Event(), list[object]()
    place = urlsplit(server.url).netloc

    def ask(is_kept: bool) -> None:
        connection = HTTPConnection(place, timeout=TIMEOUT_S)
        while not stop.is_set():
            try:
                connection.request("GET", "/healthz")
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    wrong.append(answer.status)
                if not is_kept:
                    connection.close()
                time.sleep(PAUSE_S)
            except (OSError, HTTPException) as error:
                wrong.append(error)
                connection.close()
        connection.close()

    threads = [threading.Thread(target=ask, args=(number % 2 == 0,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        before = workers(server.process.pid)
        server.process.send_signal(SIGHUP)
        until = time.monotonic() + TIMEOUT_S
        while workers(server.process.pid) & before and time.monotonic() < until:
            time.sleep(0.1)
        assert not workers(server.process.pid) & before
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        server.stop()
    assert wrong == []


def workers(pid: int) -> set[str]:
    """Those that are there, once there are any: after a reload they may be on their way."""
    while not (found := Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
        time.sleep(PAUSE_S)
    return set(found)
