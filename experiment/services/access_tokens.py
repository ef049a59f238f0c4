"""Access tokens: given out once, found by their hash, and worth no more than their owner's rights at that moment."""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from experiment.domain.roles import Right
from experiment.domain.scopes import SCOPE_RIGHTS, Scope
from experiment.models import AccessToken, Study
from experiment.models.studies import StudyQuerySet
from experiment.services import audit
from experiment.services.rights import rights_of

PREFIX = "bbl_"  # so that a scanner of published code knows one when it sees it
SECRET_BYTES = 32
DEFAULT_DAYS, MOST_DAYS = 30, 366


class TokenError(Exception):
    """A token that opens nothing: unknown, expired, revoked, or its owner is shut out."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """`secret` is what the owner sends; it is not stored and cannot be shown again."""

    secret: str
    token: AccessToken


@transaction.atomic
def create_token(
    user: User,
    name: str,
    scopes: Collection[Scope],
    days: int = DEFAULT_DAYS,
    study: Study | None = None,
    by: User | None = None,
) -> NewToken:
    """A new token of this user. `by`: who made it; None where a command did.

    Raises:
        ValueError: no scope, or a time that is too long.
    """
    if not scopes or not 1 <= days <= MOST_DAYS:
        raise ValueError(f"a token needs a scope and 1 to {MOST_DAYS} days")
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    token = AccessToken.objects.create(
        user=user,
        study=study,
        name=name,
        scopes=[scope.value for scope in Scope if scope in scopes],
        sha256=_digest(secret),
        expires_at=timezone.now() + timedelta(days=days),
    )
    audit.record(
        audit.Action.TOKEN_CREATED,
        by=by,
        study=study,
        token=token.pk,
        name=name,
        user=user.get_username(),
        scopes=token.scopes,
        expires_at=token.expires_at.isoformat(timespec="seconds"),
    )
    return NewToken(secret, token)


@transaction.atomic
def revoke(token: AccessToken, by: User | None = None) -> None:
    """Let it open nothing any more, at once. A second time changes nothing."""
    if AccessToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(
            audit.Action.TOKEN_REVOKED,
            by=by,
            study=token.study,
            token=token.pk,
            name=token.name,
            user=token.user.get_username(),
        )


def studies_of(token: AccessToken) -> StudyQuerySet:
    """The studies that it opens."""
    studies = Study.objects.visible_to(token.user)
    return studies if token.study_id is None else studies.filter(pk=token.study_id)


def find(secret: str) -> AccessToken:
    """The token that this is the secret of, noted as used today.

    Raises:
        TokenError: it opens nothing; the message says why.
    """
    token = (
        AccessToken.objects.select_related("user", "study").filter(sha256=_digest(secret)).first()
    )
    if token is None or not token.user.is_active:
        raise TokenError("There is no such token.")
    if token.revoked_at is not None:
        raise TokenError("This token was revoked.")
    if token.is_expired:
        raise TokenError("This token has expired.")
    today = timezone.now().date()
    if token.last_used_on != today:
        AccessToken.objects.filter(pk=token.pk).update(last_used_on=today)
    return token


def owners_rights(token: AccessToken, study: Study) -> frozenset[Right]:
    """What its owner may do in the study, and the token at most; nothing where the study is none of its."""
    if token.study_id not in (None, study.pk):
        return frozenset()
    return rights_of(token.user, study)


def grantable_scopes(rights: Collection[Right]) -> list[Scope]:
    """The scopes of which somebody with these rights has anything to pass on."""
    return [scope for scope in Scope if SCOPE_RIGHTS[scope] & set(rights)]


def _digest(secret: str) -> str:
    # A plain hash is enough: nobody guesses 256 random bits
    return hashlib.sha256(secret.encode()).hexdigest()
