"""Members of a study or of the site, invitations, and the trail of what they did."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRole, Right, Role
from experiment.lab.access import for_site_admins, for_study, user_of
from experiment.models import AuditEvent, Invitation, Membership, ResearchField, Study
from experiment.services import audit
from experiment.services import members as people
from experiment.services.members import AlreadyMemberError, InvitationError
from experiment.services.site_address import address_told
from lib.formatting import count
from lib.http import either
from lib.name_fields import is_name
from lib.opened import check_seen, held
from lib.pages import refused, show

NAME: dict[str, Any] = {
    "label": "For whom",
    "max_length": 100,
    "validators": [is_name],
    "help_text": "Shown in this list and in the audit trail.",
    "widget": forms.TextInput(attrs={"autocomplete": "off"}),
}


class OwnName(forms.BaseForm):
    """A form that names an account: nobody is to be taken for somebody else in trails and lists of members."""

    instance: User

    def clean_username(self) -> str:
        above: Any = super()
        given = self.cleaned_data["username"]
        name = above.clean_username() if hasattr(above, "clean_username") else given
        if name:  # else another account has it, as the form says
            people.check_username(name, self.instance)
        return str(name)


class JoinForm(OwnName, UserCreationForm[User]):
    """An account of one's own."""


class InviteForm(forms.Form):
    name = forms.CharField(**NAME)
    role = forms.ChoiceField(
        label="Role", choices=Membership.Role.choices, widget=forms.RadioSelect
    )


class SiteInviteForm(forms.Form):
    name = forms.CharField(**NAME)
    may_create_studies = forms.BooleanField(label="may create studies", required=False)


@require_safe
@for_study(Right.MANAGE_PEOPLE)
def members(request: HttpRequest, study: Study) -> HttpResponse:
    return _members(request, study, InviteForm(initial={"role": Role.RESEARCHER.value}))


@require_POST
@for_study(Right.MANAGE_PEOPLE)
def invite(request: HttpRequest, study: Study) -> HttpResponse:
    form = InviteForm(request.POST)
    if not form.is_valid():
        return _members(request, study, form)
    sent = form.cleaned_data
    new = people.invite(sent["name"], study, Role(sent["role"]), user_of(request))
    return _show_link(request, new, reverse("lab:members", args=[study.slug]))


