"""Rights of a user in a study or a field (domain/roles.py), and access tokens: given out once, found by their hash,
worth no more than their owner's rights at that moment.
"""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from experiment.domain.roles import (
    FIELD_RIGHTS,
    RIGHTS,
    SCOPE_RIGHTS,
    FieldRight,
    FieldRole,
    Right,
    Role,
    Scope,
)
from experiment.models import AccessToken, FieldMember, Membership, ResearchField, Study
from experiment.models.studies import StudyQuerySet
from experiment.services import audit


def rights_of(user: User | AnonymousUser, study: Study) -> frozenset[Right]:
    """All that the user may do there; nothing where they are no member, or are shut out."""
    if not user.is_active or user.pk is None:
        return frozenset()
    if user.is_superuser:
        return frozenset(Right)
    role = Membership.objects.filter(study=study, user_id=user.pk).values_list("role", flat=True)
    found = role.first()
    return frozenset() if found is None else RIGHTS[Role(found)]


def may(user: User | AnonymousUser, right: Right, study: Study) -> bool:
    return right in rights_of(user, study)


def studies_with(user: User | AnonymousUser, right: Right) -> StudyQuerySet:
    """Those in which the user may do this."""
    if not user.is_active or user.pk is None:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    roles = [role for role in Role if right in RIGHTS[role]]
    return Study.objects.filter(memberships__user=user.pk, memberships__role__in=roles)


def may_create_studies(user: User | AnonymousUser) -> bool:
    """A site administrator, a researcher of any study, and who was given Django's permission to add one."""
    if not user.is_active or user.pk is None:
        return False
    if user.has_perm("experiment.add_study"):
        return True
    return Membership.objects.filter(user_id=user.pk, role=Role.RESEARCHER).exists()


def may_ask_models(user: User | AnonymousUser) -> bool:
    """A person who may have a model work in any study, or write in any field."""
    in_studies = studies_with(user, Right.WORK)
    return in_studies.exists() or fields_of(user, FieldRight.LEAD_FIELD).exists()


# Anybody can ask anybody to join a field. Who has not agreed is no member: their texts would be written into it, and its
# test cases drawn by their studies
AGREED = Q(agreed_at__isnull=False)


def field_rights_of(
    user: User | AnonymousUser, research_field: ResearchField
) -> frozenset[FieldRight]:
    """All that the user may do in the field; nothing where they are no member, or are shut out."""
    if not user.is_active or user.pk is None:
        return frozenset()
    if user.is_superuser:
        return frozenset(FieldRight)
    rows = FieldMember.objects.filter(AGREED, field=research_field, user_id=user.pk)
    found = rows.values_list("role", flat=True).first()
    return frozenset() if found is None else FIELD_RIGHTS[FieldRole(found)]


def fields_of(
    user: User | AnonymousUser, right: FieldRight = FieldRight.CURATE_FIELD
) -> QuerySet[ResearchField]:
    """Those in which the user has this right: unless another is named, to read and write test cases."""
    if not user.is_active or user.pk is None:
        return ResearchField.objects.none()
    if user.is_superuser:
        return ResearchField.objects.all()
    roles = [role for role in FieldRole if right in FIELD_RIGHTS[role]]
    own = FieldMember.objects.filter(AGREED, user=user.pk, role__in=roles)
    return ResearchField.objects.filter(pk__in=own.values("field"))


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
def revoke_token(token: AccessToken, by: User | None = None) -> None:
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


@transaction.atomic
def revoke_tokens(user: User, by: User | None) -> int:
    """All of this user's that still work; how many they were."""
    usable = list(AccessToken.objects.filter(user=user).usable().select_related("study", "user"))
    for token in usable:
        revoke_token(token, by)
    return len(usable)


def studies_of(token: AccessToken) -> StudyQuerySet:
    """The studies that it opens."""
    studies = Study.objects.visible_to(token.user)
    return studies if token.study_id is None else studies.filter(pk=token.study_id)


def find_token(secret: str) -> AccessToken:
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
    """The rights of its owner in the study, which are the token's at most; none where the study is none of its."""
    if token.study_id not in (None, study.pk):
        return frozenset()
    return rights_of(token.user, study)


def grantable_scopes(rights: Collection[Right]) -> list[Scope]:
    """The scopes of which somebody with these rights has anything to pass on."""
    return [scope for scope in Scope if SCOPE_RIGHTS[scope] & set(rights)]


def _digest(secret: str) -> str:
    # A plain hash is enough: nobody guesses 256 random bits
    return hashlib.sha256(secret.encode()).hexdigest()
