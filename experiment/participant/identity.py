"""The identity of a visitor: signed cookies that name their entry and a participant, per study."""

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, cast

from django.conf import settings
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from experiment.domain.recruitment_ids import (
    as_sent,
    is_id,
    is_of_site,
    is_preview,
    is_several,
    mended,
)
from experiment.domain.withdrawal_code import grouped, new_code
from experiment.models import Participant, RecruitmentRecord, Study
from experiment.models.channels import MAX_EXTERNAL_ID, PLAIN
from experiment.participant.problems import BadLinkError, UnknownChannelError
from experiment.services.channels import (
    NO_EXTERNAL_IDS,
    SOURCES,
    ExternalIds,
    Parameter,
    channels,
    of_platform,
    parameters,
)
from experiment.services.consenting import was_opened
from experiment.services.flow import UnfilledLinkError
from experiment.services.sign_in import keep_or_end
from experiment.services.study_language import find_study, newest_text_of
from lib.fast.prepared import Prepared
from lib.unguessable import unguessable_id


class PreviewLinkError(Exception):
    """Nobody can take part by this link, and everybody may look; `source` is where it was followed."""

    def __init__(self, source: str) -> None:
        self.source = source
        super().__init__(source)


PARTICIPANT_COOKIE = "bb-participant-"
# After the participant's name in a cookie: all that they showed is a recruitment site's link
BY_LINK = "~"
MASKED = "····-····-····"
MAX_SENT = 4000  # characters of the cookies of visits and participants
SIMULATED_PARAMETER = "simulated"
SIMULATED_SALT = "simulated-participant"


@dataclass(frozen=True, slots=True)
class Entry:
    """A visitor before consent. `key` makes the consent's POST create one participant however often it comes.

    `code` is theirs once they agree; the consent page shows it.
    """

    key: uuid.UUID
    external: ExternalIds = NO_EXTERNAL_IDS
    simulated: bool = False
    code: str = field(default_factory=new_code)

    def may_be(self, participant: Participant) -> bool:
        """True if this visit can be the participant's that the browser remembers.

        A link without an id may be theirs; one with another id is another person at this computer.
        """
        if participant.enrollment_key == self.key:
            return True
        claims_nothing = not self.external.id and not self.simulated
        return claims_nothing or self.external.who == external_ids(participant).who


def read_parameters(study: Study, query: QueryDict) -> tuple[ExternalIds, bool]:
    """The recruitment parameters of an entry link.

    Raises:
        BadLinkError: they cannot be ids, or the id of a link with the site's other ids, or of the named channel, is not there.
        UnfilledLinkError: one of them is a placeholder, or the participant's is empty.
        UnknownChannelError: the study has no such channel.
        PreviewLinkError: it is what a recruitment site links to for those who have not accepted the task.
    """
    sent = as_sent((name, str(query[name])) for name in query)
    if code := sent.get("channel"):
        if (channel := channels(study).get(code)) is None:
            raise UnknownChannelError
        is_other = channel.platform == channel.Platform.OTHER
        names = parameters(channel)
        found = _read_ids(sent, code if is_other else channel.platform, names)
        if names and not found.id:
            # Without it, anybody could come as often as they like
            raise BadLinkError(names[0].name, MAX_EXTERNAL_ID)
        # Links that name the plain channel are as those that name none
        return replace(found, channel="" if code == PLAIN else code), False
    for source, names in SOURCES.items():
        if (found := _read_ids(sent, source, names)).id:
            by_default = of_platform(study, source)
            return replace(found, channel=by_default.code if by_default else ""), False
        if any(parameter.name in sent for parameter in names[1:]):
            raise BadLinkError(names[0].name, MAX_EXTERNAL_ID)
    token = query.get(SIMULATED_PARAMETER, "")
    if token and not _is_simulated(token):
        raise BadLinkError
    return NO_EXTERNAL_IDS, bool(token)


def _is_simulated(token: str) -> bool:
    try:
        signing.loads(token, salt=SIMULATED_SALT, max_age=24 * 3600)
    except signing.BadSignature:
        return False
    return True


def is_damaged(study: Study, query: QueryDict, external: ExternalIds) -> bool:
    """True if a link with these ids is not as the recruitment site sends it: something of it was lost or changed on the way."""
    channel = channels(study).get(external.source)
    names = parameters(channel) if channel else SOURCES.get(external.source, ())
    ids = (external.id, external.study_id, external.session_id)
    return any(
        parameter.name
        and (query.get(parameter.name) != value or not is_of_site(value, external.source))
        for parameter, value in zip(names, ids, strict=False)
    )


