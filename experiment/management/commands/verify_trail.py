from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.models import AuditEvent
from experiment.services import audit
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Recompute the hashes of the audit trail; fails where an event was changed or is missing."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        found = audit.verify()
        newest = AuditEvent.objects.order_by("-pk").first()
        data = {
            "events": AuditEvent.objects.count(),
            "holds": found is None,
            "broken_at": None if found is None else found.number,
            "what": "" if found is None else found.what,
            "newest_sha256": "" if newest is None else newest.sha256,
        }
        if found is None:
            holds = f"The chain of {data['events']} events holds."
            kept = f"Newest hash, to be kept elsewhere: {data['newest_sha256'] or '-'}"
            self.report(options, data, [holds, kept])
            return
        sentence = f"Event {found.number}: {found.what}."
        self.report(options, data, [])
        raise CommandError(sentence)
