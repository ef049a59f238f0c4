"""Who comes back without their cookie: by their own code, or by the recruitment site's link."""

from experiment.models import Channel, Participant, Study
from experiment.services.channels import channel_of
from experiment.services.enrollment import ExternalIds


def find_by_code(study: Study, code: str) -> Participant | None:
    """The participant whose own code this is; 59 random bits, so that nobody guesses one."""
    people = Participant.objects.filter(study=study).select_related("study", "consent_version")
    return people.with_code(code).first()


def find_by_link(study: Study, external: ExternalIds) -> Participant | None:
    """Who began with a link of the same session at the recruitment site, where the channel lets them go on so.

    The id alone is no proof: it stands in addresses, and other studies' researchers know it. A session's id is
    new for each submission and is known to the participant, the site and this study.
    """
    channel = channel_of(study, external.channel)
    policy = Channel.Returns.RESUME if channel is None else channel.returns
    if policy != Channel.Returns.RESUME or not (external.id and external.session_id):
        return None
    people = Participant.objects.filter(study=study).select_related("study", "consent_version")
    same = people.filter(
        recruitment__source=external.source,
        recruitment__external_id=external.id,
        recruitment__external_session_id=external.session_id,
    )
    return same.order_by("-pk").first()
