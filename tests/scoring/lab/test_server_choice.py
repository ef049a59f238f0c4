"""The choice of a server of the site's list, and of its models, in forms that ask for work of models."""

import pytest
from django.test import Client
from django.urls import reverse

from scoring.models import AnsweringRun
from tests.factories import make_study, make_user
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.lab.servers import added, page
from tests.scoring.services.answering.made import study_with_questions

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(client: Client) -> Client:
    client.force_login(make_user("boss", is_superuser=True, is_staff=True))
    return client


def test_members_choose_a_server_and_a_model(boss: Client, stub: ChatStub) -> None:
    study = study_with_questions(1)
    server = added(boss, stub.url, price_in="1.5", price_out="2", currency="EUR")
    ruth = Client()
    ruth.force_login(make_user("ruth", study))
    shown = page(ruth, "answering", study.slug)
    assert f'value="server-{server.pk}"' in shown
    sent = {"generator": f"server-{server.pk}", "model": MODEL, "asks_confidence": ""}
    answer = ruth.post(reverse("lab:answering_start", args=[study.slug]), sent)
    assert answer.status_code == 302, answer.content.decode()
    run = AnsweringRun.objects.get()
    assert (run.generator, run.server, run.model_args["base_url"]) == (
        "chat",
        server,
        server.address,
    )
    assert (run.prompt_price, run.completion_price) == (server.price_in, server.price_out)
    # One that is for others alone is neither offered nor taken
    server.is_for_all = False
    server.save()
    assert f'value="server-{server.pk}"' not in page(ruth, "answering", study.slug)
    refused = ruth.post(reverse("lab:answering_start", args=[study.slug]), sent)
    assert refused.status_code == 422
    by_hand = sent | {"generator": "chat", "base_url": stub.url}
    refused = ruth.post(reverse("lab:answering_start", args=[study.slug]), by_hand)
    assert "ruth may not use the model server “Provider”" in refused.content.decode()


def test_scores_are_asked_for_by_server_and_model(boss: Client) -> None:
    study = make_study()
    server = added(boss, "http://127.0.0.1:8000", kind="completions", key="")
    sent = {
        "model": f"server-{server.pk}", "named": "base-1b", "model_args": "tokenizer=lab/base-1b",
        "conditions": ["full"], "prompt": "none",
    }  # fmt: skip
    answer = boss.post(reverse("lab:scoring_queue", args=[study.slug]), sent)
    assert answer.status_code == 302, answer.content.decode()
    [run] = study.scoring_runs.all()
    assert run.server == server
    assert run.model_args == {
        "base_url": "http://127.0.0.1:8000/v1", "model": "base-1b", "tokenizer": "lab/base-1b",
    }  # fmt: skip


def test_a_refused_address_says_who_can_allow_it(boss: Client) -> None:
    study = study_with_questions(1)
    ruth = Client()
    ruth.force_login(make_user("ruth", study))
    sent = {"generator": "chat", "model": "m", "base_url": "https://api.example.org"}
    url = reverse("lab:answering_start", args=[study.slug])
    told = ruth.post(url, sent).content.decode()
    assert "Ask a site administrator: boss." in told
    assert "SCORING_HOSTS" in told
    link = f"{reverse('lab:new_server')}?address=https%3A//api.example.org/v1"
    assert link not in told
    assert link in boss.post(url, sent).content.decode()
    assert 'value="https://api.example.org/v1"' in boss.get(link).content.decode()
