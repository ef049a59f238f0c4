"""The members of a study: their roles change, they go; one researcher always stays."""

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from experiment.domain.roles import Role
from experiment.models import Membership, Study
from experiment.services import audit
from experiment.services.audit import Action


class LastResearcherError(Exception):
    """Without this member nobody could set the study up."""


@transaction.atomic
def change_role(membership: Membership, role: Role, by: User) -> None:
    """Nobody joins by invitations of who may invite no more. Raises LastResearcherError."""
    study, before = _locked(membership), membership.role
    if role == before:
        return
    _keep_a_researcher(membership)
    membership.role = role
    membership.save(update_fields=["role"])
    revoked: dict[str, audit.Detail] = {}
    if before == Role.RESEARCHER:
        revoked["invitations_revoked"] = _revoke_invitations(study, membership.user)
    audit.record(
        Action.ROLE_CHANGED,
        by=by,
        study=study,
        member=membership.user.get_username(),
        before=before,
        after=role.value,
        reason="",
        **revoked,
    )


@transaction.atomic
def remove(membership: Membership, by: User) -> None:
    """Their invitations that nobody has used yet go with them. Raises LastResearcherError."""
    study = _locked(membership)
    _keep_a_researcher(membership)
    membership.delete()
    n = _revoke_invitations(study, membership.user)
    audit.record(
        Action.MEMBER_REMOVED,
        by=by,
        study=study,
        member=membership.user.get_username(),
        role=membership.role,
        invitations_revoked=n,
    )


def _revoke_invitations(study: Study, user: User) -> int:
    unused = study.invitations.filter(created_by=user, used_at=None, revoked_at=None)
    return unused.update(revoked_at=timezone.now())


def _locked(membership: Membership) -> Study:
    """Two researchers cannot remove each other at once."""
    study = Study.objects.select_for_update(no_key=True).get(pk=membership.study_id)
    membership.refresh_from_db()
    return study


def _keep_a_researcher(membership: Membership) -> None:
    researchers = Membership.objects.filter(study=membership.study_id, role=Role.RESEARCHER)
    if membership.role == Role.RESEARCHER and researchers.count() == 1:
        raise LastResearcherError
