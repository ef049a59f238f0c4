"""What recruitment sites are promised and given: the ends of a study, and how long their ids are kept."""

from dataclasses import dataclass
from datetime import date
from urllib.parse import quote

from django.db import transaction

from experiment.models import Channel, RecruitmentRecord, Study
from experiment.models.channels import PLAIN
from experiment.models.recruitment import RecruitmentRecordQuerySet
from experiment.services.channels import all_channels, channel_of, channels, parameters
from experiment.services.counting import raise_revision
from experiment.services.enrollment import NO_EXTERNAL_IDS, ExternalIds
from experiment.services.export.jobs import delete_exports

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
    ending: "Ending"


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


@dataclass(frozen=True, slots=True)
class Ending:
    """Where a participant is sent at the end, or when they do not take part; empty where nowhere."""

    completion_url: str = ""
    completion_code: str = ""
    screen_out_url: str = ""
    screen_out_code: str = ""
    full_url: str = ""
    full_code: str = ""


def ending(study: Study, external: ExternalIds = NO_EXTERNAL_IDS) -> Ending:
    """For who came with these ids, by their channel."""
    channel = channel_of(study, external.channel)
    return Ending() if channel is None else _ending(channel, external.id)


def sent_by(study: Study, code: str) -> str:
    """What the channel of this short name, or the platform, is called; empty for a plain link."""
    channel = channels(study).get(code)
    return channel.label if channel else str(dict(Channel.Platform.choices).get(code, code))


def sample_ending(channel: Channel) -> Ending:
    """As who comes by it is shown, under an id that is made up."""
    return _ending(channel, SAMPLE_ID if parameters(channel) else "")


def _ending(channel: Channel, external_id: str) -> Ending:
    full = (channel.full_url, channel.full_code)
    screen_out = (channel.screen_out_url, channel.screen_out_code)
    full_url, full_code = full if any(full) else screen_out
    return Ending(
        _fill_in(channel.completion_url, external_id),
        channel.completion_code,
        _fill_in(channel.screen_out_url, external_id),
        channel.screen_out_code,
        _fill_in(full_url, external_id),
        full_code,
    )


def _fill_in(url: str, external_id: str) -> str:
    """The address with the participant's id in it, quoted; none where it needs an id and there is none."""
    if ID_PLACE in url and not external_id:
        return ""
    return url.replace(ID_PLACE, quote(external_id, safe=""))


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
    for pk, kind in sorted(changed):
        raise_revision(studies[pk], kind)
    for study in studies.values():
        delete_exports(study)
    return n