@require_POST
@for_study(Right.MANAGE_PEOPLE)
def revoke(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    people.revoke_invitation(get_object_or_404(study.invitations, pk=pk), user_of(request))
    return redirect("lab:members", study.slug)


@require_POST
@for_study(Right.MANAGE_PEOPLE)
def change_role(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    give_role(request, _member(study, pk), Role)
    return redirect("lab:members", study.slug)


def give_role(request: HttpRequest, member: people.Member, roles: type[Role | FieldRole]) -> None:
    """The role that was sent, to a member of a study or a field."""
    role = request.POST.get("role", "")
    if role not in list(roles):
        raise Http404
    with refused(request), as_seen(request, member):
        people.change_role(member, roles(role), user_of(request))


@contextmanager
def as_seen(request: HttpRequest, member: people.Member) -> Iterator[None]:
    """Nobody changes the member until the block ends. Raises ValidationError where somebody has since the page was shown."""
    name = member.user.get_username()
    if isinstance(member, Membership):
        place: Study | ResearchField = member.study
        edits = partial(audit.last_changes, study=member.study, member=name)
    else:
        place = member.field
        edits = partial(audit.last_changes, field=member.field.name, member=name)
    with held(place):
        member.refresh_from_db()
        check_seen(request.POST, member, "role", edits=edits)
        yield


@require_POST
@for_study(Right.MANAGE_PEOPLE)
def remove(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    membership, user = _member(study, pk), user_of(request)
    with refused(request), as_seen(request, membership):
        people.remove_member(membership, user)
        if membership.user_id == user.pk:
            return redirect("lab:studies")  # they have left
    return redirect("lab:members", study.slug)


@either
@for_site_admins
def site_people(request: HttpRequest) -> HttpResponse:
    """Everybody with an account, and invitations to one."""
    form = SiteInviteForm(request.POST or None)
    if form.is_valid():
        sent, by = form.cleaned_data, user_of(request)
        new = people.invite_to_site(sent["name"], sent["may_create_studies"], by)
        return _show_link(request, new, reverse("lab:people"))
    return show(
        request,
        "lab/members/people.html",
        200,
        section="people",
        form=form,
        people=User.objects.annotate(n_studies=Count("memberships")).order_by("username"),
        invitations=[
            (each, reverse("lab:revoke_site", args=[each.pk]))
            for each in _open(Invitation.objects.filter(study=None))
        ],
    )


@require_POST
@for_site_admins
def revoke_from_site(request: HttpRequest, pk: int) -> HttpResponse:
    people.revoke_invitation(get_object_or_404(Invitation, pk=pk, study=None), user_of(request))
    return redirect("lab:people")


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A member of a study or a field as a list shows them, and where their role is changed."""

    member: people.Member
    change_url: str
    remove_url: str


def _members(request: HttpRequest, study: Study, form: InviteForm) -> HttpResponse:
    return show(
        request,
        "lab/members/members.html",
        200,
        form=form,
        members=[
            MemberLine(
                each,
                reverse("lab:change_role", args=[study.slug, each.pk]),
                reverse("lab:remove_member", args=[study.slug, each.pk]),
            )
            for each in study.memberships.select_related("user").order_by("user__username")
        ],
        roles=Membership.Role,
        may_manage=True,
        invitations=[
            (each, reverse("lab:revoke_invitation", args=[study.slug, each.pk]))
            for each in _open(study.invitations.all())
        ],
    )


def _member(study: Study, pk: int) -> Membership:
    return get_object_or_404(study.memberships.select_related("user"), pk=pk)


def _open(found: QuerySet[Invitation]) -> QuerySet[Invitation]:
    unused = found.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return unused.select_related("created_by")


def _show_link(request: HttpRequest, new: people.NewInvitation, back: str) -> HttpResponse:
    """Once: the secret is nowhere else."""
    link = settings.BASE_URL + reverse("lab:invitation", args=[new.secret])
    context = {"invitation": new.invitation, "link": link, "back": back, "days": people.DAYS}
    context["address_told"] = address_told()
    return render(request, "lab/members/invited.html", context)


@either
@never_cache
@sensitive_post_parameters()
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    try:
        found = people.find_invitation(secret)
        user = request.user
        if isinstance(user, User):
            if request.method == "POST":
                try:
                    people.accept_invitation(secret, user)
                except AlreadyMemberError:
                    messages.info(request, "You are already a member of this study.")
                return redirect("lab:studies")
            return render(request, "lab/members/invitation.html", {"invitation": found})
        form = JoinForm(request.POST or None)
        if form.is_bound and (account := _new_account(form, secret)):
            login(request, account, settings.AUTHENTICATION_BACKENDS[0])
            return redirect("lab:studies")
        context = {"invitation": found, "form": form}
        return render(request, "lab/members/invitation.html", context)
    except InvitationError:
        return render(request, "lab/members/invitation_over.html", status=404)


@transaction.atomic
def _new_account(form: JoinForm, secret: str) -> User | None:
    """None where the form is wrong. From the look at others' names until it has its own, no other account gets one."""
    if not form.is_valid():
        return None
    user = form.save()
    people.accept_invitation(secret, user)
    return user


PER_PAGE = 50
UNCHANGED = (
    "No event of this study was changed. A site administrator can check whether one is missing."
)
INTACT = "The chain is intact: no event was changed, and no event between two others is missing."


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check of the trail."""

    css: str
    said: str

    @classmethod
    def of(cls, broken: audit.Break | None, intact: str) -> "Checked":
        if broken is None:
            return cls("notice-right", intact)
        said = f"The chain is broken at event {broken.number}: {broken.what}."
        return cls("notice-error", said)


@require_safe
@for_study(Right.SEE_TRAIL)
def trail(request: HttpRequest, study: Study) -> HttpResponse:
    events = audit.events_of(study)
    context = _events(request, events) | {"check_label": "Check these events"}
    if "verify" in request.GET:
        context["checked"] = Checked.of(audit.first_changed(events), UNCHANGED)
    return show(request, "lab/members/trail.html", **context)


@require_safe
@for_site_admins
def site_trail(request: HttpRequest) -> HttpResponse:
    """Its check takes the chain of all labs, which grows for ever; a study's takes that study's events."""
    context = _events(request, AuditEvent.objects.all()) | {"check_label": "Check the chain"}
    if "verify" in request.GET:
        context["checked"] = Checked.of(audit.verify(), INTACT)
    return show(request, "lab/members/trail.html", section="trail", **context)


def _events(request: HttpRequest, events: QuerySet[AuditEvent]) -> dict[str, Any]:
    """A page of them, each with its details in words."""
    page = Paginator(events.order_by("-pk"), PER_PAGE).get_page(request.GET.get("page"))
    shown = [
        (event, [(name.replace("_", " "), _text(value)) for name, value in event.details.items()])
        for event in page
    ]
    return {"page": page, "events": shown, "heading": count(page.paginator.count, "event")}


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value in (None, "") else str(value)
