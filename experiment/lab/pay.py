"""Pay: who came with an ID, what the study promised them, and the lists that recruitment sites take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.pay import amount
from experiment.domain.paying import LISTS, Reason, Site, State, site_of, use_of
from experiment.domain.roles import Right
from experiment.lab.access import LabRequest, for_study, user_of
from experiment.lab.pay_steps import Step, steps
from experiment.models import PaymentBatch, Study
from experiment.services.channels import SOURCES, all_channels, link, parameters, sample_ending
from experiment.services.payments import Person, download, make_list, n_unpaid_soon, payable, totals
from lib.formatting import DASH, count, verb
from lib.pages import attached, show

OVERTURN = "overturn"
MOST_SHOWN = 500  # people in a table; lists have everybody


@dataclass(frozen=True, slots=True)
class Offer:
    """A list that can be made now; `value` is that of its button."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Row:
    """A person as the page shows them."""

    person: Person
    name: str
    state: str
    owed: str
    paid: str


@dataclass(frozen=True, slots=True)
class Past:
    """A list that was made."""

    batch: PaymentBatch
    what: str
    use: str
    n: int
    total: str
    n_forgotten: int


@dataclass(frozen=True, slots=True)
class Table:
    """One channel's part of the page."""

    code: str
    label: str
    site: Site
    counted: str
    rows: Sequence[Row]
    n_more: int
    offers: Sequence[Offer]
    past: Sequence[Past]
    steps: Sequence[Step]

    @property
    def can_refuse(self) -> bool:
        """True if a list of refusals is offered."""
        return any(offer.value == Reason.REFUSED for offer in self.offers)


@require_safe
@for_study(Right.SEE_DATA)
def pay(request: LabRequest, study: Study) -> HttpResponse:
    now = timezone.now()
    people = payable(study, now)
    with_ids = Right.IDENTIFY in request.rights
    with_codes = (
        Right.SET_UP in request.rights
    )  # who knows the codes could claim to have taken part
    n_soon = n_unpaid_soon(study, now) if study.pay.is_any else 0
    soon = (
        f"{count(n_soon, 'participant')} {verb(n_soon, 'is', 'are')} owed a payment, and the IDs by which you can pay them will be "
        "erased within 7 days."
        if n_soon
        else ""
    )
    return show(
        request,
        "lab/recruitment/pay.html",
        promise=study.pay.sentences(),
        tables=list(_tables(study, people, with_ids=with_ids, with_codes=with_codes)),
        soon=soon,
    )


@require_POST
@for_study(Right.SET_UP)
def make(request: HttpRequest, study: Study, code: str) -> HttpResponse:
    """A new list of a channel."""
    if code not in SOURCES:  # of links that name no channel
        get_object_or_404(study.channels, code=code)
    asked = request.POST.get("list", "")
    is_overturned = asked == OVERTURN
    if not is_overturned and asked not in set(Reason):
        raise Http404
    reason = Reason.FINISHED if is_overturned else Reason(asked)
    try:
        batch = make_list(
            study, code, reason, timezone.now(), by=user_of(request), overturns=is_overturned
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, f"List {batch.number} is ready. Download it below.")
    return redirect("lab:pay", study.slug)


@require_safe
@for_study(Right.SET_UP)
def file(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """A list in the form that its site takes; the same each time."""
    batch = get_object_or_404(study.payment_batches, number=number)
    found = download(batch, by=user_of(request))
    name = f"{study.slug}-payments-{number}-{batch.channel}{found.suffix}"
    return attached(found.content, name, found.content_type)


def _tables(
    study: Study, people: Sequence[Person], *, with_ids: bool, with_codes: bool
) -> Iterator[Table]:
    """One for each channel that gives IDs, and for those of which people came whom somebody took away since."""
    known = {channel.code: channel for channel in all_channels(study) if parameters(channel)}
    batches = list(study.payment_batches.prefetch_related("lines"))
    came = dict.fromkeys(person.channel for person in people)
    address = settings.BASE_URL + study.get_absolute_url()
    for code in (*known, *(code for code in came if code not in known)):
        own = [person for person in people if person.channel == code]
        channel = known.get(code)
        platform = channel.platform if channel else code
        own.sort(key=lambda person: not person.due)
        yield Table(
            code,
            channel.label if channel else code,
            site_of(platform),
            _counted(own),
            [_row(person, with_ids=with_ids) for person in own[:MOST_SHOWN]],
            max(0, len(own) - MOST_SHOWN),
            list(_offers(own)),
            [_past(batch) for batch in batches if batch.channel == code],
            steps(channel, link(channel, address), sample_ending(channel), with_codes=with_codes)
            if channel
            else (),
        )


def _counted(people: Sequence[Person]) -> str:
    """How many are where."""
    n = {state: sum(person.state == state for person in people) for state in State}
    several = sum(len(person.pseudonyms) > 1 for person in people)
    parts = [f"{n[state]} {state.value}" for state in State if n[state]]
    if several:
        parts.append(
            f"{several} took part more than once and {verb(several, 'is', 'are')} paid once"
        )
    return ", ".join(parts)


def _row(person: Person, *, with_ids: bool) -> Row:
    pseudonym = person.pseudonyms[0] if person.pseudonyms else DASH
    state = person.state.value
    if person.state == State.FINISHED:
        state = f"finished, {f'excluded: {person.excluded}' if person.excluded else 'valid'}"
    if len(person.pseudonyms) > 1:
        state += f"; took part {len(person.pseudonyms)} times"
    owed = [
        f"{_short(reason)} {_amount(value, person.unit)}".strip()
        for reason, value in person.due.items()
    ]
    paid = [
        f"{_short(each.reason)} {_amount(each.amount, each.unit)} (list {each.batch})"
        for each in person.paid
    ]
    return Row(
        person,
        person.record.external_id if with_ids else pseudonym,
        state,
        ", ".join(owed) or DASH,
        ", ".join(paid) or DASH,
    )


def _short(reason: Reason) -> str:
    names = {Reason.SCREENED_OUT: "part", Reason.BONUS: "bonus", Reason.REFUSED: "refused"}
    return names.get(reason, "base")


def _amount(value: Decimal, unit: str) -> str:
    return amount(value, unit) if value else ""


def _offers(people: Sequence[Person]) -> Iterator[Offer]:
    """The lists for which there is somebody, with how many and how much."""
    for reason in Reason:
        chosen = [person for person in people if person.is_for(reason)]
        if not chosen:
            continue
        if reason == Reason.REFUSED:
            yield Offer(reason, f"List {count(len(chosen), 'submission')} to refuse")
            continue
        total = sum((person.due[reason] for person in chosen), Decimal(0))
        of_total = f", {amount(total, chosen[0].unit)}" if total else ""
        what = {
            Reason.FINISHED: f"{count(len(chosen), 'participant')} who finished",
            Reason.SCREENED_OUT: count(len(chosen), "part payment"),
            Reason.BONUS: count(len(chosen), "bonus", "bonuses"),
        }[reason]
        yield Offer(reason, f"List {what}{of_total}")
    if refused := sum(person.is_refused for person in people):
        yield Offer(OVERTURN, f"Pay {count(refused, 'refused participant')} after all")


def _past(batch: PaymentBatch) -> Past:
    lines = batch.lines.all()
    sums = [amount(value, unit) for unit, value in totals(lines).items() if value]
    reason = Reason(batch.reason)
    n_forgotten = sum(line.external_id == "" for line in lines)
    return Past(
        batch,
        LISTS[reason],
        use_of(batch.platform, reason),
        len(lines),
        ", ".join(sums),
        n_forgotten,
    )
