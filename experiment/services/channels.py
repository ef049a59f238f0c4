"""The ways in which participants come to a study, what a recruitment site's addresses may be, and what it is promised and given: the ends of a study, and how long its ids are kept."""

import re
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from experiment.models import (
    Channel,
    Participant,
    PaymentLine,
    RecruitmentRecord,
    Study,
)
from experiment.models.channels import PLAIN, RecruitmentRecordQuerySet
from experiment.services.audit import Action, record
from experiment.services.counting import raise_revision
from experiment.services.export.jobs import delete_exports


@dataclass(frozen=True, slots=True)
class Ends:
    """Where a participant is sent at the end, or when they do not take part; empty where nowhere."""

    completion_url: str = ""
    completion_code: str = ""
    screen_out_url: str = ""
    screen_out_code: str = ""
    full_url: str = ""
    full_code: str = ""


ENDS = tuple(Ends.__dataclass_fields__)
ADDRESSES = [name for name in ENDS if name.endswith("_url")]
# Browsers read a backslash as a slash and drop tabs and line ends: what is no plain host is none
_address = re.compile(
    r"https://(?P<host>[A-Za-z0-9.-]+)(:[0-9]+)?([/?#][^\\\s\x00-\x1f\x7f-\x9f]*)?"
)


class Parameter(NamedTuple):
    """A parameter of the entry link, and what the recruitment site calls the value that it puts there."""

    name: str
    placeholder: str


# The ids of the participant, the study and the session there; SONA has the first alone
SOURCES = {
    "prolific": (
        Parameter("PROLIFIC_PID", "{{%PROLIFIC_PID%}}"),
        Parameter("STUDY_ID", "{{%STUDY_ID%}}"),
        Parameter("SESSION_ID", "{{%SESSION_ID%}}"),
    ),
    "mturk": (
        Parameter("workerId", "${workerId}"),
        Parameter("hitId", "${hitId}"),
        Parameter("assignmentId", "${assignmentId}"),
    ),
    "sona": (Parameter("id", "%SURVEY_CODE%"),),
}


def parameters(channel: Channel) -> tuple[Parameter, ...]:
    """Those of the channel's links, for the three ids; none of a plain one. A panel's may lack a name."""
    if channel.platform != Channel.Platform.OTHER:
        return SOURCES.get(channel.platform, ())
    names = (channel.id_parameter, channel.study_parameter, channel.session_parameter)
    return tuple(Parameter(name, f"[{name}]") for name in names)


def channels(study: Study) -> dict[str, Channel]:
    """The study's channels by their short names; asked of the database once by each process, until one changes."""
    return _channels(study.pk, study.channels_version)


@lru_cache(maxsize=512)
def _channels(study: int, version: int) -> dict[str, Channel]:
    return {channel.code: channel for channel in Channel.objects.filter(study=study)}


def all_channels(study: Study) -> list[Channel]:
    """Those of the study, and the plain link, which leads to it even where nothing is set up for it."""
    known = channels(study)
    plain = [] if PLAIN in known else [Channel(study=study, code=PLAIN, label="Plain link")]
    return [*known.values(), *plain]


def forget() -> None:
    """Keep nothing; for tests, which use the ids of earlier ones again."""
    _channels.cache_clear()


def channel_of(study: Study, code: str) -> Channel | None:
    """That of participants who came by this one; who came by none, or by one that is gone, by the plain one."""
    known = channels(study)
    return known.get(code) or known.get(PLAIN)


def of_platform(study: Study, platform: str) -> Channel | None:
    """The first channel of a platform, for links that name none."""
    of_it = (c for c in channels(study).values() if c.platform == platform)
    return next(of_it, None)


def save_channel(channel: Channel, by: User | None = None) -> Channel:
    """Add or change a channel.

    Raises:
        ValidationError: an address on a host that is not allowed, a short name that is taken, another platform
            than participants came from, or the like.
    """
    channel.full_clean()
    errors = {n: e for n in ADDRESSES if (e := host_problem(getattr(channel, n)))}
    if _is_of_another_platform(channel):
        errors["platform"] = "Participants have used this channel. Add another one instead."
    if errors:
        raise ValidationError(errors)
    with transaction.atomic():
        before = Channel.objects.filter(pk=channel.pk).first()
        columns = [field.attname for field in Channel._meta.concrete_fields]
        names = [n for n in columns if before and getattr(before, n) != getattr(channel, n)]
        channel.save()
        Study.objects.filter(pk=channel.study_id).update(channels_version=F("channels_version") + 1)
        action = Action.CHANNEL_CHANGED if before else Action.CHANNEL_ADDED
        record(action, by=by, study=channel.study, channel=channel.code, changed=names)
    return channel


def count_unfilled_link(study: Study, now: datetime) -> None:
    """One more visit by a link whose id the recruitment site did not fill in; nothing else of it is kept."""
    counted = {"unfilled_links": F("unfilled_links") + 1, "unfilled_link_at": now}
    Study.objects.filter(pk=study.pk).update(**counted)


