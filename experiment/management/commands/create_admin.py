from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from experiment.services import audit
from experiment.services.members import check_username
from lib.commands import ReportingCommand, add_json_argument

User = get_user_model()


class Command(ReportingCommand):
    help = "Create an administrator and print a one-time link to choose a password. Run it again for a new link."
    prints = {"username": str, "url": str | None}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", default="admin")
        parser.add_argument("--email", default="")
        parser.add_argument(
            "--if-none",
            action="store_true",
            help="do nothing if an administrator with a password exists",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        admins = User.objects.filter(is_superuser=True, is_active=True).order_by("pk")
        able = (user for user in admins if user.has_usable_password())
        present = next(able, None) if options["if_none"] else None
        if present is not None:
            line = (
                f"The administrator {present} already exists. Sign in at {_address('lab:sign_in')}"
            )
            self.report(options, {"username": present.get_username(), "url": None}, [line])
            return
        user = self._get_or_create(options["name"], options["email"])
        uid = urlsafe_base64_encode(force_bytes(user.pk))
        url = _address("lab:welcome", uid, default_token_generator.make_token(user))
        days = settings.PASSWORD_RESET_TIMEOUT // 86_400
        lines = [f"To sign in as {user}, open this link (it works once, within {days} days):", url]
        self.report(options, {"username": user.get_username(), "url": url}, lines)

    @transaction.atomic
    def _get_or_create(self, name: str, email: str) -> Any:
        user = User.objects.filter(username=name).first()
        if user is None:
            user = User(username=name, email=email, is_staff=True, is_superuser=True)
            user.set_unusable_password()
            check_username(name)
        elif not (user.is_superuser and user.is_active):
            raise CommandError(
                f"{name} is a user, but not an active administrator. Choose another name."
            )
        elif email:
            user.email = email
        user.full_clean(exclude=["password"])
        is_new = user.pk is None
        user.save()
        if is_new:
            change = {"is_superuser": "False -> True"}
            audit.record(audit.Action.ROLE_CHANGED, member=name, changed=change)
        return user


def _address(name: str, *args: str) -> str:
    return settings.BASE_URL + reverse(name, args=args)
