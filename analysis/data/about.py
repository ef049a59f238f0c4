"""Facts that a report states of its study and of its trials; pages read it without what computes."""

from dataclasses import dataclass

SIMULATED = "simulated-"


@dataclass(frozen=True)
class StudyName:
    slug: str
    title: str
    is_demo: bool


@dataclass(frozen=True)
class Participants:
    """Participants of the trials: `kind` imported, pilot, real or simulated; `note`: what has to be said beside their numbers.

    rules_version: of the study's rules, by which trials are left out; None where a publication decided, or no real
        participant has entered yet.
    is_joined: they took no part in this study; their trials on its test cases were published elsewhere.
    """

    kind: str
    label: str
    note: str
    is_joined: bool = False
    rules_version: int | None = None

    @property
    def is_simulated(self) -> bool:
        return self.kind == "simulated"

    @property
    def file_prefix(self) -> str:
        """Before the names of files: none can be taken for one about people."""
        return SIMULATED if self.is_simulated else ""


@dataclass(frozen=True)
class Provenance:
    """Where the numbers of a result are from: said in captions and in the files, never in the picture.

    `participants` is their kind, a column of every table; `note` is what has to be said of the participants; `watermark` alone is drawn, faintly and across the picture.
    """

    subject: str
    made_at: str
    participants: str
    note: str = ""
    watermark: str = ""
