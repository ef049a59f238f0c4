"""What is held about one participant, for themselves to see."""

from collections.abc import Sequence
from dataclasses import dataclass

from experiment.models import Judgment, Participant, RecruitmentRecord


@dataclass(frozen=True, slots=True)
class Held:
    person: Participant
    recruitment: RecruitmentRecord | None
    judgments: Sequence[Judgment]

    @property
    def has_written(self) -> bool:
        return any(hasattr(judgment, "written_answer") for judgment in self.judgments)


def held_about(person: Participant) -> Held:
    judgments = Judgment.objects.filter(trial__participant=person)
    judgments = judgments.select_related("trial", "written_answer")
    record: RecruitmentRecord | None = getattr(person, "recruitment", None)
    return Held(person, record, list(judgments.order_by("trial__position")))
