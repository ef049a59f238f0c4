"""The chapters of the report, in their order: the one place that says what a report consists of."""

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter, Group, Part
from analysis.report.chapters.accuracy.results import Accuracy, Positions, Subfields
from analysis.report.chapters.advised.results import Advised
from analysis.report.chapters.asked.results import Asked
from analysis.report.chapters.confidence.results import Calibration, Expertise
from analysis.report.chapters.finetuning.results import FineTuning
from analysis.report.chapters.flips.results import ChangesOfMind
from analysis.report.chapters.graded_agreement.results import GradedAgreement
from analysis.report.chapters.graded_comparisons.results import GradedComparisons
from analysis.report.chapters.graded_rates.results import (
    GradedAnswers,
    GradedCategories,
    GradedRates,
)
from analysis.report.chapters.memorisation.results import Memorisation, PublicationDate
from analysis.report.chapters.mixed_model.results import Mixed, Power
from analysis.report.chapters.models.results import Agreement, Integration
from analysis.report.chapters.participants.results import (
    Flow,
    ItemExposures,
    Participants,
    ReactionTimes,
)
from analysis.report.chapters.teams.results import Teams
from analysis.report.chapters.uncertainty.results import Crossed, Differences, Sensitivity

GROUPS: tuple[Group, ...] = (
    Group(
        _("Accuracy"),
        (
            Chapter(
                "accuracy",
                Accuracy,
                _("Humans against models"),
                _("Do people or models find the original more often?"),
                ("accuracy", "other_models"),
                address="models",
            ),
            Chapter(
                "subfields", Subfields, _("Subfields"), _("Do the results hold in every subfield?")
            ),
            Chapter(
                "positions",
                Positions,
                _("Career positions"),
                _("Does accuracy depend on people's career position?"),
            ),
            Chapter(
                "crossed",
                Crossed,
                _("Crossed uncertainty"),
                _("Would the difference hold for other people and other test cases?"),
            ),
            Chapter(
                "mixed_model", Mixed, _("Mixed model"), _("How much do people and test cases vary?")
            ),
            Chapter(
                "item_differences",
                Differences,
                _("Differences by test case"),
                _("On which test cases do people and models differ?"),
            ),
        ),
    ),
    Group(
        _("Confidence"),
        (
            Chapter(
                "calibration",
                Calibration,
                _("Calibration"),
                _("Are more confident people and models right more often?"),
                ("calibration_humans", "calibration_models", "table_s3"),
            ),
            Chapter(
                "expertise",
                Expertise,
                _("Expertise"),
                _("How do people rate their own expertise?"),
                ("expertise", "expertise_calibration"),
            ),
        ),
    ),
    Group(
        _("People and models together"),
        (
            Chapter(
                "teams",
                Teams,
                _("Teams"),
                _("Do people and models decide better together?"),
                (
                    "teams",
                    "teams_gain",
                    "teams_adding",
                    "teams_complementarity",
                    "teams_policy",
                    "teams_sizes",
                ),
            ),
            Chapter(
                "advised",
                Advised,
                _("Advised"),
                _("Do people decide better with advice, and do they tell right advice from wrong?"),
                ("advised", "advised_flow", "advised_reliance", "advised_teams"),
                part=Part.ADVICE,
            ),
            Chapter(
                "agreement",
                Agreement,
                _("Agreement"),
                _("Do models and people find the same test cases hard?"),
                ("agreement", "models_humans_agreement"),
            ),
        ),
    ),
    Group(
        _("What models learned"),
        (
            Chapter(
                "asked",
                Asked,
                _("Asked or scored"),
                _("Do models also say what they know?"),
                ("asked", "asked_sizes", "asked_reliability"),
                part=Part.CHOICES,
            ),
            Chapter(
                "integration",
                Integration,
                _("Integration of context"),
                _(
                    "How much of the accuracy comes from the sentence itself, and how much from its context?"
                ),
            ),
            Chapter(
                "flips",
                ChangesOfMind,
                _("Changes of preference along the text"),
                _("Does the preference at the first differing token persist to the end?"),
                ("flips", "flips_traces", "flips_trajectories"),
            ),
            Chapter(
                "memorisation",
                Memorisation,
                _("Memorisation"),
                _("Could models have known the abstracts?"),
            ),
            Chapter(
                "publication_date",
                PublicationDate,
                _("Publication date"),
                _("Are older abstracts easier for models?"),
            ),
            Chapter(
                "finetuning",
                FineTuning,
                _("Fine-tuning"),
                _("What does training on the field's literature change?"),
                ("finetuning", "finetuning_versions"),
                address="fine-tuning",
            ),
        ),
    ),
    Group(
        _("Graded answers"),
        (
            Chapter(
                "graded_rates",
                GradedRates,
                _("Answers to questions"),
                _("Who answers well, and who admits not knowing the answer?"),
                ("graded_quadrants", "graded_fates"),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_categories",
                GradedCategories,
                _("Answers by category"),
                _("In which categories are answers good and safe?"),
                (
                    "graded_heatmap_score",
                    "graded_heatmap_rqr",
                    "graded_heatmap_sr",
                    "graded_heatmap_ar",
                    "graded_counts",
                ),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_comparisons",
                GradedComparisons,
                _("Answers compared"),
                _("Which differences are significant?"),
                ("graded_differences", "graded_selective", "graded_deferral", "graded_texts"),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_agreement",
                GradedAgreement,
                _("The judge and people"),
                _("Would people grade the same way?"),
                ("graded_confusion", "graded_corrected", "graded_thresholds"),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_answers",
                GradedAnswers,
                _("What was answered"),
                _("How many points do answers get, how long are they, and what do they cost?"),
                ("graded_points", "graded_lengths", "graded_states"),
                part=Part.QUESTIONS,
            ),
        ),
    ),
    Group(
        _("Quality of the data"),
        (
            Chapter(
                "flow",
                Flow,
                _("From recruitment to analysis"),
                _("How many participants remained at each step?"),
                part=Part.PEOPLE,
            ),
            Chapter(
                "participants",
                Participants,
                _("Participants"),
                _("Who took part?"),
                (),
                part=Part.PEOPLE,
            ),
            Chapter(
                "exposures",
                ItemExposures,
                _("Exposures"),
                _("How often was each test case judged?"),
            ),
            Chapter(
                "reaction_times",
                ReactionTimes,
                _("Reaction times"),
                _("How long did answers take?"),
            ),
            Chapter(
                "power", Power, _("Power"), _("How many participants does a given precision need?")
            ),
            Chapter(
                "sensitivity",
                Sensitivity,
                _("Sensitivity"),
                _("How much do the results depend on choices of the analysis?"),
                (),
            ),
        ),
    ),
)
CHAPTERS: tuple[Chapter, ...] = tuple(chapter for group in GROUPS for chapter in group.chapters)


def chapters_about(*parts: Part) -> list[Chapter]:
    """Those of these parts of a study, in their order."""
    return [chapter for chapter in CHAPTERS if chapter.part in parts]


def chapter_named(name: str) -> Chapter:
    """The chapter of this name."""
    return next(one for one in CHAPTERS if one.name == name)
