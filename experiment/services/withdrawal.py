"""A participant takes back their data."""

from datetime import datetime

from django.db import transaction

from experiment.domain.exclusion import WITHDRAWN
from experiment.models import Judgment, Participant, Study
from experiment.services.counting import Difference, judged_by
from experiment.services.export_jobs import delete_exports


def normalise_code(text: str) -> str:
    """Codes as people type them: any case, with or without the dashes and spaces."""
    plain = "".join(char for char in text.upper() if char.isalnum())
    return "-".join(plain[i : i + 4] for i in range(0, len(plain), 4))


@transaction.atomic
def withdraw(study: Study, code: str, now: datetime) -> Participant | None:
    """Erase the answers and personal details behind a withdrawal code; None if the study has no such code.

    The participant's empty row stays, so that the flow of participants still adds up.
    """
    people = Participant.objects.select_for_update(no_key=True)
    participant = people.filter(study=study, withdrawal_code=normalise_code(code)).first()
    if participant is None or participant.stage == Participant.Stage.WITHDRAWN:
        return participant
    counts = Difference()
    if participant.has_ended or participant.left_at is not None:
        counts.add(participant, judged_by([participant]), study.min_rt_ms, sign=-1)
    counts.forget_trials(participant.trials.values_list("item", flat=True))
    Judgment.objects.filter(trial__participant=participant).delete()
    participant.trials.all().delete()
    participant.demographics = {}
    participant.external_id = participant.external_study_id = participant.external_session_id = ""
    participant.external_source = participant.comments = participant.flags = ""
    participant.cheated = None
    participant.stage, participant.withdrawn_at = Participant.Stage.WITHDRAWN, now
    participant.excluded_by, participant.left_at = WITHDRAWN.code, None
    participant.save()
    counts.add(participant, (), study.min_rt_ms)
    counts.write(study, participant.kind)
    delete_exports(study)
    return participant
