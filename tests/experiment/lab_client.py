"""How the lab's tests read a page and run a command."""

import io

from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from experiment.models import Study


def page(client: Client, study: Study, query: str = "") -> str:
    response = client.get(reverse("lab:study", args=[study.slug]) + query)
    assert response.status_code == 200
    return response.content.decode()


def run(name: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()
