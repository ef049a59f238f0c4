"""The site's list of model servers: who may use one, what it has cost this month, and what a run is told of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from experiment.services import audit
from experiment.services.rights import may_ask_models
from experiment.services.usable import is_site
from lib.jobs.leases import NO_RIGHT, Lease, NoRightError
from lib.jobs.models import NOBODY
from lib.opened import Edit
from lib.sealed import WrongKeyError
from scoring.backends.http.address import Listed, parse_address, provider_place
from scoring.backends.options import read_inspect_options
from scoring.backends.registry import INSPECT, LISTED, Place, kind_of
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Prices, Usage
from scoring.models import (
    Answer,
    ChoiceRun,
    DraftAttempt,
    JudgeGrade,
    ModelChoice,
    ModelReview,
    ModelServer,
    ScoringRun,
)
from scoring.models.answers import GeneratingJob

By = User | AnonymousUser | None
Action = audit.Action
LOST_KEY = (
    "The stored key of the model server “{}” cannot be read, because WITHDRAWAL_KEY was changed. A site administrator can "
    "enter the key again on the page Model servers."
)


# The list


@transaction.atomic
def save(
    server: ModelServer, by: User, *, users: Iterable[User] = (), key: str | None = None
) -> ModelServer:
    """Add a server, or keep what was changed of it.

    Args:
        users: who may use it where not everybody may.
        key: a new one, or "" for none; the one that it has stays where this is None.
    Raises:
        ValidationError: it cannot be meant so, or another server has its name or its address.
    """
    before = ModelServer.objects.filter(pk=server.pk).first()
    _check(server)
    if key is not None:
        server.set_key(key)
    elif before is not None and before.has_key and before.place != server.place:
        # Else whoever is at the new address would be sent it
        raise ValidationError(
            {"address": "The stored key belongs to another address. Replace or remove it."}
        )
    if server.has_key:
        _check_encrypted(server)
    if before is not None:
        server.spent_before, server.prices_since = before.spent_before, before.prices_since
        if before.prices is not None and before.prices != server.prices:
            server.prices_since = now = timezone.now()
            server.spent_before = round(spent(before, now.date()), 6)
    server.full_clean()
    users_before = set() if before is None else set(before.users.all())
    server.save()
    server.users.set([] if server.is_for_all else users)
    changed = [] if before is None else _changed(before, server)
    if users_before != set(server.users.all()):
        changed.append("users")
    if key is not None:
        changed.append("key")
    name, address = server.name, server.address
    if before is None:
        audit.record(Action.SERVER_ADDED, by=by, server=name, address=address)
    elif changed:
        audit.record(Action.SERVER_CHANGED, by=by, server=name, address=address, changed=changed)
    return server


def _check(server: ModelServer) -> None:
    """Set the address as requests have it, and its place."""
    kind = next((kind for kind in LISTED if kind.name == server.kind), None)
    if kind is None:
        names = ", ".join(each.name for each in LISTED)
        raise ValidationError({"kind": f"“{server.kind}” is not a kind of server: {names}."})
    missing = [name for name in kind.needs if not getattr(server, name)]
    if missing:
        raise ValidationError(dict.fromkeys(missing, f"A {kind.label} needs this."))
    server.place = ""
    if server.address:
        try:
            if server.kind == INSPECT.name:
                server.address = server.address.strip().lower().removeprefix("inspect:")
                provider = read_inspect_options({"model": f"{server.address}/NAME"}).provider
                if provider != server.address:
                    raise ScoringError(f"“{server.address}” is not the name of a provider.")
                server.place = provider_place(provider)
            else:
                address = parse_address(server.address)
                server.address, server.place = str(address), address.place
        except ScoringError as error:
            raise ValidationError({"address": str(error)}) from error
        same = ModelServer.objects.filter(place=server.place).exclude(pk=server.pk).first()
        if same is not None:
            raise ValidationError(
                {"address": f"The server “{same.name}” has this address already."}
            )
    has_prices = [server.price_in is not None, server.price_out is not None]
    if any(has_prices) and not all(has_prices):
        missing_price = "price_out" if has_prices[0] else "price_in"
        raise ValidationError({missing_price: "Give both prices, or neither."})
    if server.monthly_limit is not None and not all(has_prices):
        raise ValidationError({"monthly_limit": "A spending limit needs both prices."})


def _check_encrypted(server: ModelServer) -> None:
    """A key is refused here that no request would be sent with."""
    if not server.address or server.kind == INSPECT.name:
        return
    address = parse_address(server.address)
    if address.scheme == "http" and not address.is_here:
        raise ValidationError(
            {"address": "A key is sent to another machine only over https://. Write https://."}
        )


def _changed(before: ModelServer, after: ModelServer) -> list[str]:
    """Names of the columns that differ, as the audit trail shows them."""
    unshown = ("sealed_key", "place", "prices_since", "spent_before")
    names = [field.name for field in ModelServer._meta.concrete_fields if field.name not in unshown]
    return [name for name in names if getattr(before, name) != getattr(after, name)]


@transaction.atomic
def remove(server: ModelServer, by: User) -> None:
    """Delete it with its key. Runs stay, and count towards no limit any more."""
    audit.record(Action.SERVER_REMOVED, by=by, server=server.name, address=server.address)
    server.delete()


def usable_by(user: By) -> QuerySet[ModelServer]:
    """Servers in use that this person may have a model of asked: all of them for the site's administrators and commands."""
    active = ModelServer.objects.filter(is_active=True)
    if is_site(user):
        return active
    if user is None or user.pk is None or not may_ask_models(user):
        return active.none()
    return active.filter(Q(is_for_all=True) | Q(users=user.pk)).distinct()


