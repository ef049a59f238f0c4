"""A printed number beside the way to recompute it, and when the two agree. Its sentences are in templates/analysis/replication/."""

from dataclasses import dataclass
from enum import StrEnum

from analysis.report.replication.places import Place
from analysis.report.replication.recomputed import Value


class Relation(StrEnum):
    """What the printed number says of the recomputed one. AROUND: within the row's tolerance of it."""

    EQUAL = "equal"
    AROUND = "around"
    ABOVE = "above"
    BELOW = "below"
    AT_LEAST = "at_least"


class Why(StrEnum):
    """What is known of a difference."""

    ITEM_MEANS = "item_means"
    UNKNOWN_PAIRS = "unknown_pairs"
    CUT_OFF = "cut_off"
    ONE_MORE = "one_more"
    LOW_SUBFIELD = "low_subfield"


class Remark(StrEnum):
    """What to know of an agreement."""

    TIES = "ties"
    NOT_SIGNIFICANT = "not_significant"
    HALF = "half"
    BOTH_TEXTS = "both_texts"
    CATALOGUE = "catalogue"


class NotPublic(StrEnum):
    """Why the public files cannot give a number."""

    FINISHERS = "finishers"
    NO_TIMES = "no_times"
    NO_CATCH = "no_catch"
    NO_TOKENS = "no_tokens"
    NO_MACHINE_SCORES = "no_machine_scores"
    MAKERS = "makers"
    CORPUS = "corpus"
    AUTHORS = "authors"
    PICTURE = "picture"


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """What one place prints, as it prints it ("" where it prints no number).

    value: what is recomputed for it; None: nothing in the data could be. not_public: why the public files do not give it.
    why: explains a difference that was found before; whether there is one is computed. instead: the value of which the
    explanation speaks. tolerance: beyond rounding, in the unit of the printed number. source: of the test cases, the place's
    unless the place is about both.
    """

    place: Place
    what: str
    printed: str = ""
    value: Value | None = None
    relation: Relation = Relation.EQUAL
    tolerance: float = 0.0
    why: Why | None = None
    instead: Value | None = None
    remark: Remark | None = None
    not_public: NotPublic | None = None
    source: str = ""

    def __post_init__(self) -> None:
        if not self.source:
            object.__setattr__(self, "source", self.place.source)

    def agrees(self, value: float) -> bool:
        """Whether the recomputed value is what the printed number says.

        >>> from analysis.report.replication.places import TUNING
        >>> row = Printed(place=TUNING, what="", printed="0.42")
        >>> row.agrees(0.4249), row.agrees(0.4274)
        (True, False)
        >>> about = Printed(place=TUNING, what="", printed="20", relation=Relation.AROUND, tolerance=5)
        >>> about.agrees(24.9), about.agrees(25.1)
        (True, False)
        """
        number = float(self.printed)
        match self.relation:
            case Relation.ABOVE:
                return value > number
            case Relation.BELOW:
                return value < number
            case Relation.AT_LEAST:
                return value >= number - self.tolerance
            case Relation.AROUND:
                return abs(value - number) <= self.tolerance
        half_unit = 0.5 * 10.0 ** -len(self.printed.partition(".")[2])
        return abs(value - number) <= half_unit + self.tolerance + 1e-9
