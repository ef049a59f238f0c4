"""Sign-ins for the audit trail. Failures only on names that there are: else strangers could fill it, with passwords too."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.people.sessions import begin


def record_sign_in(sender: Any, request: HttpRequest, user: User, **_: Any) -> None:
    begin(request.session)
    audit.record(Action.SIGNED_IN, by=user)


def record_failure(sender: Any, credentials: dict[str, Any], **_: Any) -> None:
    user = User.objects.filter(username=credentials.get("username")).first()
    if user is not None:
        audit.record(Action.SIGN_IN_FAILED, name=user.get_username(), step="password")