def _read_ids(query: Mapping[str, str], source: str, names: Sequence[Parameter]) -> ExternalIds:
    sent = {p.name: mended(query[p.name], source) for p in names if p.name in query}
    if any(map(is_preview, sent.values())):
        raise PreviewLinkError(source)
    values = [_clean_id(p.name, sent[p.name], source) if sent.get(p.name) else "" for p in names]
    if names and sent.get(names[0].name) == "":
        raise UnfilledLinkError(names[0].name)
    return ExternalIds(source, *values) if values and values[0] else NO_EXTERNAL_IDS


def simulated_token() -> str:
    """The token that `simulate_participants --http` adds to the entry link, so that no other visitor can pose as simulated."""
    return signing.dumps("simulated", salt=SIMULATED_SALT)


def _clean_id(name: str, value: str, source: str) -> str:
    is_unreadable = len(value) > MAX_EXTERNAL_ID or re.search(r"[\x00-\x1f\x7f]", value)
    if is_unreadable or is_several(value, source):
        raise BadLinkError(name, MAX_EXTERNAL_ID)
    if not is_id(value, name):
        raise UnfilledLinkError(name)
    return value


def read_entry(request: HttpRequest, study: Study) -> Entry | None:
    values = _read(request, "entry", study)
    return None if values is None else _entry_of(values)


def _entry_of(values: Mapping[str, Any]) -> Entry:
    external = ExternalIds(*values["external"])
    return Entry(uuid.UUID(values["key"]), external, values["simulated"], values["code"])


def sent_entry(request: HttpRequest, study: Study) -> Entry | None:
    """The visit whose page a form was on, with the ids and the code that it showed; None for a browser without a cookie.

    Another link may have been followed since, by the visitor or by a page of somebody else's that led the browser to it.
    """
    seen = read_entry(request, study)
    try:
        shown = signing.loads(request.POST.get("entry", ""), salt=_form_salt(study))
    except signing.BadSignature:
        return seen  # a form that names none
    return None if seen is None else _entry_of(shown)


def for_form(study: Study, entry: Entry) -> str:
    """A page's form names the visit that it was shown to by this."""
    return signing.dumps(_values_of(entry), salt=_form_salt(study))


def _form_salt(study: Study) -> str:
    return f"form-{_name('entry', study)}"


def write_entry(request: HttpRequest, response: HttpResponse, study: Study, entry: Entry) -> None:
    _forget_oldest(request, response, study)
    # Until the browser is closed: a visitor who declines, or only looks, leaves nothing behind.
    _write(response, "entry", study, _values_of(entry), None)


def _forget_oldest(request: HttpRequest, response: HttpResponse, study: Study) -> None:
    """Cookies of a whole site come with each request, and servers refuse one whose cookies are longer than 8 kB.

    Visits to other studies go first, then participants, who can go on with their own codes; of each, what browsers send first,
    which is the oldest (RFC 6265, 5.4).
    """
    own = f"{settings.COOKIE_PREFIX}bb-"  # another host's may be as long as it likes
    sent = {name: value for name, value in request.COOKIES.items() if name.startswith(own)}
    length = sum(len(name) + len(value) + len("=; ") for name, value in sent.items())
    for kind in ("entry", "participant"):
        for name, value in sent.items():
            if length <= MAX_SENT:
                return
            if name.startswith(f"{own}{kind}-") and name != settings.COOKIE_PREFIX + _name(
                kind, study
            ):
                response.delete_cookie(name, path=_path(study))
                length -= len(name) + len(value) + len("=; ")


def _values_of(entry: Entry) -> dict[str, Any]:
    return {
        "key": entry.key.hex,
        "external": list(astuple(entry.external)),
        "simulated": entry.simulated,
        "code": entry.code,
    }


def renew_entry(request: HttpRequest, response: HttpResponse, study: Study, erased: str) -> None:
    """Another code for this browser if its own was erased; the recruitment ids stay, so that nobody enters twice."""
    entry = read_entry(request, study)
    if entry and grouped(entry.code) == grouped(erased):
        write_entry(
            request, response, study, Entry(unguessable_id(), entry.external, entry.simulated)
        )


def read_study(request: HttpRequest, slug: str) -> Study:
    """The study, with the participant that this browser names, if any, in the same query.

    Http404 where there is none, and where there is one that was never opened and the visitor has nothing to do with it.
    """
    for cookie, value in request.COOKIES.items():
        if not cookie.startswith(settings.COOKIE_PREFIX + PARTICIPANT_COOKIE):
            continue
        public_id = _unsigned(cookie, value)
        for participant in _named(_uuid(public_id), slug) if public_id else ():
            is_of_study = cookie == settings.COOKIE_PREFIX + _name("participant", participant.study)
            if is_of_study:
                request.participant = participant  # type: ignore[attr-defined]
                _note_link(request, public_id)
                study: Study = participant.study
                study.__dict__["newest_text"] = participant.newest_text
                return study
    found = find_study(slug)
    if found is None or not (was_opened(found) or _is_insider(request, found)):
        raise Http404
    return found


