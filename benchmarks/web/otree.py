"""oTree 6 from PyPI in an environment of its own, serving the equivalent app in production mode."""

import http.client
import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.utils.html import strip_tags
from django_countries import countries

from benchmarks.web.material import MadeItem
from benchmarks.web.people import ABOUT, MEASURES, RATED, Person
from benchmarks.web.site import free_port, started
from experiment.services.study_setup import default_briefing, default_consent

APP = Path(__file__).with_name("otree_app")
REQUIREMENTS = APP / "requirements.txt"


@dataclass(frozen=True, slots=True)
class OTree:
    """A running oTree; its REST key makes sessions."""

    port: int
    pid: int  # of its first process
    rest_key: str

    def entries(self, n: int) -> list[str]:
        """Make a session of `n` participants; the address at which each begins."""
        asked = {"session_config_name": "bench", "num_participants": n}
        code = self._ask("POST", "/api/sessions", asked)["code"]
        session = self._ask("POST", f"/api/get_session/{code}", {})
        return [f"/InitializeParticipant/{p['code']}" for p in session["participants"]]

    def _ask(self, method: str, path: str, values: dict[str, object]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "otree-rest-key": self.rest_key}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, json.dumps(values), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"oTree answered {answer.status} to {path}: {text[:500]}")
        return dict(json.loads(text))


class OTreePerson(Person):
    """Walks through the equivalent app, without the WebSocket that the script of each page opens too."""

    shown_again = 200

    def __init__(self, *args: Any) -> None:
        super().__init__(*args, scripted=False)

    async def begin(self, entry: str) -> None:
        await self.open(entry)
        self.expect("/Consent/")
        await self.leave({"agree": "yes"})
        self.expect("/Demographics/")
        await self.leave(ABOUT | {"age": "34", "experience_years": "9.5"})
        self.expect("/Practice/")
        for side in "AB":
            if "/Practice/" in self.page.path:
                await self.leave({"side": side})
        self.expect("/Start/")
        await self.leave({})
        while "/Trial/" in self.page.path:
            await self.leave({"side": self.rng.choice("AB")} | RATED | MEASURES)

    async def end(self) -> None:
        self.expect("/Debrief/")
        await self.leave({"cheated": "0", "comments": "Thank you"})
        self.expect("/Done/")
        self.ledger.finished += 1


def install_otree(folder: Path) -> Path:
    """An environment with what `otree_app/requirements.txt` pins; made once, then found again. Its `bin`."""
    programs, done = folder / "bin", folder / "installed.txt"
    wanted = REQUIREMENTS.read_text()
    if not done.exists() or done.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip: list[str | Path] = [
            programs / "pip",
            "install",
            "--quiet",
            "--requirement",
            REQUIREMENTS,
        ]
        subprocess.run(pip, check=True)
        done.write_text(wanted)
    return programs


def write_project(folder: Path, items: Sequence[MadeItem]) -> None:
    """Copy the app, with the same texts as our study's."""
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns("__pycache__"))
    material = {
        "items": [{"key": i.key, "stratum": i.stratum, "parts": i.parts} for i in items],
        "countries": [[code, str(name)] for code, name in countries],
        "briefing": strip_tags(default_briefing()).split("\n\n"),
        "consent": strip_tags(default_consent()).split("\n\n"),
    }
    (folder / "_static").mkdir()  # oTree does not start without it
    (folder / "material.json").write_text(json.dumps(material))


@contextmanager
def serve_otree(
    programs: Path, url: str, folder: Path, items: Sequence[MadeItem]
) -> Iterator[OTree]:
    """`otree prodserver` on the database at `url`, until the end of the block."""
    project, key, port = folder / "otree", secrets.token_hex(16), free_port()
    write_project(project, items)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "DATABASE_URL": url,
        "OTREE_PRODUCTION": "1",
        "OTREE_REST_KEY": key,
        "OTREE_SECRET_KEY": secrets.token_hex(16),
        "OTREE_ADMIN_PASSWORD": secrets.token_hex(16),
        "PYTHONWARNINGS": "ignore",
    }
    otree = str(programs / "otree")
    made = subprocess.run(
        [otree, "resetdb", "--noinput"],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if made.returncode:
        raise RuntimeError(f"oTree made no tables:\n{made.stdout[-2000:]}")
    command = [otree, "prodserver", f"127.0.0.1:{port}"]
    with started(command, project, environment, port, folder / "otree.log") as process:
        yield OTree(port, process.pid, key)
