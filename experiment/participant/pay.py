"""The promised payment as participants read it, in the language of their pages."""

from dataclasses import dataclass
from decimal import Decimal

from django.utils.formats import number_format

from experiment.domain.pay import NOTHING, Pay
from experiment.models import Channel, Participant, Study
from experiment.services.channels import channel_of
from experiment.services.payments import bonus_of

NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class PayTold:
    """Amounts in words; empty where nothing is promised."""

    base: str = ""
    screened_out: str = ""
    fixed_bonus: str = ""
    bonus_each: str = ""
    credits: str = ""


def money(amount: Decimal, currency: str) -> str:
    return f"{number_format(amount, 2)}{NO_BREAK}{currency}" if amount else ""


def is_of_sona(study: Study, channel: str) -> bool:
    found = channel_of(study, channel) if channel else None
    return Channel.Platform.SONA in (channel, found and found.platform)


def pay_told(study: Study, channel: str) -> PayTold | None:
    """The promise to a newcomer by this channel; None where that is nothing."""
    pay: Pay = study.pay
    if is_of_sona(study, channel):
        # Half a credit is written 0.5, as the pools write it
        return PayTold(credits=number_format(pay.credits.normalize())) if pay.credits else None
    told = PayTold(
        base=money(pay.base, pay.currency),
        screened_out=money(pay.screened_out, pay.currency),
        fixed_bonus=money(pay.bonus_amount, pay.currency) if pay.bonus == "fixed" else "",
        bonus_each=money(pay.bonus_amount, pay.currency) if pay.bonus == "right" else "",
    )
    return None if told == PayTold() else told


def bonus_told(person: Participant, n_right: int) -> str:
    """The bonus that a participant has earned at the end; empty where none was promised, or nothing is earned."""
    study = person.study
    is_sample = person.pk is None
    if study.pay_bonus == Study.Bonus.NONE or not (is_sample or person.external_source):
        return ""
    if is_of_sona(study, person.external_source):
        return ""
    pay, earned = bonus_of(person, n_right)
    return money(max(earned, NOTHING), pay.currency)
