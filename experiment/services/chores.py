"""Work that a site does of itself: daily chores, metrics, copies of its database, codes after its key was changed."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, transaction
from django.db.models import Count, Sum
from django.utils import timezone
from prometheus_client.metrics_core import Metric

from experiment.checks import codes_open
from experiment.domain.withdrawal_code import digest, unseal
from experiment.models import AuditEvent, ItemCount, Judgment, Participant, PeopleCount, Study
from experiment.services import arrivals, audit, item_files, recounting, sign_in
from experiment.services.channels import forget_ids
from experiment.services.recounting import check
from experiment.services.withdrawal import Reapplied, reapply_withdrawals
from lib.backup.manifest import BackupError, Fact, Facts
from lib.jobs.workers import living
from lib.monitoring.metrics import gauge
from lib.sessions import SessionStore


class DriftError(Exception):
    """Counters are wrong."""


def forget_overdue_ids() -> None:
    """Erase the recruitment ids whose day has passed, as the consent page promised."""
    forget_ids(timezone.now().date())


def forget_old_attempts() -> None:
    """Delete counts of failed sign-ins that hold nobody up any more."""
    sign_in.forget_old_attempts()


def forget_old_arrivals() -> None:
    """Delete counts of participants from one address that are older than a day."""
    arrivals.forget(timezone.now())


def forget_old_uploads() -> None:
    """Delete files of test cases that were sent to be looked at and never imported."""
    item_files.delete_old_uploads()


def forget_ended_sessions() -> None:
    """Delete sign-ins that have run out; nothing else does."""
    SessionStore.clear_expired()


def check_counters() -> None:
    """Fail, for the log and for /healthz/deep, where a counter does not say what the rows do; `chores counters --repair` mends it."""
    found = recounting.check(Study.objects.all())
    if found:
        raise DriftError(f"{len(found)} counters differ from the rows")


def of_people() -> list[Metric]:
    """Participants by where they are, and answers that were acknowledged; by kind, real and simulated."""
    people = gauge("brainbench_participants", "Participants by stage.", "kind", "stage")
    under_way = Participant.objects.filter(Participant.UNDER_WAY).order_by()
    for kind, stage, n in under_way.values_list("kind", "stage").annotate(Count("pk")):
        people.add_metric([kind, stage], n)
    settled = PeopleCount.objects.order_by().values_list("kind", "fate").annotate(Sum("n"))
    for kind, fate, n in settled:
        people.add_metric([kind, fate], n)
    answers = gauge("brainbench_answers", "Judgments of test cases.", "kind", "of")
    judged = ItemCount.objects.order_by().values_list("kind").annotate(Sum("judged"))
    for kind, n in judged:
        answers.add_metric([kind, "settled"], n)
    present = Judgment.objects.filter(trial__participant__in=under_way).order_by()
    for kind, n in present.values_list("trial__participant__kind").annotate(Count("pk")):
        answers.add_metric([kind, "under_way"], n)
    return [people, answers]


PARTS = ("token_records", "withdrawals")  # nothing can make them again
COUNTERS, TRAIL, CODES = "counters that differ from the rows", "audit trail", "key of participants' own codes"  # fmt: skip
MUST: Facts = {COUNTERS: 0, TRAIL: "unbroken", CODES: "the withdrawal key of this site"}
ANSWERS_WITHIN_S = 3


def facts() -> dict[str, Fact]:
    """Facts about the database that is opened."""
    broken = audit.verify()
    newest = AuditEvent.objects.order_by("-pk").values_list("sha256", flat=True).first()
    foreign = codes_open(databases=[DEFAULT_DB_ALIAS])
    return {
        COUNTERS: len(check(Study.objects.all())),
        TRAIL: MUST[TRAIL]
        if broken is None
        else f"broken at event {broken.number} ({broken.what})",
        "events of the audit trail": AuditEvent.objects.count(),
        "newest hash of the audit trail": newest or "-",
        CODES: "another key" if foreign else MUST[CODES],
    }


def withdraw_again() -> tuple[Reapplied, Facts]:
    """Withdraws again those who withdrew after the backup was made; and the facts after that."""
    withdrawals = reapply_withdrawals()
    return withdrawals, facts()


def key_name() -> str:
    """Tells the withdrawal key from another one, and nothing else of it."""
    return hmac.digest(settings.WITHDRAWAL_KEY.encode(), b"which key this is", "sha256").hex()[:16]


def refuse_served() -> None:
    """BackupError while the site answers on this machine, or a worker of it lives."""
    if _answers():
        raise BackupError(f"The site is running on port {settings.PORT}. Stop it first.")
    try:
        workers = living()
    except DatabaseError:
        return  # no tables yet
    if workers:
        raise BackupError(f"The worker {workers[0].name} is running. Stop it first.")


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


CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Resealed:
    """How many codes, and keys of servers, are under the present key now; where some fit neither key, nothing is changed."""

    resealed: int
    foreign: int = 0
    keys: int = 0
    foreign_keys: int = 0


# What else is kept under the key, of the apps above: a function of the old key that changes all, or nothing where some fit
# neither key, and says how many of each
RESEALED_TOO: list[Callable[[str], tuple[int, int]]] = []


@transaction.atomic
def reseal(old_key: str) -> Resealed:
    """Keep all codes, and what else is kept so, under the present key; those that are already stay as they are."""
    changed: list[Participant] = []
    foreign = 0
    sealed = Participant.objects.exclude(sealed_code="")
    for person in sealed.only("public_id", "code_digest", "sealed_code").iterator(CHUNK):
        if person.withdrawal_code:
            continue
        code = unseal(person.sealed_code, old_key, person.public_id.hex)
        if digest(code, old_key) == person.code_digest:
            person.give_code(code)
            changed.append(person)
        else:
            foreign += 1
    if foreign:
        return Resealed(0, foreign)
    Participant.objects.bulk_update(changed, ["code_digest", "sealed_code"], batch_size=CHUNK)
    keys = foreign_keys = 0
    for reseal_more in RESEALED_TOO:
        resealed, unknown = reseal_more(old_key)
        keys, foreign_keys = keys + resealed, foreign_keys + unknown
    if foreign_keys:
        transaction.set_rollback(True)
        return Resealed(0, foreign_keys=foreign_keys)
    return Resealed(len(changed), keys=keys)
