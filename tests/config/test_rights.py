"""Every address x method x who asks: the answer is what the page of rights says, and every new address has its line there."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from analysis.data.filters import ReportOptions
from analysis.services.compute import Asked
from experiment.domain.roles import FIELD_RIGHTS, RIGHTS, FieldRight, FieldRole, Right, Role, Scope
from experiment.lab.access import ASKER, CREATOR, SIGNED_IN, SITE_ADMIN, STARTER
from experiment.lab.routes import ADMIN, PUBLIC, Route, routes
from experiment.models import Study
from experiment.services.rights import create_token
from tests.config.rights_examples import EXAMPLES, MISSING_YET, POSTED, address, arguments
from tests.factories import make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db

ANONYMOUS, OUTSIDER, BOSS = "anonymous", "researcher of another study", "site administrator"
WHO = (ANONYMOUS, *Role, OUTSIDER, BOSS)
METHODS = ("GET", "POST")
# What an address can answer, in the table's words
SIGN_IN, UNKNOWN, REFUSED, WRONG_METHOD, ALLOWED = (
    "is asked to sign in",
    "finds nothing",
    "is refused",
    "asks in a wrong way",
    "is let in",
)
ANSWERS = {401: SIGN_IN, 403: REFUSED, 404: UNKNOWN, 405: WRONG_METHOD}
API = "api/"
SETTING_IT_UP = ("lab:set_up_codes", "lab:codes_picture")
FORM = "application/x-www-form-urlencoded"
ALL = routes()
# Kept by hand, as all else that is expected here is what the views say themselves
PINNED = {
    "lab:people": SITE_ADMIN,
    "lab:site_work_stop": SITE_ADMIN,
    "lab:server": SITE_ADMIN,
    "lab:server_models": ASKER,
    "lab:training_stop": STARTER,
    "lab:invite": Right.MANAGE_PEOPLE,
    "lab:change_role": Right.MANAGE_PEOPLE,
    "lab:remove_member": Right.MANAGE_PEOPLE,
    "lab:export_identities": Right.IDENTIFY,
    "lab:privacy_policy": Right.SET_UP,
    "lab:privacy_purge": Right.SET_UP,
    "lab:privacy_withdraw": Right.SET_UP,
    "lab:recruitment": Right.SET_UP,
    "api:recruitment": Right.SET_UP,
    "lab:trail": Right.SEE_TRAIL,
    "lab:change_field_role": FieldRight.LEAD_FIELD,
    "lab:retire_item": FieldRight.LEAD_FIELD,
    "lab:model_review_stop": FieldRight.LEAD_FIELD,
    "lab:review_item": FieldRight.CURATE_FIELD,  # an acceptance is a review
    "lab:tokens": Right.SEE_ITEMS,  # of members: a token is worth no more than its owner's rights
}
# What each of them is in the field of the study's name
FIELD_ROLES = {Role.RESEARCHER: FieldRole.LEAD, Role.CURATOR: FieldRole.CURATOR}


@dataclass(frozen=True)
class Lab:
    """Two studies, and who is signed in as what."""

    own: Study
    other: Study
    cookies: Mapping[str, SimpleCookie]
    tokens: Mapping[str, str]

    def ask(self, who: str, method: str, url: str, route: Route) -> str:
        """The answer of the address; the changes by the request are undone."""
        client = Client()
        posted = POSTED.get(route.name, {}) if method == "POST" else {}
        kind, body, headers = FORM, urlencode(posted), {}
        if route.address.startswith(API):
            kind, body = "application/json", json.dumps(posted)
            headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who in self.tokens else {}
        else:
            client.cookies = SimpleCookie(self.cookies[who].output(header="", sep=";"))
        with transaction.atomic():
            response = client.generic(method, url, body, kind, headers=headers)
            if response.streaming:
                response.getvalue()  # what makes a file fails here, if it does
            transaction.set_rollback(True)
        assert response.status_code < 500, f"{method} {url} as {who}: {response.status_code}"
        if response.status_code == 302 and response["Location"].startswith(reverse("lab:sign_in")):
            return SIGN_IN
        return ANSWERS.get(response.status_code, ALLOWED)


@pytest.fixture(scope="module")
def lab(django_db_setup: None, django_db_blocker: Any) -> Iterator[Lab]:
    """Made once, with its report; each request is undone, and in the end all of it."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = make_lab()
        Asked(made.own, ReportOptions()).ensure_computed()
        yield made
        transaction.set_rollback(True)


