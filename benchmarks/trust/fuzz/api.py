"""The API answers as its description says, whatever is sent: schemathesis writes the requests, in range and out of it."""

from collections.abc import Sequence
from typing import Any

import requests
import schemathesis
import yaml
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from benchmarks.trust.fuzz.cases import Tally, quietly
from benchmarks.trust.fuzz.material import Material
from benchmarks.web.people import BAD
from experiment.domain.roles import Scope
from experiment.models import Study
from experiment.services.rights import create_token
from lib.api.schema import description
from scoring.models import ItemScore, ScoringRun
from scoring.services.open_model import ensure_language_model
from scoring.services.runs import create_run

OPEN = "/api/v1/schema/"  # to everybody
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
REFUSED = (400, 401, 404, 405)  # without a token


def operations() -> dict[str, Any]:
    """The operations that the description offers, by method and address."""
    described: Any = schemathesis.openapi.from_dict(yaml.safe_load(description()))
    return {found.ok().label: found.ok() for found in described.get_all_operations()}


def cases(operation: Any, known: dict[str, str]) -> st.SearchStrategy[Any]:
    """Requests that the description allows and others that it does not, about the study that there is and about others."""
    named = {name: value for name, value in known.items() if f"{{{name}}}" in operation.path}
    ways: list[Any] = [
        operation.as_strategy(path_parameters=named or None),
        operation.as_strategy(),
    ]
    if len(list(operation.iter_parameters())) > len(named) or operation.body:
        ways.append(operation.as_strategy(GenerationMode.NEGATIVE, path_parameters=named or None))
    return st.one_of(ways)


def call(case: Any, headers: dict[str, str]) -> schemathesis.Response:
    """Send it to the site in this process, and see what a program would."""
    sent = requests.Request(**case.as_transport_kwargs("http://127.0.0.1", headers)).prepare()
    client = Client(raise_request_exception=False, SERVER_NAME="127.0.0.1")
    others = {name: value for name, value in sent.headers.items() if name != "Content-Length"}
    content_type = others.pop("Content-Type", "")
    body = sent.body or b""
    answer = client.generic(sent.method or "", sent.path_url, body, content_type, headers=others)
    told = {name.lower(): [value] for name, value in answer.headers.items()}
    content = answer.getvalue()
    return schemathesis.Response(answer.status_code, told, content, sent, elapsed=0, verify=True)


def fuzz(
    operation: Any, known: dict[str, str], tokens: Sequence[str], n: int, number: int
) -> list[int]:
    """So many requests to one operation, each with one of the tokens or without; their statuses.

    Raises what schemathesis does where an answer is not as described.
    """
    statuses: list[int] = []

    @with_seed(number)
    @quietly(n)
    @given(case=cases(operation, known), token=st.sampled_from([*tokens, ""]))
    def send(case: Any, token: str) -> None:
        response = call(case, {"Authorization": f"Bearer {token}"} if token else {})
        statuses.append(response.status_code)
        is_open = operation.path == OPEN
        assert token or is_open or response.status_code in REFUSED, "let in without a token"
        case.validate_response(response, checks=CHECKS)

    send()
    return statuses


def tokens_of(material: Material) -> list[str]:
    """Tokens of each scope, of both, of one study, and one that opens nothing."""
    user, study = material.user, material.study
    scopes = [[scope] for scope in Scope] + [list(Scope)]
    made = [create_token(user, f"token {n}", of).secret for n, of in enumerate(scopes)]
    return [
        *made,
        create_token(user, "of a study", list(Scope), study=study).secret,
        "bbl_" + "x" * 43,
    ]


def scored(study: Study) -> ScoringRun:
    """A finished run on the study's test cases."""
    run = create_run(
        study=study,
        language_model=ensure_language_model("fuzz/tiny"),
        backend="transformers",
        model_args={"pretrained": "fuzz/tiny"},
    )
    items = list(study.items.filter(kind="test"))
    ItemScore.objects.bulk_create(
        ItemScore(run=run, item=item, ppl_original=10.0, ppl_altered=12.0) for item in items
    )
    values = {"status": "finished", "done": len(items), "finished_at": timezone.now()}
    ScoringRun.objects.filter(pk=run.pk).update(**values)
    return run


def run(material: Material, seed: int, n: int) -> Tally:
    """The cases are dealt out to all operations evenly."""
    tally, found = Tally(), operations()
    tokens = tokens_of(material)
    known = {"slug": material.study.slug, "pk": str(scored(material.study).pk)}
    for number, (label, operation) in enumerate(found.items()):
        try:
            statuses = fuzz(operation, known, tokens, max(1, n // len(found)), seed + number)
        except Exception as error:  # noqa: BLE001 - of many types, all of which say what is wrong
            tally.fail(f"{label}: {type(error).__name__}: {error}")
            continue
        tally.cases += len(statuses)
        tally.errors += sum(status == BAD for status in statuses)
        tally.refused += sum(status >= REFUSED[0] for status in statuses)
        if operation.path != OPEN:  # which says nothing of what tokens open
            tally.taken += sum(status < REFUSED[0] for status in statuses)
    return tally
