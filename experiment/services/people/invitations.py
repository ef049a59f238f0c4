"""Invitations by a link that works once, within a week; the site keeps its hash alone."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.utils import timezone

from experiment.domain.roles import Right, Role
from experiment.models import Invitation, Membership, Study
from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.rights import may

DAYS = 7


class InvitationError(Exception):
    """The link works no more, or never did."""


class AlreadyMemberError(Exception):
    """The invitation stays unused."""


@dataclass(frozen=True, slots=True)
class NewInvitation:
    """`secret` is the end of the link; it is not stored and cannot be shown again."""

    secret: str
    invitation: Invitation


@transaction.atomic
def invite(name: str, study: Study, role: Role, by: User) -> NewInvitation:
    """Somebody, to a study."""
    new = _create(name, by, study=study, role=role)
    _record(Action.INVITED, new.invitation, by)
    return new


@transaction.atomic
def invite_to_site(name: str, may_create_studies: bool, by: User) -> NewInvitation:
    """Somebody, to an account that belongs to no study yet. For site administrators."""
    new = _create(name, by, may_create_studies=may_create_studies)
    _record(Action.INVITED, new.invitation, by)
    return new


@transaction.atomic
def revoke(invitation: Invitation, by: User) -> None:
    """A second time, or after it was used, changes nothing."""
    unused = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None)
    if unused.update(revoked_at=timezone.now()):
        _record(Action.INVITATION_REVOKED, invitation, by)


def find(secret: str) -> Invitation:
    """Raises InvitationError."""
    found = Invitation.objects.select_related("study", "created_by").filter(sha256=_hash(secret))
    invitation = found.first()
    if invitation is None or not invitation.is_open(timezone.now()):
        raise InvitationError
    if not _may_invite(invitation.created_by, invitation.study):
        raise InvitationError
    return invitation


def _may_invite(user: User, study: Study | None) -> bool:
    """Now, not only on the day on which they did."""
    if study is None:
        return user.is_active and user.is_superuser
    return may(user, Right.MANAGE_PEOPLE, study)


@transaction.atomic
def accept(secret: str, user: User) -> Invitation:
    """Make them what the invitation says.

    Raises:
        InvitationError: its link works no more.
        AlreadyMemberError: they are a member of the study.
    """
    Invitation.objects.select_for_update().filter(sha256=_hash(secret)).first()
    invitation = find(secret)
    if invitation.study is not None:
        _, is_new = Membership.objects.get_or_create(
            study=invitation.study, user_id=user.pk, defaults={"role": invitation.role}
        )
        if not is_new:
            raise AlreadyMemberError
    if invitation.may_create_studies:
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label="experiment", codename="add_study")
        )
    invitation.used_at, invitation.used_by_id = timezone.now(), user.pk
    invitation.save(update_fields=["used_at", "used_by"])
    _record(Action.JOINED, invitation, user)
    return invitation


def _create(name: str, by: User, **fields: object) -> NewInvitation:
    secret = secrets.token_urlsafe(32)
    until = timezone.now() + timedelta(days=DAYS)
    invitation = Invitation.objects.create(
        name=name, sha256=_hash(secret), created_by_id=by.pk, expires_at=until, **fields
    )
    return NewInvitation(secret, invitation)


def _record(action: Action, invitation: Invitation, by: User) -> None:
    about: dict[str, audit.Detail] = {"invitation": invitation.pk, "name": invitation.name}
    if invitation.study is not None:
        about["role"] = invitation.role
    else:
        about["may_create_studies"] = invitation.may_create_studies
    audit.record(action, by=by, study=invitation.study, reason="", **about)


def _hash(secret: str) -> str:
    # A plain hash is enough: nobody guesses 256 random bits
    return hashlib.sha256(secret.encode()).hexdigest()
