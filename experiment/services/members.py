"""The people of studies and of fields: invited by a link that works once, given roles, removed; one who leads always stays."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from experiment.domain.roles import FieldRole, Right, Role
from experiment.models import FieldMember, Invitation, Membership, ResearchField, Study
from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.rights import AGREED, may
from lib.name_fields import hold_names, refuse_double
from lib.names import looks

Member = Membership | FieldMember


def check_username(name: str, user: User | None = None) -> None:
    """Raises ValidationError where people would take it for another account's, or for a deleted one's in the trail.

    user: whose it is to be. No other account gets a name like it until the transaction ends.
    """
    hold_names(User, name)
    own = User.objects.filter(pk=user.pk) if user and user.pk else User.objects.none()
    if own.filter(username=name).exists():  # it may be older than this rule
        return
    others = {*User.objects.exclude(pk__in=own).values_list("username", flat=True)}
    refuse_double(name, others, "account")
    if name not in others and not looks(name).isdisjoint(looks(*audit.people_named())):
        raise ValidationError(
            "The audit trail has an account of this name, or of one like it. Choose another one."
        )


@transaction.atomic
def change_role(member: Member, role: Role | FieldRole, by: User) -> None:
    """Nobody joins a study by invitations of who may invite no more. Raises ValidationError for the last who leads."""
    before = _held(member)
    if role == before:
        return
    _keep_a_lead(member, "The last researcher of a study must keep this role.")
    member.role = role
    member.save(update_fields=["role"])
    told: dict[str, audit.Detail] = {"before": before, "after": role.value}
    if isinstance(member, Membership) and before == Role.RESEARCHER:
        told["invitations_revoked"] = _revoke_invitations(member)
    _record(Action.ROLE_CHANGED, member, by, **told)


@transaction.atomic
def remove_member(member: Member, by: User) -> None:
    """Removes a member. Their texts and verdicts stay; their unused invitations go. Raises ValidationError for the last who leads."""
    _held(member)
    _keep_a_lead(member, "The last researcher of a study cannot be removed.")
    member.delete()
    told: dict[str, audit.Detail] = {"role": member.role}
    if isinstance(member, Membership):
        told["invitations_revoked"] = _revoke_invitations(member)
    _record(Action.MEMBER_REMOVED, member, by, **told)


@transaction.atomic
def add_to_field(
    research_field: ResearchField, username: str, role: FieldRole, by: User
) -> FieldMember:
    """Ask somebody with an account, who belongs to the field once they agree; whom the site's administrator adds, does.

    Raises ValidationError for an unknown name and for who is a member or was asked.
    """
    ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise ValidationError("No active user has this name.")
    if research_field.memberships.filter(user=user).exists():
        raise ValidationError("This person is already a member of the field.")
    agreed_at = timezone.now() if user == by or by.is_superuser else None
    member = research_field.memberships.create(user=user, role=role, agreed_at=agreed_at)
    _record(Action.MEMBER_ADDED, member, by, role=role.value)
    return member


def asked_to_join(user: User) -> QuerySet[FieldMember]:
    """Fields that wait for the user's answer."""
    asked = FieldMember.objects.filter(user=user, agreed_at=None)
    return asked.select_related("field", "user").order_by("field__name")


@transaction.atomic
def answer(member: FieldMember, agrees: bool) -> None:
    """Stores the answer of a person who was asked to join a field; a second answer changes nothing."""
    ResearchField.objects.select_for_update(no_key=True).get(pk=member.field_id)
    asked = FieldMember.objects.filter(pk=member.pk, agreed_at=None)
    if agrees:
        asked.update(agreed_at=timezone.now())
    elif asked.delete()[0]:
        _record(Action.MEMBER_REMOVED, member, member.user, role=member.role)


