"""gunicorn as its configuration sets it up."""

import select
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.experiment.http_client import Server

GUNICORNS_OWN_S = 2  # after which it closes an idle connection if it is not told otherwise


@pytest.mark.django_db(transaction=True)
def test_a_connection_stays_open_while_someone_reads_a_page(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    try:
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok"
        assert connection.sock is not None
        time.sleep(GUNICORNS_OWN_S + 2)
        readable, _, _ = select.select([connection.sock], [], [], 0)
        assert not readable, "the server has closed it"
    finally:
        connection.close()
        server.stop()