def count_damaged_link(study: Study, now: datetime) -> None:
    """Likewise, by a link that was changed on its way from the recruitment site; who came by it may take part."""
    counted = {"damaged_links": F("damaged_links") + 1, "damaged_link_at": now}
    Study.objects.filter(pk=study.pk).update(**counted)


def _is_of_another_platform(channel: Channel) -> bool:
    """True if participants came from the platform that it no longer names; the ids that are kept are that one's."""
    before = Channel.objects.filter(pk=channel.pk).exclude(platform=channel.platform)
    came_by = "" if channel.code == PLAIN else channel.code
    people = Participant.objects.filter(study=channel.study_id, external_source=came_by)
    return before.exists() and people.exclude(kind=Participant.Kind.SIMULATED).exists()


def host_problem(url: str) -> str:
    """A sentence on an address that cannot be used; empty where it can."""
    found = _address.fullmatch(url)
    host = found["host"].lower() if found else ""
    if not url or any(host == known or host.endswith(f".{known}") for known in _hosts()):
        return ""
    known = ", ".join(_hosts())
    return f"{host or url} is not among the hosts of RECRUITMENT_HOSTS: {known}."


def _hosts() -> list[str]:
    return [host.lower() for host in settings.RECRUITMENT_HOSTS]


@dataclass(frozen=True, slots=True)
class ExternalIds:
    """The participant's ids at the place that recruited them; all empty for a plain link.

    source: whose ids these are, a platform's or one channel's.
    """

    source: str = ""
    id: str = ""
    study_id: str = ""
    session_id: str = ""
    channel: str = ""  # the short name of the channel whose link it was

    @property
    def who(self) -> tuple[str, str]:
        return self.source, self.id


NO_EXTERNAL_IDS = ExternalIds()


ID_PLACE = "{external_id}"


SAMPLE_CODE = "ABCD-EFGH-JKMN"
SAMPLE_ID = "EXAMPLE-ID"


@dataclass(frozen=True, slots=True)
class Link:
    """An entry link to give out, and what who follows it meets at the end."""

    code: str
    label: str
    is_open: bool
    url: str
    ending: Ends


def links(study: Study, address: str) -> list[Link]:
    """One for each channel, with the placeholders of its recruitment site."""
    return [
        Link(c.code, c.label, c.is_open, link(c, address), sample_ending(c))
        for c in all_channels(study)
    ]


def link(channel: Channel, address: str) -> str:
    """The placeholders are the site's own syntax, and are not quoted."""
    given = [f"{p.name}={p.placeholder}" for p in parameters(channel) if p.name]
    if channel.code != PLAIN:
        given.insert(0, f"channel={channel.code}")
    return f"{address}?{'&'.join(given)}" if given else address


def ending(study: Study, external: ExternalIds = NO_EXTERNAL_IDS) -> Ends:
    """For who came with these ids, by their channel."""
    channel = channel_of(study, external.channel)
    return Ends() if channel is None else _ending(channel, external.id)


def sent_by(study: Study, code: str) -> str:
    """The name of the channel of this short name, or of the platform; empty for a plain link."""
    channel = channels(study).get(code)
    return channel.label if channel else str(dict(Channel.Platform.choices).get(code, code))


def sample_ending(channel: Channel) -> Ends:
    """As who comes by it is shown, under an id that is made up."""
    return _ending(channel, SAMPLE_ID if parameters(channel) else "")


def _ending(channel: Channel, external_id: str) -> Ends:
    full = (channel.full_url, channel.full_code)
    screen_out = (channel.screen_out_url, channel.screen_out_code)
    ends = []
    for url, code in (
        (channel.completion_url, channel.completion_code),
        screen_out,
        full if any(full) else screen_out,
    ):
        # An address that needs the participant's id leads nowhere where there is none
        is_whole = external_id or ID_PLACE not in url
        address = url.replace(ID_PLACE, quote(external_id, safe="")) if is_whole else ""
        if not address and code and channel.platform == Channel.Platform.PROLIFIC:
            # This site takes a code in an address, if participants may be led there
            by_code = f"https://app.prolific.com/submissions/complete?cc={quote(code, safe='')}"
            address = "" if host_problem(by_code) else by_code
        ends += [address, code]
    return Ends(*ends)


def overdue(today: date) -> RecruitmentRecordQuerySet:
    """Recruitment ids that are still there after the day that consent named."""
    return RecruitmentRecord.objects.filter(until__lt=today)


@transaction.atomic
def forget_ids(today: date) -> int:
    """Erase the recruitment ids that are past their day, and prepared exports that hold them.

    The site's name stays, which says nothing of a person.
    """
    records = overdue(today)
    changed = set(records.order_by().values_list("study", "participant__kind").distinct())
    studies = Study.objects.in_bulk({study for study, _ in changed})
    n, _ = records.delete()
    lines = PaymentLine.objects.filter(until__lt=today)
    lines.filter(batch=None).delete()  # nobody can be paid by it any more
    lines.update(external_id="", external_study_id="", external_session_id="")
    for pk, kind in sorted(changed):
        raise_revision(studies[pk], kind)
    for study in studies.values():
        delete_exports(study)
    return n
