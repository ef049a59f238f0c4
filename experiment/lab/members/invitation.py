"""The page behind an invitation's link: join as who one is, or as somebody new."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from experiment.models import Invitation
from experiment.services.people import invitations
from experiment.services.people.invitations import AlreadyMemberError, InvitationError
from lib.http import either


@either
@never_cache
@sensitive_post_parameters()
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    try:
        found = invitations.find(secret)
        user = request.user
        if isinstance(user, User):
            if request.method == "POST":
                return _join(request, secret, user)
            return _page(request, found)
        form: UserCreationForm[User] = UserCreationForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            with transaction.atomic():
                user = form.save()
                invitations.accept(secret, user)
            login(request, user, settings.AUTHENTICATION_BACKENDS[0])
            return redirect("lab:studies")
        return _page(request, found, form)
    except InvitationError:
        return render(request, "lab/members/invitation_over.html", status=404)


def _join(request: HttpRequest, secret: str, user: User) -> HttpResponse:
    try:
        invitations.accept(secret, user)
    except AlreadyMemberError:
        messages.info(request, _("You are a member of this study already."))
    return redirect("lab:studies")


def _page(
    request: HttpRequest,
    found: Invitation,
    form: "UserCreationForm[User] | None" = None,
) -> HttpResponse:
    return render(request, "lab/members/invitation.html", {"invitation": found, "form": form})
