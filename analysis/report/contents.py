"""The chapters of the report, in their order: the one place that says what a report consists of."""

from analysis.report.chapter import Chapter
from analysis.report.chapters.accuracy import CHAPTER as ACCURACY
from analysis.report.chapters.agreement import CHAPTER as AGREEMENT
from analysis.report.chapters.calibration import CHAPTER as CALIBRATION
from analysis.report.chapters.crossed import CHAPTER as CROSSED
from analysis.report.chapters.expertise import CHAPTER as EXPERTISE
from analysis.report.chapters.exposures import CHAPTER as EXPOSURES
from analysis.report.chapters.finetuning import CHAPTER as FINETUNING
from analysis.report.chapters.flips import CHAPTER as FLIPS
from analysis.report.chapters.flow import CHAPTER as FLOW
from analysis.report.chapters.graded.agreement import CHAPTER as GRADED_AGREEMENT
from analysis.report.chapters.graded.answers import CHAPTER as GRADED_ANSWERS
from analysis.report.chapters.graded.categories import CHAPTER as GRADED_CATEGORIES
from analysis.report.chapters.graded.comparisons import CHAPTER as GRADED_COMPARISONS
from analysis.report.chapters.graded.rates import CHAPTER as GRADED_RATES
from analysis.report.chapters.integration import CHAPTER as INTEGRATION
from analysis.report.chapters.item_differences import CHAPTER as ITEM_DIFFERENCES
from analysis.report.chapters.memorisation import CHAPTER as MEMORISATION
from analysis.report.chapters.mixed_model import CHAPTER as MIXED_MODEL
from analysis.report.chapters.participants import CHAPTER as PARTICIPANTS
from analysis.report.chapters.positions import CHAPTER as POSITIONS
from analysis.report.chapters.power import CHAPTER as POWER
from analysis.report.chapters.publication_date import CHAPTER as PUBLICATION_DATE
from analysis.report.chapters.reaction_times import CHAPTER as REACTION_TIMES
from analysis.report.chapters.sensitivity import CHAPTER as SENSITIVITY
from analysis.report.chapters.subfields import CHAPTER as SUBFIELDS
from analysis.report.chapters.teams import CHAPTER as TEAMS

CHAPTERS: tuple[Chapter, ...] = (
    ACCURACY,
    SUBFIELDS,
    POSITIONS,
    CALIBRATION,
    AGREEMENT,
    INTEGRATION,
    FLIPS,
    MEMORISATION,
    PUBLICATION_DATE,
    FINETUNING,
    EXPERTISE,
    CROSSED,
    MIXED_MODEL,
    ITEM_DIFFERENCES,
    TEAMS,
    GRADED_RATES,
    GRADED_CATEGORIES,
    GRADED_COMPARISONS,
    GRADED_AGREEMENT,
    GRADED_ANSWERS,
    POWER,
    SENSITIVITY,
    FLOW,
    PARTICIPANTS,
    EXPOSURES,
    REACTION_TIMES,
)
