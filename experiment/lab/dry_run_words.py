"""Sentences on a dry run."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from django.utils.formats import date_format

from experiment.domain.exclusion import PARTICIPANT_REASONS
from experiment.domain.forecast import ArmContrast, Recruiting, Simulated
from experiment.models import DryRun
from experiment.services.counts import STRATUM_NAMES
from lib.formatting import count, number, percent, points

LABELS = {reason.code: reason.label for reason in PARTICIPANT_REASONS}
TOO_FEW = "too few to say"


def title(run: DryRun) -> str:
    return f"Dry run of {date_format(run.created_at, 'j F Y, H:i')}"


def asked_for(run: DryRun, *, is_advised: bool) -> str:
    people = "participant who finishes" if run.finishers == 1 else "participants who finish"
    said = (
        f"{run.finishers} {people}; {run.dropout_percent}% of those who start leave early. Arrival: {run.get_arrival_display()}. "
        f"Seed {run.seed}."
    )
    follow = f"Simulated participants follow advice in {run.follow_percent}% of their advised trials and ignore it in the others."
    return f"{said} {follow}" if is_advised else said


def ended(run: DryRun) -> str:
    """A sentence on the end of a dry run that found nothing; empty while it runs, and where it is finished."""
    how = {DryRun.Status.CANCELLED: "was stopped", DryRun.Status.FAILED: "failed"}
    if run.status not in how:
        return ""
    return f"The dry run {how[DryRun.Status(run.status)]}, and its simulated participants were deleted."


def durations(found: Simulated) -> str:
    low, _median, high = found.minutes
    return (
        f"The middle half of the finishers takes {number(low, 0)} to {number(high, 0)} minutes, as the consent page says. Times "
        "per abstract are those of the participants in the published data, and times of questions and other pages are assumed, "
        "until enough real participants of this study have finished."
    )


def excluded(found: Simulated) -> str:
    listed = ", ".join(f"{n} {LABELS.get(code, code)}" for code, n in found.excluded.items())
    return f"Excluded at the end: {listed}." if listed else ""


def balance(found: Simulated) -> str:
    unseen = found.never_shown.items()
    listed = ", ".join(f"{n} {STRATUM_NAMES[stratum]}" for stratum, n in unseen)
    if not listed:
        return "Every test case has a valid judgment."
    return f"Test cases without a valid judgment: {listed}."


def costs(run: DryRun, found: Simulated, recruiting: Recruiting) -> Iterator[tuple[str, str]]:
    """The lines of the calculation, without its total."""
    each = "Each finisher"
    if run.pay_per == DryRun.PayPer.HOUR:
        median = number(found.minutes[1], 1)
        each += f": {run.pay} {run.currency} per hour for the median of {median} minutes"
    yield each, _money(recruiting.pay_each)
    yield count(recruiting.to_finish, "finisher"), _money(recruiting.pay_all)
    yield f"Fee of the recruitment site, {run.fee_percent}%", _money(recruiting.fee)


def _money(amount: Decimal) -> str:
    return f"{amount:,.2f}"


def assumed(run: DryRun) -> str:
    starts = "person starts" if run.per_day == 1 else "people start"
    return (
        f"This assumes that {run.per_day} {starts} per day. Finishers whom a rule excludes are also paid; participants who leave "
        "early are not."
    )


@dataclass(frozen=True, slots=True)
class ContrastRow:
    """An arm against another, as the table of differences shows it."""

    contrast: ArmContrast

    @property
    def source(self) -> str:
        return STRATUM_NAMES[self.contrast.source]

    @property
    def detectable(self) -> str:
        if self.contrast.detectable is None:
            return TOO_FEW
        return " to ".join(number(100 * share, 1) for share in self.contrast.detectable)

    @property
    def difference(self) -> str:
        return points(self.contrast.difference)

    @property
    def power(self) -> str:
        if self.contrast.power is None:
            return TOO_FEW
        return " to ".join(percent(share, 0) for share in self.contrast.power)


def differences_caption(run: DryRun) -> str:
    people = count(run.target, "valid participant")
    return f"Differences in the share of right answers that {people} would detect"
