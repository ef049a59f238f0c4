"""What a user may do in a study or a field: domain/roles.py, with the membership that the database holds."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from experiment.domain.roles import FIELD_RIGHTS, RIGHTS, FieldRight, FieldRole, Right, Role
from experiment.models import FieldMember, Membership, ResearchField, Study
from experiment.models.studies import StudyQuerySet


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


def field_rights_of(
    user: User | AnonymousUser, research_field: ResearchField
) -> frozenset[FieldRight]:
    """All that the user may do in the field; nothing where they are no member, or are shut out."""
    if not user.is_active or user.pk is None:
        return frozenset()
    if user.is_superuser:
        return frozenset(FieldRight)
    rows = FieldMember.objects.filter(field=research_field, user_id=user.pk)
    found = rows.values_list("role", flat=True).first()
    return frozenset() if found is None else FIELD_RIGHTS[FieldRole(found)]


def fields_of(user: User | AnonymousUser) -> QuerySet[ResearchField]:
    """Those whose test cases the user may read and write."""
    if not user.is_active or user.pk is None:
        return ResearchField.objects.none()
    if user.is_superuser:
        return ResearchField.objects.all()
    return ResearchField.objects.filter(memberships__user=user.pk)
