"""What a copy of the site's database must say of its people, and what is done to it before anybody sees it again."""

import hmac
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError

from experiment.checks import codes_open
from experiment.models import AuditEvent, Study
from experiment.services import audit
from experiment.services.recount import check
from experiment.services.withdrawal import Reapplied, reapply_withdrawals
from lib.backup.manifest import BackupError, Fact, Facts
from lib.jobs.presence import living

PARTS = ("token_records", "withdrawals")  # nothing can make them again
COUNTERS, TRAIL, CODES = "counters that differ from the rows", "audit trail", "participants' own codes"  # fmt: skip
MUST: Facts = {COUNTERS: 0, TRAIL: "holds", CODES: "fit the withdrawal key"}
ANSWERS_WITHIN_S = 3


@dataclass(frozen=True, slots=True)
class Again:
    """A restored database after the site has put it right."""

    withdrawals: Reapplied
    facts: Facts


def facts() -> dict[str, Fact]:
    """Of the database that is opened."""
    broken = audit.verify()
    newest = AuditEvent.objects.order_by("-pk").values_list("sha256", flat=True).first()
    foreign = codes_open(databases=[DEFAULT_DB_ALIAS])
    return {
        COUNTERS: len(check(Study.objects.all())),
        TRAIL: "holds" if broken is None else f"event {broken.number}: {broken.what}",
        "events of the audit trail": AuditEvent.objects.count(),
        "newest hash of the audit trail": newest or "-",
        CODES: "are of another key" if foreign else str(MUST[CODES]),
    }


def withdraw_again() -> Again:
    """Who withdrew after the backup was made is gone from it too."""
    withdrawals = reapply_withdrawals()
    return Again(withdrawals, facts())


def key_name() -> str:
    """Tells the withdrawal key from another one, and nothing else of it."""
    return hmac.digest(settings.WITHDRAWAL_KEY.encode(), b"which key this is", "sha256").hex()[:16]


def refuse_served() -> None:
    """BackupError while the site answers on this machine, or a worker of it lives."""
    if _answers():
        raise BackupError(f"The site answers at port {settings.PORT}: stop it first.")
    try:
        workers = living()
    except DatabaseError:
        return  # no tables yet
    if workers:
        raise BackupError(f"The worker {workers[0].name} lives: stop it first.")


def _answers() -> bool:
    host = urlsplit(settings.BASE_URL).netloc
    asked = HTTPConnection("127.0.0.1", settings.PORT, timeout=ANSWERS_WITHIN_S)
    try:
        asked.request("GET", "/healthz", headers={"Host": host})
        answer = asked.getresponse()
        return answer.status == 200 and answer.read(10).strip() == b"ok"
    except (OSError, HTTPException):
        return False
    finally:
        asked.close()
