"""Who comes back without their cookie: by their own code, or by the recruitment site's link."""

from experiment.models import Participant, Study
from experiment.services.enrollment import ExternalIds
from experiment.services.withdrawal import normalise_code


def find_by_code(study: Study, code: str) -> Participant | None:
    """The participant whose own code this is; 59 random bits, so that nobody guesses one."""
    people = Participant.objects.filter(study=study).select_related("study", "consent_version")
    return people.filter(withdrawal_code=normalise_code(code)).first()


def find_by_link(study: Study, external: ExternalIds) -> Participant | None:
    """Who began with a link of the same session at the recruitment site, where the study lets them go on so.

    The id alone is no proof: it stands in addresses, and other studies' researchers know it. A session's id is
    new for each submission and is known to the participant, the site and this study.
    """
    if study.returns != Study.Returns.RESUME or not (external.id and external.session_id):
        return None
    people = Participant.objects.filter(study=study).select_related("study", "consent_version")
    same = people.filter(external_source=external.source, external_id=external.id)
    return same.filter(external_session_id=external.session_id).order_by("-pk").first()