def _held(member: Member) -> str:
    """The role, once two who lead cannot remove each other at once."""
    if isinstance(member, Membership):
        Study.objects.select_for_update(no_key=True).get(pk=member.study_id)
    else:
        ResearchField.objects.select_for_update(no_key=True).get(pk=member.field_id)
    member.refresh_from_db()
    return member.role


def _keep_a_lead(member: Member, why_of_study: str) -> None:
    if isinstance(member, Membership):
        lead, why = Role.RESEARCHER.value, why_of_study
        n = member.study.memberships.filter(role=lead).count()
    else:
        lead, why = FieldRole.LEAD.value, "The last lead of a field must keep this role."
        if member.agreed_at is None:
            return
        n = member.field.memberships.filter(AGREED, role=lead).count()
    if member.role == lead and n == 1:
        raise ValidationError(why)


def _revoke_invitations(member: Membership) -> int:
    unused = member.study.invitations.filter(created_by=member.user, used_at=None, revoked_at=None)
    return unused.update(revoked_at=timezone.now())


def _record(action: Action, member: Member, by: User, **told: audit.Detail) -> None:
    about: dict[str, audit.Detail] = {"member": member.user.get_username(), **told}
    if isinstance(member, Membership):
        audit.record(action, by=by, study=member.study, reason="", **about)
    else:
        audit.record(action, by=by, study=None, reason="", field=member.field.name, **about)


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
    _record_invitation(Action.INVITED, new.invitation, by)
    return new


@transaction.atomic
def invite_to_site(name: str, may_create_studies: bool, by: User) -> NewInvitation:
    """Somebody, to an account that belongs to no study yet. For site administrators."""
    new = _create(name, by, may_create_studies=may_create_studies)
    _record_invitation(Action.INVITED, new.invitation, by)
    return new


@transaction.atomic
def revoke_invitation(invitation: Invitation, by: User) -> None:
    """A second time, or after it was used, changes nothing."""
    unused = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None)
    if unused.update(revoked_at=timezone.now()):
        _record_invitation(Action.INVITATION_REVOKED, invitation, by)


def find_invitation(secret: str) -> Invitation:
    """Raises InvitationError."""
    found = Invitation.objects.select_related("study", "created_by").filter(sha256=_hash(secret))
    invitation = found.first()
    if invitation is None or not invitation.is_open(timezone.now()):
        raise InvitationError
    # Whoever invited may do so now, not only on the day on which they did
    user, study = invitation.created_by, invitation.study
    is_administrator = user.is_active and user.is_superuser
    if not (is_administrator if study is None else may(user, Right.MANAGE_PEOPLE, study)):
        raise InvitationError
    return invitation


@transaction.atomic
def accept_invitation(secret: str, user: User) -> Invitation:
    """Make them what the invitation says.

    Raises:
        InvitationError: its link works no more.
        AlreadyMemberError: they are a member of the study.
    """
    Invitation.objects.select_for_update().filter(sha256=_hash(secret)).first()
    invitation = find_invitation(secret)
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
    _record_invitation(Action.JOINED, invitation, user)
    return invitation


def _create(name: str, by: User, **fields: object) -> NewInvitation:
    secret = secrets.token_urlsafe(32)
    until = timezone.now() + timedelta(days=DAYS)
    invitation = Invitation.objects.create(
        name=name, sha256=_hash(secret), created_by_id=by.pk, expires_at=until, **fields
    )
    return NewInvitation(secret, invitation)


def _record_invitation(action: Action, invitation: Invitation, by: User) -> None:
    about: dict[str, audit.Detail] = {"invitation": invitation.pk, "name": invitation.name}
    if invitation.study is not None:
        about["role"] = invitation.role
    else:
        about["may_create_studies"] = invitation.may_create_studies
    audit.record(action, by=by, study=invitation.study, reason="", **about)


def _hash(secret: str) -> str:
    # A plain hash is enough: nobody guesses 256 random bits
    return hashlib.sha256(secret.encode()).hexdigest()
