"""The ways in which participants come to a study, and what a recruitment site's addresses may be."""

import re
from functools import lru_cache
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from experiment.models import Channel, Participant, Study
from experiment.models.channels import PLAIN
from experiment.services.audit import Action, record

ADDRESSES = ("completion_url", "screen_out_url", "full_url")
ENDS = (
    "completion_url",
    "completion_code",
    "screen_out_url",
    "screen_out_code",
    "full_url",
    "full_code",
)
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
    plain = [] if PLAIN in known else [Channel(study=study, code=PLAIN, label=_("Plain link"))]
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
        errors["platform"] = _("Participants came by this channel: add another one instead.")
    if errors:
        raise ValidationError(errors)
    with transaction.atomic():
        is_new = channel.pk is None
        channel.save()
        Study.objects.filter(pk=channel.study_id).update(channels_version=F("channels_version") + 1)
        action = Action.CHANNEL_ADDED if is_new else Action.CHANNEL_CHANGED
        record(action, by=by, study=channel.study, channel=channel.code)
    return channel


def count_unfilled_link(study: Study) -> None:
    """One more visit by a link whose id the recruitment site did not fill in; nothing else of it is kept."""
    Study.objects.filter(pk=study.pk).update(unfilled_links=F("unfilled_links") + 1)


def _is_of_another_platform(channel: Channel) -> bool:
    """Whether participants came from the platform that it no longer names; the ids that are kept are that one's."""
    before = Channel.objects.filter(pk=channel.pk).exclude(platform=channel.platform)
    came_by = "" if channel.code == PLAIN else channel.code
    people = Participant.objects.filter(study=channel.study_id, external_source=came_by)
    return before.exists() and people.exclude(kind=Participant.Kind.SIMULATED).exists()


def host_problem(url: str) -> str:
    """What is wrong with where an address leads; empty where nothing is."""
    host = _host(url)
    if not url or any(host == known or host.endswith(f".{known}") for known in _hosts()):
        return ""
    known = ", ".join(_hosts())
    return _("%(host)s is not among the hosts of RECRUITMENT_HOSTS: %(known)s.") % {
        "host": host or url,
        "known": known,
    }


def _host(url: str) -> str:
    found = _address.fullmatch(url)
    return found["host"].lower() if found else ""


def _hosts() -> list[str]:
    return [host.lower() for host in settings.RECRUITMENT_HOSTS]