# Before a run


def listed(place: str) -> Listed | None:
    """A server of the list as backends are told of it: they read no database."""
    server = ModelServer.objects.filter(place=place, is_active=True).first()
    if server is None:
        return None
    try:
        return Listed(place, server.open_key())
    except WrongKeyError as error:
        raise ScoringError(LOST_KEY.format(server.name)) from error


def checked(kind: str, args: Any, by: By) -> ModelServer | None:
    """The server of the list that these arguments lead to; None where it is not on the list, and the settings decide.

    Raises:
        ScoringError: it is not in use, or this person may not use it.
    """
    found = kind_of(kind)
    if found is None or found.place != Place.SERVER:
        return None
    if args.get("base_url"):
        place = parse_address(args["base_url"]).place
    elif found.provider:
        place = provider_place(found.provider(args))
    else:
        return None
    server = ModelServer.objects.filter(place=place).first()
    if server is None:
        return None
    if not server.is_active:
        raise ScoringError(
            f"The model server “{server.name}” is not in use. A site administrator can change that on the page Model servers."
        )
    if not is_site(by) and not usable_by(by).filter(pk=server.pk).exists():
        who = by.get_username() if by is not None else ""
        raise ScoringError(
            f"The account {who} may not use the model server “{server.name}”. A site administrator decides who may, on the "
            "page Model servers."
        )
    return server


Run = GeneratingJob | ScoringRun


def begin(run: Run, lease: Lease) -> "Allowance | None":
    """The money that a run may still spend at its server, once a worker has it; None where there is no limit.

    Raises:
        ScoringError: whoever asked for the run may not use the server any more.
    """
    by = None
    if run.asked_by != NOBODY:
        by = User.objects.filter(pk=run.asked_by).first()
        if by is None:
            raise NoRightError(NO_RIGHT)
    kind = run.backend if isinstance(run, ScoringRun) else run.generator
    server = checked(kind, run.model_args, by)
    if run.server != server:
        run.server = server
        lease.write(server=server)
    return allowance(server)


# What it costs

# Rows of answers, the way to their run, and which of them
ANSWERS: tuple[tuple[type[Any], str, Q], ...] = (
    (Answer, "run", Q()),
    (JudgeGrade, "run", Q()),
    (ModelChoice, "run", Q()),
    # Where probabilities are read off, a row has the tokens of one of two texts that are sent
    (ModelChoice, "run", Q(run__form=ChoiceRun.Form.LIKELIHOOD)),
    (DraftAttempt, "draft__run", Q()),
    (ModelReview, "run", Q()),
)


