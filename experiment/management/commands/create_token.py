from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from experiment.domain.roles import Scope
from experiment.management.finding import find_study
from experiment.services.rights import DEFAULT_DAYS, MOST_DAYS, create_token, rights_of
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Create an access token with which a program reads a study through the API, and print it once; docs/api.md."
    prints = {"token": str, "expires_at": str, "scopes": [str], "study": str, "user": str}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER")
        parser.add_argument(
            "--study", required=True, metavar="SLUG", help="study that the token gives access to"
        )
        parser.add_argument(
            "--scopes",
            nargs="+",
            choices=[scope.value for scope in Scope],
            default=[Scope.READ.value],
            help="scope of the token (default: read)",
        )
        parser.add_argument(
            "--days",
            type=int,
            default=DEFAULT_DAYS,
            metavar="N",
            help=f"days until it expires (default: {DEFAULT_DAYS}; at most {MOST_DAYS})",
        )
        parser.add_argument("--name", default="create_token", help="name of the token in lists")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        user = get_user_model().objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user “{options['user']}”.")
        if not rights_of(user, study):
            raise CommandError(
                f"{user} is not a member of {study}, so the token would not give access to anything."
            )
        if not 1 <= options["days"] <= MOST_DAYS:
            raise CommandError(f"--days: {options['days']} is not between 1 and {MOST_DAYS}.")
        scopes = [Scope(scope) for scope in options["scopes"]]
        new = create_token(user, options["name"], scopes, options["days"], study)
        expires_at = new.token.expires_at
        data = {
            "token": new.secret,
            "expires_at": expires_at.isoformat(timespec="seconds"),
            "scopes": new.token.scopes,
            "study": study.slug,
            "user": user.get_username(),
        }
        until = f"It works until {expires_at:%Y-%m-%d %H:%M} UTC and is not shown again:"
        self.report(options, data, [f"A token of {user} for {study}. {until}", new.secret])
