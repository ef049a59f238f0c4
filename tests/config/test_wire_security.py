"""Bytes that no browser sends, to gunicorn as its configuration sets it up: a clear refusal, and one line of log."""

import select
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.experiment.http_client import Server, send_bytes

FORM = b"application/x-www-form-urlencoded"
PARTS = b'multipart/form-data; boundary="b"'
HALF_A_FILE = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\na,b\n1,'
SIGN_IN = b"/lab/sign-in/"
GUNICORNS_OWN_S = 2  # after which it closes an idle connection if it is not told otherwise


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """On the tests' empty database: no request gets as far as a row."""
    server = Server(tmp_path_factory.mktemp("wire"))
    server.start()
    yield server
    server.stop()


def request(*headers: bytes, method: bytes = b"POST", path: bytes = SIGN_IN) -> bytes:
    lines = (method + b" " + path + b" HTTP/1.1", b"Host: 127.0.0.1", b"Connection: close")
    return b"\r\n".join((*lines, *headers)) + b"\r\n\r\n"


def typed(kind: bytes, *headers: bytes) -> bytes:
    return request(b"Content-Type: " + kind, *headers)


def log_of(server: Server) -> list[str]:
    return server.log.read_text().splitlines()


FOREIGN = {
    "SCRIPT_NAME": request(b"SCRIPT_NAME: /x"),
    "script_name that fits": request(b"script_name: /lab"),
    "PATH_INFO": request(b"PATH_INFO: /admin/"),
    "a NUL in the charset": typed(FORM + b"; charset*=utf-8''%00", b"Content-Length: 0"),
    "a charset's charset": typed(FORM + b"; charset*=none''x", b"Content-Length: 0"),
    "a raw NUL": typed(FORM + b"; charset=\x00", b"Content-Length: 0"),
    "no charset": typed(FORM + b"; charset=none", b"Content-Length: 0"),
    "a charset that is no text, for an address": request(
        b"Content-Type: text/plain; charset=hex", b"Content-Length: 0", path=SIGN_IN + b"?a=b"
    ),
    "a charset that is no text": typed(FORM + b"; charset=base64", b"Content-Length: 0"),
}
CUT = {
    "form": typed(FORM, b"Content-Length: 99") + b"username=a",
    "form without a byte": typed(FORM, b"Content-Length: 99"),
    "file": typed(PARTS, b"Content-Length: 9999") + HALF_A_FILE,
    "file after its last part": typed(PARTS, b"Content-Length: 9999") + HALF_A_FILE + b"\r\n--b--",
    "JSON": typed(b"application/json", b"Content-Length: 99") + b'{"a',
    "text": typed(b"text/plain", b"Content-Length: 99") + b"a",
    "no type": request(b"Content-Length: 99") + b"a",
    "chunk of a form": typed(FORM, b"Transfer-Encoding: chunked") + b"9\r\nusern",
    "chunk of a file": typed(PARTS, b"Transfer-Encoding: chunked") + b"99\r\n" + HALF_A_FILE,
    "no last chunk": typed(FORM, b"Transfer-Encoding: chunked") + b"1\r\na\r\n",
}


def test_a_body_that_is_cut_off_and_a_header_that_says_where_the_site_is_are_refused(
    server: Server,
) -> None:
    for name, sent in FOREIGN.items():
        status, text = send_bytes(server.url, sent)
        assert status == 400, (name, text)
    for name, sent in CUT.items():
        before = log_of(server)
        status, text = send_bytes(server.url, sent)
        assert status == 400, (name, text)
        assert "Content-Security-Policy" in text, name
        written = log_of(server)[len(before) :]
        assert len(written) == 1, (name, written)
        assert "WARNING django.request" in written[0]
    whole = typed(FORM, b"Content-Length: 10") + b"username=a"
    assert send_bytes(server.url, whole)[0] == 403, "a whole one lacks its token alone"
    assert "Traceback" not in server.log.read_text()


def test_a_connection_that_is_reset_within_a_body_is_one_line_and_frees_its_thread(
    server: Server,
) -> None:
    address = urlsplit(server.url)
    before = log_of(server)
    for _ in range(20):  # more than there are threads
        connection = socket.create_connection((address.hostname, address.port))
        connection.sendall(CUT["form"])
        # No farewell: as when a phone loses its network for good
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
    client = HTTPConnection(address.netloc, timeout=60)
    client.request("GET", "/healthz")
    assert client.getresponse().read() == b"ok"
    client.close()
    deadline = time.monotonic() + 60
    while len(log_of(server)) < len(before) + 20 and time.monotonic() < deadline:
        time.sleep(0.05)
    written = log_of(server)[len(before) :]
    assert [line for line in written if "the connection ended" not in line] == []
    assert len(written) == 20


def test_answers_of_gunicorn_itself_repeat_nothing_as_html(server: Server) -> None:
    attack = b"<script>alert(1)</script>"
    for sent in (
        b"GET / " + attack + b"\r\n\r\n",
        attack + b" / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        request(attack + b": x"),
        request(b"X_" + attack + b": x"),
    ):
        status, text = send_bytes(server.url, sent)
        assert status == 400
        assert attack.decode() not in text
        assert "Content-Type: text/html" in text


def test_a_connection_stays_open_while_someone_reads_a_page(server: Server) -> None:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b"ok"
    assert connection.sock is not None
    time.sleep(GUNICORNS_OWN_S + 1)
    readable, _, _ = select.select([connection.sock], [], [], 0)
    connection.close()
    assert not readable, "the server has closed it"
