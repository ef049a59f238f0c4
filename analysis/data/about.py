"""Whose data a result shows: what report.json and teams.json say of study and participants."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StudyName:
    slug: str
    title: str
    is_demo: bool


@dataclass(frozen=True)
class Participants:
    """Whose trials these are: `kind` imported, pilot, real or simulated; `note`: what has to be said beside their numbers.

    is_joined: they took no part in this study; their trials on its test cases were published elsewhere.
    """

    kind: str
    label: str
    note: str
    is_joined: bool = False

    @property
    def is_simulated(self) -> bool:
        return self.kind == "simulated"


@dataclass(frozen=True)
class Provenance:
    """Where the numbers of a result's figures are from: said in captions and in the files, never in the picture.

    `note` is what has to be said of the participants; `watermark` alone is drawn, faintly and across the picture.
    """

    subject: str
    made_at: str
    note: str = ""
    watermark: str = ""
