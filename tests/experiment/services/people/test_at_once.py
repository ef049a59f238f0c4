"""Many attempts at once are compared a few times, and succeed once: on both databases, and on gunicorn."""

import threading
from collections import Counter
from collections.abc import Mapping

import pytest
from django.test import Client

from experiment.domain.roles import Role
from experiment.models import Membership, SignInAttempts
from experiment.services import sign_in
from experiment.services.members import InvitationError, accept_invitation, invite
from experiment.services.sign_in import MOST_ATTEMPTS, TooManyError, attempt
from tests.experiment.http_client import TIMEOUT_S, at_once
from tests.experiment.lab.members.codes import switch_on
from tests.factories import make_study, make_user

pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True)]
N = 64
CODE_PAGE = "/lab/sign-in/code/"
SAID = {
    "Too many failed attempts": "too many",
    "Others are signing": "busy",
    "too soon": "soon",
    "code is wrong": "wrong",
    "correct username and password": "wrong",
}


def half_way() -> Client:
    """A browser that has given the password alone."""
    client = Client()
    client.post("/lab/sign-in/", {"username": "ruth", "password": "ruth"})
    return client


def outcome(client: Client, code: str) -> str:
    answer = client.post(CODE_PAGE, {"code": code})
    if answer.status_code == 302:
        return "in"
    # The client's own `context` would hold what other threads rendered too
    text = answer.content.decode()
    return next((kind for said, kind in SAID.items() if said in text), "unknown")


def test_only_a_few_of_many_codes_at_once_are_compared() -> None:
    user = make_user("ruth", make_study())
    switch_on(user)
    SignInAttempts.objects.all().delete()
    clients = [half_way() for _ in range(4)]
    tries = [lambda n=n: outcome(clients[n % 4], f"{n:06d}") for n in range(N)]
    said = Counter(at_once(tries))
    compared = sum(said[code] for code in ("wrong", "soon", "in"))
    assert 0 < compared <= MOST_ATTEMPTS, said
    assert compared + said["too many"] + said["busy"] == N, said


def test_attempts_that_all_pass_the_first_look_do_not_exceed_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a site of many processes, each of which compares a few."""
    n, look = 32, sign_in._are_used_up
    have_looked = threading.Barrier(n)

    def look_together(limits: Mapping[str, int]) -> bool:
        found = look(limits)
        have_looked.wait(timeout=TIMEOUT_S)
        return found

    monkeypatch.setattr(sign_in, "_comparing", threading.Semaphore(n))
    monkeypatch.setattr(sign_in, "_are_used_up", look_together)

    def is_compared() -> bool:
        try:
            with attempt("password", "ruth", "127.0.0.1"):
                return True
        except TooManyError:
            return False

    assert sum(at_once([is_compared] * n)) == MOST_ATTEMPTS


def test_a_recovery_code_used_by_many_at_once_lets_one_in() -> None:
    user = make_user("ruth", make_study())
    _, codes = switch_on(user)
    clients = [half_way() for _ in range(8)]
    said = Counter(at_once([lambda c=c: outcome(c, codes[0]) for c in clients]))
    assert said["in"] == 1


def test_an_invitation_accepted_by_many_at_once_lets_one_join() -> None:
    study = make_study()
    secret = invite("Anna", study, Role.AUDITOR, make_user("boss", study)).secret
    users = [make_user(f"user-{n}") for n in range(8)]

    def join(n: int) -> bool:
        try:
            accept_invitation(secret, users[n])
        except InvitationError:
            return False
        return True

    assert sum(at_once([lambda n=n: join(n) for n in range(8)])) == 1
    assert Membership.objects.filter(study=study, user__in=users).count() == 1
