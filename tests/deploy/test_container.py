"""A site in containers of the image that deploy/compose builds, with the settings of compose.yaml."""

import json
import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from benchmarks.databases import scratch_postgres, using
from benchmarks.trust.audit import failures, out_of_step
from benchmarks.trust.broker import Broker, missing_redis
from benchmarks.web.client import HOST, Client
from benchmarks.web.people import Ledger, taking_part
from benchmarks.web.site import free_port, wait_until, wait_until_listens
from experiment.models import Judgment, Participant
from tests.deploy import buildah
from tests.deploy.test_shipped import COMPOSE, RUN, environment

MISSING = buildah.missing() or missing_redis()
pytestmark = [pytest.mark.sweep, pytest.mark.skipif(bool(MISSING), reason=MISSING)]
SITE = "lab.example.org"
# What browsers send by TLS, and nginx
PASSED_ON = {
    "Host": SITE,
    "Referer": f"https://{SITE}/",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "192.0.2.7",
}
VOLUMES = ("/var/lib/brainbench", "/var/lib/brainbench-backups")
SERVICES = ("prepare", "web", "worker", "backup")
PEOPLE, THINK_S = 4, 0.05
SHIPPED: dict[str, Any] = COMPOSE["services"]


class Proxied(Client):
    """A browser whose requests come as nginx passes them on."""

    def path_of(self, location: str) -> str:
        return location.removeprefix(f"https://{SITE}")

    def _request(self, method: str, path: str, body: bytes | None, accept: str) -> bytes:
        host = f"Host: {HOST}:{self.port}"
        passed_on = "\r\n".join(f"{name}: {text}" for name, text in PASSED_ON.items())
        request = super()._request(method, path, body, accept)
        assert host.encode() in request
        return request.replace(host.encode(), passed_on.encode(), 1)


@dataclass
class Site:
    """Containers of one site: each service has its own, and all have its volumes."""

    store: buildah.Store
    folder: Path
    settings: dict[str, str]
    port: int
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def create(self) -> None:
        volumes = {place: self.folder / Path(place).name for place in VOLUMES}
        for folder in volumes.values():
            folder.mkdir(mode=0o700)
            os.chown(folder, buildah.OWNER, buildah.OWNER)
        for service in SERVICES:
            self.store.create(service, volumes)

    def run(self, service: str, command: str) -> str:
        return self.store.run(service, command, self.settings)

    def manage(self, command: str) -> Any:
        """The JSON of a command."""
        return json.loads(self.run("prepare", f".venv/bin/python manage.py {command} --json"))

    def start(self, service: str) -> None:
        command = SHIPPED[service]["command"]
        started = self.store.start(service, command, self.settings, self.log(service))
        self.running[service] = started
        if service == "web":
            wait_until_listens(started, self.port, self.log(service))

    def stop(self, service: str) -> None:
        """Within the time that compose gives it."""
        patience_s = int(SHIPPED[service]["stop_grace_period"].removesuffix("s"))
        status = buildah.stop(self.running[service], patience_s)
        del self.running[service]
        assert status == 0, self.log(service).read_text()

    def log(self, service: str) -> Path:
        return self.folder / f"{service}.log"

    def ask(self, method: str, path: str, token: str) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            headers = PASSED_ON | {"Authorization": f"Bearer {token}"}
            url = f"http://{HOST}:{self.port}{path}"
            return session.request(method, url, headers=headers, timeout=60)


@contextmanager
def image() -> Iterator[buildah.Store]:
    folder = Path(tempfile.mkdtemp(prefix="brainbench-image-", dir="/var/tmp"))
    folder.chmod(0o755)  # apt reads as a user of its own
    store = buildah.Store(folder)
    began = time.monotonic()
    try:
        store.build()
        sizes = ", ".join(store.call("images", "--format", "{{.Name}} {{.Size}}").splitlines())
        print(f"built in {time.monotonic() - began:.0f} s: {sizes}")
        yield store
    finally:
        store.remove()


@contextmanager
def site(store: buildah.Store, folder: Path, url: str) -> Iterator[Site]:
    port, broker = free_port(), Broker(folder)
    settings = environment() | broker.changes | {"DATABASE_URL": url, "VAR_DIR": VOLUMES[0]}
    # No bridge is between these containers and their neighbours
    settings |= {"BIND": f"{HOST}:{port}", "FORWARDED_ALLOW_IPS": HOST}
    made = Site(store, folder, settings, port)
    broker.start()
    try:
        made.create()
        yield made
    finally:
        for process in made.running.values():
            buildah.kill(process)
        broker.stop()


@pytest.mark.django_db(transaction=True)
def test_a_site_in_containers_serves_computes_backs_up_and_stops_without_losing_an_answer(
    tmp_path: Path,
) -> None:
    with (
        scratch_postgres() as url,
        image() as store,
        site(store, tmp_path, url or "") as made,
    ):
        began = time.time()
        print(made.run("prepare", SHIPPED["prepare"]["command"]))
        assert made.manage("create_admin")["url"].startswith(f"https://{SITE}/")
        made.run("prepare", ".venv/bin/python manage.py load_demo")
        token = made.manage("create_token admin --study demo --scopes read write")["token"]
        made.start("worker")
        made.start("web")

        ledger = Ledger(connect=Proxied)
        with taking_part(PEOPLE, made.port, "/s/demo/", ledger, think_s=THINK_S, spread_s=1.0):
            ledger.wait_for(5)
            assert ledger.problems == []
            made.stop("web")
            acknowledged = len(ledger.acknowledged)
            made.start("web")
            ledger.wait_for(1)
            check = shlex.join(SHIPPED["web"]["healthcheck"]["test"][1:])
            made.run("web", check.replace(":8000/", f":{made.port}/"))
        assert ledger.finished == PEOPLE

        report = "/api/v1/studies/demo/report/"
        assert made.ask("POST", f"{report}start/?kind=simulated", token).status_code == 202
        computed_s = wait_until(
            lambda: made.ask("GET", f"{report}?kind=simulated", token).status_code == 200, 300
        )
        deep = made.ask("GET", "/healthz/deep", made.settings["METRICS_TOKEN"])
        assert deep.status_code == 200, deep.text
        [backup] = RUN.findall(SHIPPED["backup"]["command"][-1])
        print(made.run("backup", backup))
        made.stop("web")
        made.stop("worker")

        with using(url or ""):
            answers = Judgment.objects.filter(trial__participant__kind=Participant.Kind.REAL)
            columns = ("idempotency_key", "trial__position", "side", "confidence", "expertise")
            stored = sorted((str(key), *given) for key, *given in answers.values_list(*columns))
            assert stored == sorted(
                (key, sent.position, sent.side, sent.confidence, sent.expertise)
                for key, sent in ledger.acknowledged.items()
            )
            assert list(out_of_step()) == []
        assert [line for name in ("web", "worker") for line in failures(made.log(name))] == []
        # The root of these containers can be written to; those of compose are read-only
        written = f"-type f -user {buildah.OWNER} -newermt @{began} -not -path '/tmp/*' -print"
        for service in SERVICES:
            found = made.run(service, f"find / -xdev -type d -not -readable -prune -o {written}")
            assert found == ""
        print(
            f"{len(ledger.acknowledged)} answers of {PEOPLE} people, {acknowledged} before the first stop; "
            f"a report in {computed_s:.0f} s; backups {VOLUMES[1]}: {os.listdir(tmp_path / Path(VOLUMES[1]).name)}"
        )
