"""No form is taken without the token of its page; what needs none asks for something that no other site can send."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from experiment.lab.routes import Route, routes
from tests.config.rights_examples import POSTED, address, arguments
from tests.factories import make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db

# Asked for with an access token in a header, which no form can send; cookies open nothing there
API_ANSWERS = (401, 404, 405, 415)


def posted() -> Iterator[Route]:
    return (route for route in routes() if "POST" in route.methods)


def test_every_form_asks_for_the_token_of_its_page() -> None:
    study = make_study(
        "own", human=1, machine=1, catch=1, human_items=1, machine_items=1, catch_items=1
    )
    make_research_field("own")
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user("boss", study, is_superuser=True, is_staff=True))
    taken, n = [], 0
    for route in posted():
        if route.address == "csp-reports":  # sent by browsers themselves; changes nothing
            continue
        url = address(route, arguments(route, study))
        with CaptureQueriesContext(connection) as queries:
            answer = client.post(url, POSTED.get(route.name, {}))
        n += 1
        right = API_ANSWERS if route.address.startswith("api/") else (403,)
        if answer.status_code not in right:
            taken.append(f"{url}: {answer.status_code}")
        wrote = [q["sql"] for q in queries if q["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
        assert not [sql for sql in wrote if "django_session" not in sql], url
    assert taken == []
    assert n > 100
