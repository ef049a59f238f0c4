"""System checks: a configuration that would fail later is named at the start."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Error as CheckError
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError

from experiment.services.site_address import is_served
from lib.private import open_paths

MOST_NAMED = 10  # paths in a warning


@register("site")
def base_url_is_served(**_: Any) -> list[CheckMessage]:
    """Links that commands print must lead to this site."""
    if is_served():
        return []
    host = urlsplit(settings.BASE_URL).hostname or ""
    hint = "Set BASE_URL to an address whose host is in ALLOWED_HOSTS."
    return [
        CheckWarning(
            f"BASE_URL names {host!r}, which ALLOWED_HOSTS refuses.",
            hint=hint,
            id="experiment.W001",
        )
    ]


@register("site")
def https_is_consistent(**_: Any) -> list[CheckMessage]:
    """With HTTPS=1, printed links must not be plain http."""
    if not settings.HTTPS or settings.BASE_URL.startswith("https://"):
        return []
    hint = "Set BASE_URL to the https:// address of the site."
    return [
        CheckWarning(
            "HTTPS=1, but BASE_URL is not an https:// address.", hint=hint, id="experiment.W002"
        )
    ]


@register(Tags.security, deploy=True)
def proxies_are_said(**_: Any) -> list[CheckMessage]:
    """Only who runs the proxy knows whether X-Forwarded-For is its own word."""
    if not settings.HTTPS or settings.NUM_PROXIES_IS_SAID:
        return []
    hint = (
        "Set NUM_PROXIES=1 if the proxy sets X-Forwarded-For itself, as deploy/nginx does. Set it to 0 if the proxy "
        "passes on the clients' header, because clients could then choose the address by which sign-ins are counted."
    )
    text = "HTTPS=1, but NUM_PROXIES is not set. The site trusts one proxy."
    return [CheckWarning(text, hint=hint, id="experiment.W004")]


@register(Tags.security, deploy=True)
def gunicorn_listens(**_: Any) -> list[CheckMessage]:
    """Say what gunicorn refuses at its start (config/listening.py), before it is started."""
    if not settings.LISTENING_PROBLEM:
        return []
    text = f"gunicorn would not start: {settings.LISTENING_PROBLEM}"
    return [CheckError(text, id="experiment.E001")]


@register(Tags.security, deploy=True)
def proxies_alone_connect(**_: Any) -> list[CheckMessage]:
    """Users who can connect to a port of this machine are not told apart from the proxy there, and say who the client is."""
    is_port = settings.LISTENS_AT.startswith(("127.", "[::1]", "localhost"))
    if not (settings.HTTPS and settings.REST_FRAMEWORK["NUM_PROXIES"] and is_port):
        return []
    hint = (
        "Set BIND=unix:/run/brainbench/site.sock, in a folder that only the site and the proxy can enter, and the same "
        "address in the proxy's configuration, as deploy/nginx does. Ignore this if nothing else runs on this machine."
    )
    text = (
        "Every user and program of this machine can connect to the site without its proxy, and then choose the address by "
        "which sign-ins, wrong codes and participants are counted."
    )
    return [CheckWarning(text, hint=hint, id="experiment.W007")]


@register(Tags.security, deploy=True)
def broker_has_a_password(**_: Any) -> list[CheckMessage]:
    """Redis without a password lets in everybody who can connect: with one message, a neighbour ends each worker that reads it."""
    broker = urlsplit(settings.CELERY_BROKER_URL)
    is_guest = (broker.username, broker.password) == ("guest", "guest")
    is_open = broker.scheme in ("redis", "rediss", "amqp", "amqps") and (
        not broker.password or is_guest
    )
    host = broker.hostname or "localhost"
    is_here = host in ("localhost", "::1") or host.startswith("127.")
    if settings.JOB_EXECUTOR != "celery" or not (is_open and is_here):
        return []
    hint = (
        "Give the broker a password and name it, for Redis (requirepass) as CELERY_BROKER_URL=redis://:PASSWORD@127.0.0.1:6379/0. "
        "Or use a socket that only the site can open: redis+socket://PATH. Ignore this if nothing else runs on this machine."
    )
    text = "Every user and program of this machine can read and write the broker's messages, and so stop background jobs."
    return [CheckWarning(text, hint=hint, id="experiment.W008")]


@register(Tags.security, deploy=True)
def files_are_private(**_: Any) -> list[CheckMessage]:
    """The site closes what is its own (config/files.py, lib/private.py); what it cannot close is named."""
    inside = settings.VAR_DIR
    places = [inside, *(place for place in _places() if not place.is_relative_to(inside))]
    found = list(islice(chain.from_iterable(map(open_paths, places)), MOST_NAMED + 1))
    if not found:
        return []
    named = [str(path) for path in found[:MOST_NAMED]] + ["..."] * (len(found) > MOST_NAMED)
    text = "Other users of this machine can read, change or enter files of the site:\n    "
    hint = (
        "Run `chmod go= PATH` as the owner of each path. VAR_DIR must belong to the user who runs the site; `manage.py "
        "migrate` then closes it with all files in it."
    )
    return [CheckWarning(text + "\n    ".join(named), hint=hint, id="experiment.W006")]


def _places() -> Iterator[Path]:
    """Folders and files with people's data or with keys, where settings may put them, and installations do."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        for ending in ("", "-wal", "-shm", "-journal"):
            yield Path(f"{database['NAME']}{ending}")
    storages: dict[str, Any] = settings.STORAGES
    for storage in storages.values():
        if storage["BACKEND"] == "lib.storage.AtomicFileStorage":
            yield Path(storage["OPTIONS"]["location"])
    # The last as docs/operations.md has it
    for name in (".env", "deploy/compose/.env", "/etc/brainbench.env"):
        yield settings.BASE_DIR / name


@register(Tags.database)
def codes_open(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """With another key than theirs, no participant's own code works any more."""
    from experiment.models import Participant

    sealed = Participant.objects.exclude(sealed_code="").order_by("pk")
    try:
        # The oldest: whoever came since has a code of the present key
        oldest = (
            list(sealed.only("public_id", "code_digest", "sealed_code")[:5]) if databases else []
        )
    except DatabaseError:
        return []  # not migrated yet
    if not oldest or any(person.withdrawal_code for person in oldest):
        return []
    hint = "Restore VAR_DIR/withdrawal_key from its backup, or set WITHDRAWAL_KEY to its previous value."
    return [
        CheckWarning(
            "WITHDRAWAL_KEY is not the key of the participants' own codes in the database.",
            hint=hint,
            id="experiment.W003",
        )
    ]
