"""The nginx site as it is shipped, in front of a real gunicorn; ports and paths are the test's."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
import urllib3

from benchmarks.web.site import free_port
from tests.experiment.http_client import ROOT, Server

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(shutil.which("nginx") is None, reason="Debian: apt-get install nginx-light"),
]
POLICIES = (
    "Content-Security-Policy",
    "X-Frame-Options",
    "X-Content-Type-Options",
    "Referrer-Policy",
    "Strict-Transport-Security",
)
HOST = "lab.example.org"
START_S = 20


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Proxied:
    def __init__(self, folder: Path, server: Server) -> None:
        self.folder, self.server, self.port = folder, server, free_port()
        self.plain_port = free_port()

    def ask(self, method: str, path: str, **more: object) -> requests.Response:
        headers = {"Host": HOST, **more.pop("headers", {})}  # type: ignore[dict-item]
        with requests.Session() as session:
            session.trust_env = False
            with pytest.warns(urllib3.exceptions.InsecureRequestWarning):
                return session.request(
                    method,
                    f"https://127.0.0.1:{self.port}{path}",
                    headers=headers,
                    verify=False,
                    allow_redirects=False,
                    timeout=60,
                    **more,
                )  # type: ignore[arg-type]

    def write(self) -> Path:
        key = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={HOST}".split()
        subprocess.run(
            [*key, "-keyout", self.folder / "privkey.pem", "-out", self.folder / "fullchain.pem"],
            check=True,
            capture_output=True,
        )
        site = (ROOT / "deploy" / "nginx" / "brainbench.conf").read_text()
        for shipped, ours in {
            "/etc/ssl/brainbench": str(self.folder),
            "/var/log/nginx": str(self.folder),
            "unix:/run/brainbench/site.sock": self.server.url.removeprefix("http://"),
            "listen 443": f"listen 127.0.0.1:{self.port}",
            "listen 80": f"listen 127.0.0.1:{self.plain_port}",
        }.items():
            assert shipped in site
            site = site.replace(shipped, ours)
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        path = self.folder / "nginx.conf"
        path.write_text(
            f"daemon off; pid {self.folder}/pid; events {{}} http {{ {temporary} {site} }}"
        )
        return path


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[Proxied]:
    server = Server(tmp_path)
    server.environment |= {"HTTPS": "1", "ALLOWED_HOSTS": HOST, "NUM_PROXIES": "1"}
    found = Proxied(tmp_path, server)
    server.start()
    with (tmp_path / "nginx.log").open("w") as log:
        nginx = subprocess.Popen(["nginx", "-e", "stderr", "-c", found.write()], stderr=log)
    try:
        until = time.monotonic() + START_S
        while not is_open(found.port):
            assert nginx.poll() is None, (tmp_path / "nginx.log").read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
        yield found
    finally:
        nginx.terminate()
        nginx.wait()
        server.stop()


def test_pages_pass_and_nginxs_own_answers_carry_the_policies_too(proxied: Proxied) -> None:
    page = proxied.ask("GET", "/lab/sign-in/", headers={"X-Request-ID": "a" * 32})
    assert page.status_code == 200, "X-Forwarded-Proto is believed: it is not led to https again"
    assert page.headers["X-Request-ID"] != "a" * 32, "a client does not name its requests"
    assert proxied.ask("GET", f"/lab/?{'x' * 3600}").status_code == 302, (
        "its answer has the address twice"
    )
    refused = proxied.ask("POST", "/lab/sign-in/", data=b"x" * (33 * 1024 * 1024))
    assert 400 <= refused.status_code < 500
    unread = proxied.ask("GET", "/%00")
    assert (unread.status_code, "cannot be read" in unread.text) == (400, True)
    hidden = [proxied.ask("GET", path) for path in ("/metrics", "/healthz/deep")]
    assert [answer.status_code for answer in hidden] == [404, 404]
    proxied.server.stop()
    away = proxied.ask("GET", "/lab/sign-in/?PROLIFIC_PID=the-secret")
    assert (away.status_code, away.headers["Retry-After"]) == (503, "5")
    assert away.headers["Refresh"] == "5"
    assert "Refresh" not in proxied.ask("POST", "/lab/sign-in/").headers
    for answer in (page, refused, unread, away, *hidden):
        assert [name for name in POLICIES if name not in answer.headers] == []
    written = [path.read_text() for path in proxied.folder.glob("*.log")]
    assert "the-secret" not in "".join(written)


def test_visitors_without_tls_are_led_to_it_with_the_policies(proxied: Proxied) -> None:
    with requests.Session() as session:
        session.trust_env = False
        address = f"http://127.0.0.1:{proxied.plain_port}/s/memory/"
        answer = session.get(address, allow_redirects=False, timeout=60)
    assert (answer.status_code, answer.headers["Location"]) == (301, f"https://{HOST}/s/memory/")
    # Browsers take HSTS over TLS alone (RFC 6797, 7.2)
    assert [name for name in POLICIES if name not in answer.headers] == [POLICIES[-1]]
