"""The page Model servers, the list of a server's models, and where a key is not found."""

import io
import json
import logging
from pathlib import Path

import pytest
from django.core import serializers
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent, Study
from scoring.models import AnsweringRun, ModelServer
from scoring.services import answering
from tests.factories import make_user
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.lab.servers import KEY, NEW, added, page
from tests.scoring.services.answering.made import study_with_questions

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", is_superuser=True, is_staff=True))
    return client


def test_a_key_is_only_ever_written(boss: Client) -> None:
    server = added(boss, "https://api.example.org")
    assert (server.address, server.open_key()) == ("https://api.example.org/v1", KEY)
    shown = page(boss, "servers") + page(boss, "server", server.pk)
    assert "A key is stored." in shown
    assert KEY not in shown
    assert server.sealed_key not in shown
    # It stays where none is typed, and is replaced and removed by itself
    url = reverse("lab:server", args=[server.pk])
    opened = boss.get(url).context["form"]
    for more, key in (
        ({}, KEY),
        ({"key": "another-key"}, "another-key"),
        ({"removes_key": "on"}, ""),
    ):
        sent = NEW | {"address": server.address, "opened": opened_of(boss, url)} | more
        assert boss.post(url, sent).status_code == 302, more
        server.refresh_from_db()
        assert server.open_key() == key
    assert opened["key"].value() is None


def opened_of(boss: Client, url: str) -> str:
    text = boss.get(url).content.decode()
    return text.split('name="opened" value="')[1].split('"')[0]


def test_a_refused_form_keeps_what_was_typed_but_the_key(boss: Client) -> None:
    sent = NEW | {"address": "http://gpu.example.org", "key": KEY}
    answer = boss.post(reverse("lab:new_server"), sent)
    text = answer.content.decode()
    assert answer.status_code == 422
    assert "only over https" in text
    assert "gpu.example.org" in text
    assert KEY not in text


def test_trying_it_says_in_a_line_each_what_the_server_can_do(boss: Client, stub: ChatStub) -> None:
    server = added(boss, stub.url)
    stub.text_of = lambda request: (
        '{"larger": 3}' if "response_format" in request else f"3, by {KEY}"
    )
    stub.logprobs = [("3", -0.1)]
    url = reverse("lab:server_try", args=[server.pk])
    answer = boss.post(url, {"try-model": MODEL})
    works = {line.name: line.works for line in answer.context["tried"]}
    assert answer.status_code == 200
    assert works.pop("Token probabilities") in (True, False)
    assert works.pop("List of models") in (True, False)
    assert works == {
        "Reached": True,
        "Answers": True,
        "JSON schema": True,
        "Temperature 0": True,
        "Reasoning": False,
    }
    assert KEY not in answer.content.decode()
    assert {headers["Authorization"] for headers in stub.headers} == {f"Bearer {KEY}"}
    refused = boss.post(url, {"try-model": "unknown"})
    assert "does not exist" in refused.content.decode()


def test_a_server_that_is_not_there_is_said_in_a_sentence(boss: Client) -> None:
    server = added(boss, "http://127.0.0.1:9", key="")
    answer = boss.post(reverse("lab:server_try", args=[server.pk]), {})
    [line] = answer.context["tried"]
    assert (line.name, line.works) == ("Reached", False)
    assert "refused the connection" in line.said


def test_the_list_of_models_is_for_those_who_may_use_the_server(
    boss: Client, stub: ChatStub, study: Study
) -> None:
    server = added(boss, stub.url)
    url = reverse("lab:server_models", args=[server.pk])
    assert set(boss.get(url).json()) <= {"models", "why"}
    ruth, carl = Client(), Client()
    ruth.force_login(make_user("ruth", study))
    carl.force_login(make_user("carl"))
    assert (ruth.get(url).status_code, carl.get(url).status_code) == (200, 403)


def test_a_marked_key_is_found_nowhere(
    boss: Client, stub: ChatStub, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """In no page, log, row in clear, error, export or dump of the rows."""
    caplog.set_level(logging.DEBUG)
    study = study_with_questions(2)
    server = added(boss, stub.url)
    boss.post(reverse("lab:server_try", args=[server.pk]), {"try-model": MODEL})
    stub.text_of = lambda request: f"It is {KEY}."
    sent = {"generator": f"server-{server.pk}", "model": MODEL}
    boss.post(reverse("lab:answering_start", args=[study.slug]), sent)
    run = answering.run(AnsweringRun.objects.get())
    assert run.status == "finished", run.error
    stub.fault = "401"
    failing = boss.post(reverse("lab:answering_start", args=[study.slug]), sent | {"limit": "1"})
    assert failing.status_code == 302
    found = [caplog.text, json.dumps([*AuditEvent.objects.values()], default=str)]
    run_args = [study.slug, run.pk]
    for name, args in {
        "servers": [], "server": [server.pk], "site_trail": [], "trail": [study.slug],
        "answering": [study.slug], "answering_run": run_args, "work": [study.slug], "site_work": [],
    }.items():  # fmt: skip
        found.append(page(boss, name, *args))
    csv = boss.get(reverse("lab:answering_csv", args=run_args))
    found.append(b"".join(csv.streaming_content).decode())
    dump = io.StringIO()
    call_command("dumpdata", "scoring", "experiment", stdout=dump)
    found.append(dump.getvalue())
    found.append(serializers.serialize("json", ModelServer.objects.all()))
    assert server.sealed_key in found[-1]  # sealed, it is in a backup
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(f'SELECT * FROM "{table}"')
            found.append(str(cursor.fetchall()))
    assert not [text[:200] for text in found if KEY in text]
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]


def test_removing_a_server_keeps_its_runs(boss: Client, stub: ChatStub) -> None:
    study = study_with_questions(1)
    server = added(boss, stub.url)
    sent = {"generator": f"server-{server.pk}", "model": MODEL}
    boss.post(reverse("lab:answering_start", args=[study.slug]), sent)
    boss.post(reverse("lab:server_remove", args=[server.pk]))
    assert not ModelServer.objects.exists()
    assert AnsweringRun.objects.get().server is None