@dataclass
class Allowance:
    """Money that runs may still spend at a server this month."""

    server: ModelServer
    prices: Prices
    left: Decimal

    def fits(self, more: Usage) -> bool:
        return self.prices.cost(more) <= self.left

    def take(self, usage: Usage) -> None:
        self.left -= self.prices.cost(usage)

    def again(self) -> "Allowance | None":
        """As the database has it now: other runs spend too, and the limit may have been changed."""
        return allowance(ModelServer.objects.filter(pk=self.server.pk).first())

    @property
    def refusal(self) -> str:
        """Why nothing more can be asked."""
        limit, used = self.server.monthly_limit, (self.server.monthly_limit or 0) - self.left
        return (
            f"The spending limit of the model server “{self.server.name}” does not allow another question: {used:.2f} of "
            f"{limit:.2f} {self.server.currency}".rstrip()
            + " have been spent this month. A site administrator can raise it."
        )


def allowance(server: ModelServer | None) -> Allowance | None:
    """None where the server has no limit."""
    if server is None or server.monthly_limit is None or (prices := server.prices) is None:
        return None
    left = server.monthly_limit - spent(server, timezone.now().date())
    return Allowance(server, prices, left)


def spent(server: ModelServer, month: date) -> Decimal:
    """The cost of runs at this server in the month of this day (UTC); 0 where it has no prices.

    Answers count when they come, at the prices of then as far as these were changed in that month. A scoring run counts in
    the month in which it was last at work; each text that it scores has one token written. A scoring run or an answer that
    prices change under may count at both.
    """
    if (prices := server.prices) is None:
        return Decimal(0)
    begin = datetime(month.year, month.month, 1, tzinfo=UTC)
    end = datetime(month.year + month.month // 12, month.month % 12 + 1, 1, tzinfo=UTC)
    earlier = Decimal(0)
    if server.prices_since is not None and begin <= server.prices_since < end:
        begin, earlier = server.prices_since, server.spent_before
    usage, this_month = Usage(), Q(at__gte=begin, at__lt=end)
    for model, run, which in ANSWERS:
        rows = model._default_manager.filter(this_month, which, **{f"{run}__server": server})
        found = rows.order_by().aggregate(
            read=Sum("prompt_tokens", default=0), written=Sum("completion_tokens", default=0)
        )
        usage += Usage(found["read"], found["written"])
    runs = ScoringRun.objects.filter(server=server).alias(
        worked_at=Coalesce("finished_at", "heartbeat_at", Now())
    )
    scored = runs.filter(worked_at__gte=begin, worked_at__lt=end).order_by()
    tokens = scored.aggregate(n=Sum("scored_tokens", default=0))["n"]
    texts = 2 * scored.aggregate(n=Sum("done", default=0))["n"]
    return earlier + prices.cost(usage + Usage(tokens, texts))


# A changed key of the site


def keys_open() -> bool:
    """False where a stored key was sealed under another WITHDRAWAL_KEY."""
    sealed = ModelServer.objects.exclude(sealed_key="")
    return all(_opened(server, settings.WITHDRAWAL_KEY) is not None for server in sealed)


def _opened(server: ModelServer, *keys: str) -> str | None:
    for key in keys:
        try:
            return server.open_key(key)
        except WrongKeyError:
            continue
    return None


def reseal(old_key: str) -> tuple[int, int]:
    """Keep all keys under the present WITHDRAWAL_KEY: how many changed, and how many fit neither. Then none changes."""
    changed, foreign = [], 0
    for server in ModelServer.objects.exclude(sealed_key=""):
        if _opened(server, settings.WITHDRAWAL_KEY) is not None:
            continue
        key = _opened(server, old_key)
        if key is None:
            foreign += 1
            continue
        server.set_key(key)
        changed.append(server)
    if not foreign:
        ModelServer.objects.bulk_update(changed, ["sealed_key"])
    return (0, foreign) if foreign else (len(changed), 0)


def last_changes(server: ModelServer, names: Iterable[str]) -> dict[str, Edit]:
    """The last change of each of these of the server, by name."""
    found: dict[str, Edit] = {}
    events = audit.events_of().filter(action=Action.SERVER_CHANGED, details__server=server.name)
    for event in events.order_by("-pk")[: audit.MOST_EVENTS]:
        for name in set(names) & audit.changed_by(event):
            found.setdefault(name, Edit(event.actor, event.at))
    return found
