"""Whatever is sent to the API, it answers as its description says, and never fails."""

from typing import Any

import pytest
import requests
import schemathesis
import yaml
from django.test import Client
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lib.api.described import description
from tests.api_client import Program
from tests.factories import make_participant, make_study, make_user
from tests.scoring.lab.rows import ask, finish
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
EXAMPLES = 12  # of each operation
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
DESCRIBED = schemathesis.openapi.from_dict(yaml.safe_load(description()))
OPERATIONS = {found.ok().label: found.ok() for found in DESCRIBED.get_all_operations()}


@pytest.fixture
def token(settings: Any, tmp_path: Any) -> str:
    """Of a researcher of a study with people and a scored model."""
    store_files_in(settings, tmp_path)
    settings.JOB_EXECUTOR = "celery"  # nothing is computed here
    settings.ALLOWED_HOSTS = ["*"]
    study = make_study(human=2, machine=1, catch=1, human_items=2, machine_items=1, catch_items=1)
    make_participant(study)
    make_participant(study, judged=1)
    finish(ask(study), right=2)
    return Program(make_user("ruth", study)).secret


def cases(label: str) -> st.SearchStrategy[Any]:
    """What the description allows and what it does not, about the study that there is and about others."""
    operation = OPERATIONS[label]
    known = {"slug": "memory", "pk": "1"}
    named = {name: known[name] for name in ("slug", "pk") if f"{{{name}}}" in operation.path}
    ways: list[Any] = [
        operation.as_strategy(path_parameters=named or None),
        operation.as_strategy(),
    ]
    if len(list(operation.iter_parameters())) > len(named) or operation.body:
        ways.append(operation.as_strategy(GenerationMode.NEGATIVE, path_parameters=named or None))
    return st.one_of(ways)


def call(case: Any, headers: dict[str, str]) -> schemathesis.Response:
    """Send it to the site in this process, and see what a program would."""
    sent = requests.Request(**case.as_transport_kwargs("http://testserver", headers)).prepare()
    client = Client(raise_request_exception=False)
    others = {name: value for name, value in sent.headers.items() if name != "Content-Length"}
    content_type = others.pop("Content-Type", "")
    body = sent.body or b""
    answer = client.generic(sent.method, sent.path_url, body, content_type, headers=others)
    told = {name.lower(): [value] for name, value in answer.headers.items()}
    content = answer.getvalue()
    return schemathesis.Response(answer.status_code, told, content, sent, elapsed=0, verify=True)


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_fails_and_every_answer_is_as_described(token: str, label: str) -> None:
    @seed(14)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(label), with_token=st.sampled_from([True, True, True, False]))
    def send(case: Any, with_token: bool) -> None:
        headers = {"Authorization": f"Bearer {token}"} if with_token else {}
        response = call(case, headers)
        assert with_token or response.status_code in (400, 401, 404, 405)
        case.validate_response(response, checks=CHECKS)

    send()