def make_lab() -> Lab:
    own, other = (
        make_study(slug, human=1, machine=1, catch=1, human_items=1, machine_items=1, catch_items=1)
        for slug in ("own", "other")
    )
    users: dict[str, Any] = {BOSS: make_user("boss", is_superuser=True, is_staff=True)}
    for role in Role:
        users[role] = make_user(role)
        own.members.add(users[role], through_defaults={"role": role})
    fields = {study.slug: make_research_field(study.slug) for study in (own, other)}
    for role, field_role in FIELD_ROLES.items():
        fields["own"].members.add(users[role], through_defaults={"role": field_role})
    users[OUTSIDER] = make_user("outsider", other)
    cookies = {ANONYMOUS: SimpleCookie()}
    for who, user in users.items():
        client = Client()
        client.force_login(user)
        cookies[who] = client.cookies
    tokens = {who: create_token(user, "test", list(Scope)).secret for who, user in users.items()}
    return Lab(own, other, cookies, tokens)


def expected(route: Route, who: str, method: str) -> str:
    if method not in route.methods:
        return WRONG_METHOD
    if who == ANONYMOUS:
        return SIGN_IN
    if who == BOSS or route.access == SIGNED_IN:
        return ALLOWED
    if route.access in (SITE_ADMIN, STARTER):  # none of these people started the example
        return REFUSED
    if route.access == ASKER and who == OUTSIDER:
        return UNKNOWN  # the example is for members of the study
    if route.access in (CREATOR, ASKER):
        return ALLOWED if who in (Role.RESEARCHER, OUTSIDER) else REFUSED
    if route.access in list(FieldRight):
        role = FIELD_ROLES.get(Role(who)) if who in list(Role) else None
        if role is None:
            return UNKNOWN
        return ALLOWED if FieldRight(route.access) in FIELD_RIGHTS[role] else REFUSED
    if who == OUTSIDER:
        return UNKNOWN
    return ALLOWED if Right(route.access) in RIGHTS[Role(who)] else REFUSED


def test_routes_that_are_hard_to_undo_ask_for_the_right_pinned_here() -> None:
    assert {route.name: route.access for route in ALL if route.name in PINNED} == PINNED


@pytest.mark.parametrize("route", ALL, ids=lambda route: route.address)
def test_each_address_answers_as_the_table_of_rights_says(lab: Lab, route: Route) -> None:
    url = address(route, arguments(route, lab.own))
    found = {(who, method): lab.ask(who, method, url, route) for who in WHO for method in METHODS}
    if route.access == PUBLIC:
        return  # that nothing breaks is all: what these answer is tested with each of them
    wanted = {(who, method): expected(route, who, method) for who in WHO for method in METHODS}
    if route.address.startswith(ADMIN):
        wanted |= {key: answer for key, answer in found.items() if key[0] == BOSS}  # Django's own
    if route.name in MISSING_YET:
        found |= {
            key: ALLOWED
            for key, answer in wanted.items()
            if (answer, found[key]) == (ALLOWED, UNKNOWN)
        }
    assert found == wanted, url


@pytest.mark.parametrize(
    "route",
    [
        r
        for r in ALL
        if callable(EXAMPLES.get(r.name)) and re.search("<slug:(slug|field)>", r.address)
    ],
    ids=lambda route: route.address,
)
def test_a_row_of_another_study_is_not_found_under_ones_own(lab: Lab, route: Route) -> None:
    url = address(route, arguments(route, lab.other) | {"slug": "own", "field": "own"})
    for who in (Role.RESEARCHER, BOSS):
        assert {
            method: lab.ask(who, method, url, route) for method in route.methods
        } == dict.fromkeys(route.methods, UNKNOWN), f"{url} as {who}"


def test_a_password_alone_opens_nothing_where_a_second_step_is_asked_for(
    lab: Lab, settings: Any
) -> None:
    settings.REQUIRE_TOTP = True
    opened = [
        f"{method} {route.address}"
        for route in ALL
        if route.access != PUBLIC and not route.address.startswith(API)
        if route.name not in SETTING_IT_UP
        for method in set(route.methods) & set(METHODS)
        if lab.ask(BOSS, method, address(route, arguments(route, lab.own)), route) != SIGN_IN
    ]
    assert opened == []


def test_a_view_without_access_or_methods_is_named() -> None:
    from experiment.lab import routes as module

    def bare(request: Any) -> None: ...

    with pytest.raises(module.UndeclaredError, match="lab/new/ does not say who"):
        module._access(bare, "lab/new/", ("lab",))
    with pytest.raises(module.UndeclaredError, match="lab/new/ does not say by which methods"):
        module._methods(bare, "lab/new/")
