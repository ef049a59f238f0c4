"""Members of a study: their roles change, they leave, and a researcher always stays."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from experiment.domain.roles import Role
from experiment.models import AuditEvent, Membership, Study
from experiment.services import members
from tests.factories import make_user

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/members/"


@pytest.fixture
def vera(study: Study) -> Membership:
    study.members.add(make_user("vera"), through_defaults={"role": "curator"})
    return study.memberships.get(user__username="vera")


def told(action: str) -> list[tuple[str, dict[str, object]]]:
    return list(AuditEvent.objects.filter(action=action).values_list("actor", "details"))


def test_a_role_is_changed_and_told_and_one_of_two_researchers_may_leave(
    ruth: Client, study: Study, vera: Membership
) -> None:
    for before, after in (("curator", "auditor"), ("auditor", "researcher")):
        ruth.post(f"{PAGE}{vera.pk}/role/", {"role": after})
        vera.refresh_from_db()
        assert vera.role == after
        change = {"member": "vera", "before": before, "after": after}
        assert told("role_changed")[-1] == ("ruth", change)
    own = study.memberships.get(user__username="ruth")
    assert ruth.post(f"{PAGE}{own.pk}/remove/")["Location"] == "/lab/"
    assert ruth.get(PAGE).status_code == 404


def test_invitations_of_a_former_researcher_are_taken_back(ruth: Client, study: Study) -> None:
    host = make_user("host", study)
    secret = members.invite("Ann", study, Role.RESEARCHER, host).secret
    own = study.memberships.get(user=host)
    ruth.post(f"{PAGE}{own.pk}/role/", {"role": "auditor"})
    change = {"member": "host", "before": "researcher", "after": "auditor"}
    assert told("role_changed") == [("ruth", change | {"invitations_revoked": 1})]
    ruth.post(f"{PAGE}{own.pk}/role/", {"role": "researcher"})
    with pytest.raises(members.InvitationError):
        members.find_invitation(secret)


@pytest.mark.parametrize("lost", ["account", "role", "administration"])
def test_an_invitation_works_only_while_its_maker_may_invite(study: Study, lost: str) -> None:
    of_site = lost == "administration"
    host = make_user("host", study, is_superuser=of_site)
    new = (
        members.invite_to_site("Ann", True, host)
        if of_site
        else members.invite("Ann", study, Role.AUDITOR, host)
    )
    assert members.find_invitation(new.secret) == new.invitation
    if lost == "role":
        Membership.objects.filter(user=host).update(role="curator")
    else:
        User.objects.update(is_active=of_site, is_superuser=False)
    with pytest.raises(members.InvitationError):
        members.find_invitation(new.secret)


def test_a_member_is_removed_with_their_open_invitations(
    ruth: Client, study: Study, vera: Membership
) -> None:
    secret = members.invite("Ann", study, Role.RESEARCHER, vera.user).secret
    ruth.post(f"{PAGE}{vera.pk}/remove/")
    assert [user.username for user in study.members.all()] == ["ruth"]
    with pytest.raises(members.InvitationError):
        members.find_invitation(secret)
    removed = {"member": "vera", "role": "curator", "invitations_revoked": 1}
    assert told("member_removed") == [("ruth", removed)]


@pytest.mark.parametrize("act", ["role", "remove"])
def test_the_last_researcher_stays(ruth: Client, study: Study, vera: Membership, act: str) -> None:
    own = study.memberships.get(user__username="ruth")
    answer = ruth.post(f"{PAGE}{own.pk}/{act}/", {"role": "auditor"}, follow=True)
    assert "last researcher" in answer.text
    assert study.memberships.get(role="researcher").user.username == "ruth"
