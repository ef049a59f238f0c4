"""The people of a field: they come, their roles change, they go; one lead always stays."""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.domain.roles import FieldRole
from experiment.models import FieldMember, ResearchField
from experiment.services import audit
from experiment.services.audit import Action


@transaction.atomic
def add(research_field: ResearchField, username: str, role: FieldRole, by: User) -> FieldMember:
    """Somebody with an account. Raises ValidationError for an unknown name and for who is a member."""
    _hold(research_field)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise ValidationError(_("Nobody who can sign in has this user name."))
    if research_field.memberships.filter(user=user).exists():
        raise ValidationError(_("This person belongs to the field."))
    member = research_field.memberships.create(user=user, role=role)
    _record(Action.MEMBER_ADDED, member, by, role=role.value)
    return member


@transaction.atomic
def change_role(member: FieldMember, role: FieldRole, by: User) -> None:
    """Raises ValidationError for the last lead."""
    _hold(member.field)
    member.refresh_from_db()
    before = member.role
    if role == before:
        return
    _keep_a_lead(member)
    member.role = role
    member.save(update_fields=["role"])
    _record(Action.ROLE_CHANGED, member, by, before=before, after=role.value)


@transaction.atomic
def remove(member: FieldMember, by: User) -> None:
    """What they wrote and their verdicts stay. Raises ValidationError for the last lead."""
    _hold(member.field)
    member.refresh_from_db()
    _keep_a_lead(member)
    member.delete()
    _record(Action.MEMBER_REMOVED, member, by, role=member.role)


def _hold(research_field: ResearchField) -> None:
    """Two leads cannot remove each other at once."""
    ResearchField.objects.select_for_update(no_key=True).get(pk=research_field.pk)


def _keep_a_lead(member: FieldMember) -> None:
    leads = FieldMember.objects.filter(field=member.field_id, role=FieldRole.LEAD)
    if member.role == FieldRole.LEAD and leads.count() == 1:
        raise ValidationError(_("The last lead of a field stays one."))


def _record(action: Action, member: FieldMember, by: User, **told: audit.Detail) -> None:
    about: dict[str, audit.Detail] = {"field": member.field.name}
    about |= {"member": member.user.get_username()} | told
    audit.record(action, by=by, study=None, reason="", **about)