def _is_insider(request: HttpRequest, study: Study) -> bool:
    """A member, a simulated participant, or a browser that was here as one of them."""
    keep_or_end(request.session)  # lab/access.py does not, at these addresses
    if Study.objects.visible_to(request.user).filter(pk=study.pk).exists():
        return True
    return read_entry(request, study) is not None or _is_simulated(
        request.GET.get(SIMULATED_PARAMETER, "")
    )


_named: Prepared[Any] = Prepared(
    lambda public_id, slug: (
        Participant.objects.select_related("study", "recruitment")
        .annotate(newest_text=newest_text_of("study"))
        .filter(public_id=public_id, study__slug=slug)
    ),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
    ("a", "b"),
)


def read_participant(request: HttpRequest, study: Study) -> Participant | None:
    """The participant of this browser in the study."""
    remembered = getattr(request, "participant", None)
    if remembered is not None and remembered.study is study:
        return cast(Participant, remembered)
    public_id = _read(request, "participant", study)
    if public_id is None:
        return None
    people = Participant.objects.filter(study=study, public_id=_uuid(public_id))
    participant = people.select_related("recruitment").first()
    if participant is None:
        return None
    participant.study = study
    _note_link(request, public_id)
    return participant


def _note_link(request: HttpRequest, public_id: str) -> None:
    request.came_by_link = public_id.endswith(BY_LINK)  # type: ignore[attr-defined]


def was_shown_code(request: HttpRequest) -> bool:
    """True if the browser whose participant was read may know that participant's own code."""
    return not getattr(request, "came_by_link", False)


def shown_code(request: HttpRequest, participant: Participant) -> str:
    """Their own code, for this browser. Whoever made the link up, or passed it on, is to read nothing with it."""
    return participant.withdrawal_code if was_shown_code(request) else MASKED


def _uuid(public_id: str) -> uuid.UUID:
    return uuid.UUID(public_id.removesuffix(BY_LINK))


def external_ids(participant: Participant) -> ExternalIds:
    """The recruitment ids that the participant came with, as far as they are still kept."""
    channel = participant.external_source
    if not channel:
        return NO_EXTERNAL_IDS
    record: RecruitmentRecord | None = getattr(participant, "recruitment", None)
    if record is None:
        return ExternalIds(channel=channel)
    ids = (record.external_id, record.external_study_id, record.external_session_id)
    return ExternalIds(record.source, *ids, channel=channel)


def named_ids(external: ExternalIds) -> list[tuple[StrOrPromise, str]]:
    """The ids that there are, each with its name, as the participant's pages list them."""
    ids = (
        (_("your ID"), external.id),
        (_("the study’s ID"), external.study_id),  # noqa: RUF001
        (_("your session’s ID"), external.session_id),  # noqa: RUF001
    )
    return [(name, value) for name, value in ids if value]


def write_participant(
    response: HttpResponse, study: Study, participant: Participant, *, by_link: bool = False
) -> None:
    public_id = f"{participant.public_id.hex}{BY_LINK if by_link else ''}"
    _write(response, "participant", study, public_id, settings.PARTICIPANT_COOKIE_AGE)


def forget_participant(response: HttpResponse, study: Study) -> None:
    name = settings.COOKIE_PREFIX + _name("participant", study)
    response.delete_cookie(name, path=_path(study))


def _name(name: str, study: Study) -> str:
    return f"bb-{name}-{study.pk}"


def _path(study: Study) -> str:
    """Such names are for a whole site, or browsers take none of it."""
    return "/" if settings.COOKIE_PREFIX else study.get_absolute_url()


def _read(request: HttpRequest, name: str, study: Study) -> Any:
    cookie = settings.COOKIE_PREFIX + _name(name, study)
    return _unsigned(cookie, request.COOKIES.get(cookie, ""))


def _unsigned(cookie: str, value: str) -> Any:
    try:
        return signing.loads(value, salt=cookie.removeprefix(settings.COOKIE_PREFIX))
    except signing.BadSignature:
        return None


def _write(
    response: HttpResponse, name: str, study: Study, value: object, max_age: int | None
) -> None:
    response.set_cookie(
        settings.COOKIE_PREFIX + _name(name, study),
        signing.dumps(value, salt=_name(name, study)),
        max_age=max_age,
        path=_path(study),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
