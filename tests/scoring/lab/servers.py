"""Servers of the site's list, as an administrator adds them on their page."""

from typing import Any

from django.test import Client
from django.urls import reverse

from scoring.models import ModelServer

KEY = "sk-marked-0123456789abcdef"
NEW = {"name": "Provider", "kind": "chat", "is_for_all": "on", "is_active": "on"}


def added(boss: Client, url: str, **changed: str) -> ModelServer:
    sent = NEW | {"address": url, "key": KEY} | changed
    answer = boss.post(reverse("lab:new_server"), sent)
    assert answer.status_code == 302, answer.content.decode()
    return ModelServer.objects.get(name=sent["name"])


def page(client: Client, name: str, *args: Any) -> str:
    answer = client.get(reverse(f"lab:{name}", args=args))
    assert answer.status_code == 200
    return answer.content.decode()
