"""How the API is asked, by whoever and for whatever: tokens, refusals, pages, files, limits."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.cache import cache
from django.test import Client

from experiment.domain.roles import Role, Scope
from experiment.models import Membership, Study
from tests.api_client import Program, named, problem
from tests.factories import make_item, make_user

pytestmark = pytest.mark.django_db
ITEMS = "studies/memory/items/"


@pytest.fixture(autouse=True)
def _nobody_waits() -> None:
    cache.clear()


@pytest.fixture
def ruth(study: Study) -> Program:
    return Program(make_user("ruth", study))


# Who may ask


def test_without_a_token_nothing_is_told(study: Study) -> None:
    for path in ("studies/", "studies/memory/", ITEMS, "studies/nowhere/"):
        response = Program().get(path)
        assert problem(response) == (401, "not_authenticated")
        assert response["WWW-Authenticate"].startswith("Bearer")
    client, program = Client(), Program()
    client.force_login(make_user("ruth", study))
    assert client.get("/api/v1/studies/").status_code == 401  # a browser that is signed in
    for header in ("Bearer", "Bearer x y", "Basic cnV0aDpydXRo", "Bearer bbl_x"):
        program.headers["Authorization"] = header
        assert problem(program.get(ITEMS)) == (401, "authentication_failed")


def test_a_role_and_a_scope_that_do_not_allow_it_are_told_apart(study: Study) -> None:
    user = make_user("ruth", study)
    reading, writing = Program(user, [Scope.READ]), Program(user, [Scope.WRITE])
    body = {"recruitment": "closed", "expected": "draft"}
    assert problem(reading.post("studies/memory/recruitment/", body)) == (403, "scope")
    assert problem(writing.get(ITEMS)) == (403, "scope")
    assert writing.post("studies/memory/recruitment/", body).status_code == 200
    Membership.objects.update(role=Role.CURATOR)  # rights are those of this moment
    assert problem(writing.post("studies/memory/recruitment/", body)) == (403, "role")
    assert problem(reading.get("studies/memory/exposures/")) == (403, "role")
    assert reading.get(ITEMS).status_code == 200


# What is refused, and how


def test_an_unknown_address_is_answered_with_a_problem_and_no_page(ruth: Program) -> None:
    for path in ("nothing/", "studies/memory/nothing/", "studies/memory", ""):
        assert problem(ruth.get(path)) == (404, "not_found")
    assert problem(ruth.client.get("/api/v2/")) == (404, "not_found")
    assert problem(ruth.client.get("/api/v1/studies/?x=%00")) == (400, "bad_request")


def test_other_methods_are_refused_with_those_that_there_are(ruth: Program) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        response = ruth.client.generic(method, "/api/v1/studies/", headers=ruth.headers)
        assert problem(response) == (405, "method_not_allowed")
        assert response["Allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"colour": "red"}, "colour"),
        ({"source": "martian"}, "source"),
        ({"source": ["human", "machine"]}, "source"),
        ({"ordering": "note"}, "ordering"),
        ({"format": "xml"}, "format"),
        ({"limit": 10**30}, "limit"),
        ({"cursor": "made-up"}, "cursor"),
        ({"key__startswith": "a"}, "key__startswith"),
    ],
)
def test_a_parameter_that_is_not_meant_is_named_and_never_ignored(
    ruth: Program, query: dict[str, Any], name: str
) -> None:
    assert named(ruth.get(ITEMS, **query)) == [name]


def test_a_body_is_as_strict(ruth: Program) -> None:
    path = "studies/memory/recruitment/"
    assert named(ruth.post(path, {"recruitment": "ajar", "expected": "draft"})) == ["recruitment"]
    refused = ruth.post(path, {"recruitment": "ajar", "expected": "draft"}).json()["detail"]
    assert all(state in refused for state in ("draft", "pilot", "open", "closed"))
    assert named(ruth.post(path, {"recruitment": "open", "expected": "draft", "now": 1})) == ["now"]
    assert named(ruth.post(path, [])) == [""]
    broken = ("{", "[" * 100_000, '"\ud800"'.encode("utf-8", "surrogatepass"))
    for text in broken:
        response = ruth.client.post(
            f"/api/v1/{path}", text, "application/json", headers=ruth.headers
        )
        assert problem(response)[0] == 400
    form = ruth.client.post(
        f"/api/v1/{path}", {"recruitment": "open", "expected": "draft"}, headers=ruth.headers
    )
    assert problem(form) == (415, "unsupported_media_type")
    long = ruth.client.post(
        f"/api/v1/{path}", "x" * (2**20 + 1), "application/json", headers=ruth.headers
    )
    assert problem(long) == (413, "too_large")


@pytest.mark.parametrize(
    ("args", "n"),
    [
        ({str(n): [] for n in range(50_000)}, 50_000),
        ({"\U0001f9e0" * 200_000: []}, 1),
        ({"\U0001f9e0" * 200_000: "x"}, 1),
    ],
)
def test_a_refusal_is_small_however_much_is_wrong(
    ruth: Program, args: dict[str, Any], n: int
) -> None:
    body = {"model": "hf", "model_args": args}
    sent = json.dumps(body, ensure_ascii=False)
    refused = ruth.client.post(
        "/api/v1/studies/memory/runs/start/", sent, "application/json", headers=ruth.headers
    )
    assert problem(refused) == (400, "invalid")
    assert len(refused.content) < 50_000
    faults = refused.json()["errors"]
    assert len(faults) == min(n, 21)
    assert n == 1 or faults[-1]["reason"].startswith(str(n - 20))


def test_a_failure_of_the_site_is_a_problem_that_tells_no_secret(
    ruth: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("experiment.api.items.Items.rows", fail)
    response = ruth.get(ITEMS)
    assert problem(response) == (500, "server_error")
    assert "secret" not in response.text


# Pages and files


def test_pages_hold_every_row_once_whatever_is_added_meanwhile(ruth: Program, study: Study) -> None:
    first = ruth.get(ITEMS, limit=5).json()
    study.study_items.create(item=make_item("a-first"))  # before what was read
    second = ruth.client.get(first["next"], headers=ruth.headers).json()
    shown = [row["item_key"] for row in first["results"] + second["results"]]
    assert shown == sorted(i.key for i in study.items.exclude(key="a-first"))[:10]
    assert len(ruth.all_pages(ITEMS, limit=1)) == study.items.count()


def test_orders_go_both_ways(ruth: Program) -> None:
    there = ruth.all_pages(ITEMS, limit=4)
    assert ruth.all_pages(ITEMS, limit=4, ordering="-item_key") == there[::-1]
    path = "studies/memory/exposures/"
    there = ruth.all_pages(path, limit=4, ordering="valid")
    assert ruth.all_pages(path, limit=4, ordering="-valid") == there[::-1]


def test_each_format_holds_what_the_pages_do(ruth: Program) -> None:
    make_item("=1+1")
    rows = ruth.all_pages(ITEMS, source="machine")
    files = {
        kind: ruth.get(ITEMS, source="machine", format=kind) for kind in ("csv", "jsonl", "parquet")
    }
    content = {kind: response.getvalue() for kind, response in files.items()}
    for kind, response in files.items():
        assert response["Content-Length"] == str(len(content[kind]))
        assert f"memory-items.{kind}" in response["Content-Disposition"]
    assert [json.loads(line) for line in content["jsonl"].splitlines()] == rows
    table = list(csv.DictReader(io.StringIO(content["csv"].decode())))
    assert [row["item_key"] for row in table] == [row["item_key"] for row in rows]
    assert list(table[0]) == list(rows[0])
    parquet = pq.read_table(io.BytesIO(content["parquet"])).to_pylist()
    assert [(r["item_key"], r["item_version"]) for r in parquet] == [
        (r["item_key"], r["item_version"]) for r in rows
    ]


@pytest.mark.parametrize("path", ["studies/", ITEMS, "studies/memory/exposures/"])
def test_a_page_of_many_costs_no_more_queries(
    ruth: Program, study: Study, path: str, django_assert_max_num_queries: Any
) -> None:
    ruth.get(path)  # notes that the token was used today
    with django_assert_max_num_queries(12) as few:
        ruth.get(path, limit=1)
    for n in range(20):
        study.study_items.create(item=make_item(f"more-{n}"))
        study.pk, study.slug, study.title = None, f"more-{n}", f"More {n}"
        study._state.adding = True
        study.save()
        Membership.objects.create(study=study, user_id=Membership.objects.first().user_id)
        study = Study.objects.get(slug="memory")
    with django_assert_max_num_queries(12) as many:
        ruth.get(path)
    assert len(many) == len(few)
    assert not [q for q in many.captured_queries if "COUNT(*)" in q["sql"]]


# Limits


def test_too_many_requests_are_throttled(ruth: Program, settings: Any) -> None:
    settings.API_REQUESTS_PER_MINUTE = settings.API_ANONYMOUS_PER_MINUTE = 3
    assert [ruth.get("studies/").status_code for _ in range(4)] == [200, 200, 200, 429]
    slow = ruth.get("studies/")
    assert problem(slow) == (429, "throttled")
    assert 0 < int(slow["Retry-After"]) <= 61
    guesser = Program()
    guesser.headers["Authorization"] = "Bearer bbl_guess"
    assert [guesser.get("studies/").status_code for _ in range(4)] == [401, 401, 401, 429]
    assert ruth.get("schema/").status_code == 429  # without a token it is anonymous there


def test_nobody_evades_the_limit_by_a_header_of_their_own(settings: Any) -> None:
    settings.API_ANONYMOUS_PER_MINUTE = 2
    guesser, found = Program(), []
    for n in range(3):
        guesser.headers = {"Authorization": "Bearer bbl_guess", "X-Forwarded-For": f"10.0.0.{n}"}
        found.append(guesser.get("studies/").status_code)
    assert found == [401, 401, 429]


def test_recruitment_is_switched_only_from_the_state_that_was_read(study: Study) -> None:
    ada, ben = (Program(make_user(name, study)) for name in ("ada", "ben"))
    path = "studies/memory/recruitment/"
    assert named(ada.post(path, {"recruitment": "closed"})) == ["expected"]
    assert ben.post(path, {"recruitment": "pilot", "expected": "draft"}).status_code == 200
    told = ada.post(path, {"recruitment": "closed", "expected": "draft"})
    assert problem(told) == (409, "changed")
    assert (told.json()["recruitment"], told.json()["changed_by"]) == ("pilot", "ben")
    assert told.json()["changed_at"]
    study.refresh_from_db()
    assert study.recruitment == "pilot"
    # Asked once more, it is as was asked
    again = ben.post(path, {"recruitment": "pilot", "expected": "draft"})
    assert (again.status_code, again.json()["recruitment"]) == (200, "pilot")
