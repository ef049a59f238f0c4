"""A user's rights; access tokens: printed once, worth no more than those, and gone when revoked or expired."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from experiment.domain.roles import RIGHTS, Right, Role, Scope, rights_within
from experiment.models import AccessToken, AuditEvent, Membership, Study
from experiment.services.rights import (
    TokenError,
    create_token,
    find_token,
    owners_rights,
    revoke_token,
    studies_with,
)
from tests.experiment.lab_client import run, run_json
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def rights_with(token: AccessToken, study: Study) -> frozenset[Right]:
    """The rights that it gives, as the API asks (experiment/api/access.py)."""
    return rights_within(token.scopes, owners_rights(token, study))


@pytest.mark.parametrize("role", Role)
def test_a_right_is_ones_own_whatever_other_members_of_the_study_have(
    study: Study, role: Role
) -> None:
    user = make_user()
    study.members.add(user, through_defaults={"role": role})
    for other in Role:
        study.members.add(make_user(other), through_defaults={"role": other})
    assert {right for right in Right if study in studies_with(user, right)} == RIGHTS[role]


def test_only_the_hash_is_stored(study: Study) -> None:
    new = create_token(make_user("ruth", study), "laptop", [Scope.READ])
    assert new.secret.startswith("bbl_")
    assert len(new.secret) >= 4 + 43  # 256 bits
    row = AccessToken.objects.values().get()
    assert new.secret not in json.dumps(row, default=str)
    assert new.secret not in json.dumps(list(AuditEvent.objects.values()), default=str)
    assert find_token(new.secret) == new.token


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("scopes", [[Scope.READ], [Scope.WRITE], [Scope.READ, Scope.WRITE]])
def test_a_token_never_grants_more_than_its_owner_has(
    study: Study, role: Role, scopes: list[Scope]
) -> None:
    user = make_user("ruth", study)
    token = create_token(user, "t", scopes).token
    Membership.objects.update(role=role)
    granted = rights_with(token, study)
    assert granted <= RIGHTS[role]
    assert not granted & {Right.IDENTIFY, Right.MANAGE_PEOPLE, Right.SEE_TRAIL}
    Membership.objects.all().delete()
    assert rights_with(token, study) == frozenset()


def test_a_token_of_one_study_opens_no_other(study: Study) -> None:
    user = make_user("ruth", study, other := make_study("other"))
    assert rights_with(create_token(user, "t", [Scope.READ], study=study).token, other) == set()
    assert rights_with(create_token(user, "t", [Scope.READ]).token, other)


def test_a_token_ends(study: Study) -> None:
    user = make_user("ruth", study)
    new = create_token(user, "t", [Scope.READ])
    AccessToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(TokenError, match="expired"):
        find_token(new.secret)
    new = create_token(user, "t", [Scope.READ])
    revoke_token(new.token)
    revoke_token(new.token)
    with pytest.raises(TokenError, match="revoked"):
        find_token(new.secret)
    new = create_token(user, "t", [Scope.READ])
    user.is_active = False
    user.save()
    with pytest.raises(TokenError):
        find_token(new.secret)
    told = AuditEvent.objects.filter(action__startswith="token_")
    actions = list(told.values_list("action", flat=True))
    assert actions == [*["token_created"] * 2, "token_revoked", "token_created"]


def test_use_is_noted_by_the_day(study: Study, django_assert_num_queries: Any) -> None:
    new = create_token(make_user("ruth", study), "t", [Scope.READ])
    find_token(new.secret)
    assert AccessToken.objects.get().last_used_on == timezone.now().date()
    with django_assert_num_queries(1):
        find_token(new.secret)


def test_the_command_prints_a_token_once(study: Study) -> None:
    make_user("ruth", study)
    printed = run_json("create_token", "ruth", "--study", "memory", "--scopes", "read")
    assert list(printed) == ["token", "expires_at", "scopes", "study", "user"]
    assert (printed["scopes"], printed["study"], printed["user"]) == (["read"], "memory", "ruth")
    assert find_token(printed["token"]).study == study


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody", "--study", "memory"), "nobody"),
        (("ruth", "--study", "other"), "not a member"),
        (("ruth", "--study", "nowhere"), "nowhere"),
        (("ruth", "--study", "memory", "--days", "0"), "--days"),
        (("ruth", "--study", "memory", "--days", "9999"), "--days"),
    ],
)
def test_the_command_refuses_what_would_open_nothing(
    study: Study, arguments: tuple[str, ...], said: str
) -> None:
    make_user("ruth", study)
    make_study("other")
    with pytest.raises(CommandError, match=said):
        run("create_token", *arguments)
    assert not AccessToken.objects.exists()
