"""An upgrade of a running study: doors close, and nobody who is under way is lost."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client

from experiment.models import Judgment, Participant, Study
from lib.sessions import stored
from tests.experiment.http_client import ROOT, TIMEOUT_S, Server, hidden_fields
from tests.experiment.lab.members.test_sessions import digest_keys
from tests.experiment.people import RATED, client_of, start
from tests.factories import make_user
from tests.lib.test_private import USUAL_UMASK, make, mode

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]
OLD_FILES = ("results/report.json", "scoring/run/tokens", "withdrawals/one", "models/weights")


@pytest.fixture
def var(tmp_path: Path) -> Path:
    """The folder of a site that an earlier release made, started by hand or by cron."""
    folder = make(tmp_path / "var", 0o755)
    for name in OLD_FILES:
        make(folder / name, 0o644)
        for parent in (folder / name).relative_to(folder).parents:
            (folder / parent).chmod(0o755)
    return folder


@pytest.fixture
def server(var: Path) -> Iterator[Server]:
    """Behind TLS, as its proxy says."""
    one = Server(var)
    one.environment |= {"HTTPS": "1", "NUM_PROXIES": "1", "BASE_URL": "https://127.0.0.1"}
    yield one
    one.stop()


def ask(server: Server, path: str, cookies: dict[str, str], **sent: str) -> requests.Response:
    origin = server.url.replace("http:", "https:")
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    headers = {
        "X-Forwarded-Proto": b"https",
        "Referer": f"{origin}/".encode(),
        "Cookie": cookie.encode(),
    }
    with requests.Session() as session:
        session.trust_env = False
        return session.request(
            "POST" if sent else "GET",
            server.url + path,
            data=sent,
            headers=headers,
            allow_redirects=False,
            timeout=TIMEOUT_S,
        )


def with_better_names(client: Client) -> dict[str, str]:
    return {f"__Host-{name}": morsel.value for name, morsel in client.cookies.items()}


def test_an_upgrade_keeps_cookies_valid_and_closes_open_files(
    open_study: Study, server: Server, var: Path
) -> None:
    person = start(open_study)
    participant = with_better_names(client_of(person))
    member = Client()
    member.force_login(make_user("ruth", open_study))
    key = member.cookies["sessionid"].value
    # As the release before stored it
    Session.objects.filter(pk=stored(key)).update(session_key=key)
    upgrade(server.environment)

    assert {name: oct(mode(var / name)) for name in OLD_FILES} == dict.fromkeys(OLD_FILES, "0o600")
    assert mode(var) == mode(var / "scoring" / "run") == 0o700
    assert [row.pk for row in Session.objects.all()] == [stored(key)]

    server.start()
    entry = open_study.get_absolute_url()
    came = ask(server, entry, participant)
    assert (came.status_code, came.headers["Location"]) == (303, f"{entry}trial/1/")
    page = ask(server, f"{entry}trial/1/", participant)
    assert page.status_code == 200
    assert person.withdrawal_code in page.text
    participant["__Host-csrftoken"] = page.cookies["__Host-csrftoken"]
    sent = ask(
        server, f"{entry}trial/1/", participant, side="A", **RATED, **hidden_fields(page.text)
    )
    assert (sent.status_code, sent.headers["Location"]) == (303, f"{entry}trial/2/")
    assert Judgment.objects.get().trial.participant == person
    assert Participant.objects.count() == 1

    lab = ask(server, "/lab/", {"__Host-sessionid": key})
    assert lab.status_code == 200
    assert "ruth" in lab.text

    # And the doors are closed: by names that any host beside the site can set, and by what a reader of the table sees
    for instead in ("", "\u2003__Host-"):
        planted = {name.replace("__Host-", instead): text for name, text in participant.items()}
        stranger = ask(server, entry, planted)
        assert stranger.status_code == 200
        assert "Informed consent" in stranger.text
        assert not re.search("bb-participant", str(stranger.cookies))
        assert ask(server, "/lab/", {f"{instead}sessionid": key}).status_code == 302
    assert ask(server, "/lab/", {"__Host-sessionid": stored(key)}).status_code == 302


def upgrade(environment: dict[str, str]) -> None:
    """The rows first, as the migration changes them: the test's tables are of this release already."""
    digest_keys(apps, connection.schema_editor())
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
        env=os.environ | environment,
        cwd=ROOT,
        check=True,
        umask=USUAL_UMASK,
    )
