"""How the lab's tests read a page and run a command."""

import io
import json
import re
from html import unescape
from typing import Any

from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from experiment.models import Study
from tests.forms import Browser


def page(client: Client, study: Study, query: str = "") -> str:
    response = client.get(reverse("lab:study", args=[study.slug]) + query)
    assert response.status_code == 200
    return response.text


def run(name: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def browser(name: str) -> Client:
    """The browser of somebody who has signed in."""
    client = Browser()
    client.force_login(User.objects.get(username=name))
    return client


def send(client: Client, data: bytes, field: str = "cooking", **options: str) -> str:
    """The address of the difference."""
    file = SimpleUploadedFile("items.csv", data)
    answer = client.post(reverse("lab:import_send", args=[field]), {"file": file, **options})
    assert answer.status_code == 302, answer.text
    return answer["Location"]


def text(answer: HttpResponse) -> str:
    return unescape(answer.text)


def agree(client: Client, page: str, **changes: str) -> HttpResponse:
    """Press the button of a difference's page."""
    (address,) = re.findall(r'action="([^"]*/apply/)"', page)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page))
    return client.post(address, fields | changes, follow=True)


def run_json(name: str, *arguments: str) -> dict[str, Any]:
    """The answer of the command with --json."""
    return json.loads(run(name, *arguments, "--json"))
