"""The chapters of the report, in their order: the one place that says what a report consists of."""

from django.utils.translation import gettext_lazy as _

from analysis.report.chapter import Chapter
from analysis.report.chapters.accuracy.results import Accuracy, Positions, Subfields
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

CHAPTERS: tuple[Chapter, ...] = (
    Chapter(
        "models",
        _("Humans against models"),
        _("Who finds the original more often?"),
        "accuracy",
        Accuracy,
        ("accuracy", "other_models"),
    ),
    Chapter(
        "subfields",
        _("Subfields"),
        _("Does it hold across the field?"),
        "subfields",
        Subfields,
        ("subfields",),
    ),
    Chapter(
        "positions",
        _("Positions"),
        _("Does it matter where people are in their career?"),
        "positions",
        Positions,
        ("positions",),
    ),
    Chapter(
        "calibration",
        _("Calibration"),
        _("Are those who are surer more often right?"),
        "calibration",
        Calibration,
        ("calibration_humans", "calibration_models", "table_s3"),
    ),
    Chapter(
        "agreement",
        _("Agreement"),
        _("Do models and people find the same test cases hard?"),
        "agreement",
        Agreement,
        ("agreement", "models_humans_agreement"),
    ),
    Chapter(
        "integration",
        _("Integration of context"),
        _("How much comes from the sentence itself, how much from its surroundings?"),
        "integration",
        Integration,
        ("integration",),
    ),
    Chapter(
        "flips",
        _("Changes of mind along the text"),
        _("Does the preference at the first token that differs last to the end?"),
        "flips",
        ChangesOfMind,
        ("flips", "flips_traces", "flips_trajectories"),
    ),
    Chapter(
        "memorisation",
        _("Memorisation"),
        _("Could models have known the abstracts?"),
        "memorisation",
        Memorisation,
        ("memorisation",),
    ),
    Chapter(
        "publication-date",
        _("Publication date"),
        _("Are older abstracts easier for models?"),
        "publication_date",
        PublicationDate,
        ("publication_date",),
    ),
    Chapter(
        "fine-tuning",
        _("Fine-tuning"),
        _("What does training on the field's literature change?"),
        "finetuning",
        FineTuning,
        ("finetuning", "finetuning_versions"),
    ),
    Chapter(
        "expertise",
        _("Expertise"),
        _("How do people rate their own expertise?"),
        "expertise",
        Expertise,
        ("expertise", "expertise_calibration"),
    ),
    Chapter(
        "crossed",
        _("Crossed uncertainty"),
        _("How sure is the difference, had other people judged other test cases?"),
        "crossed",
        Crossed,
        ("crossed",),
    ),
    Chapter(
        "mixed-model",
        _("Mixed model"),
        _("How much do people and test cases vary?"),
        "mixed_model",
        Mixed,
        ("mixed_model",),
    ),
    Chapter(
        "item-differences",
        _("Differences by test case"),
        _("On which test cases do people and models differ?"),
        "item_differences",
        Differences,
        ("item_differences",),
    ),
    Chapter(
        "teams",
        _("Teams"),
        _("Do people and models decide better together?"),
        "teams",
        Teams,
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
        "graded-rates",
        _("Answers to questions"),
        _("Who answers well, and who says so when not knowing?"),
        "graded_rates",
        GradedRates,
        ("graded_quadrants", "graded_fates"),
        is_of_study=True,
    ),
    Chapter(
        "graded-categories",
        _("Answers by category"),
        _("Where are answers good, and where safe?"),
        "graded_categories",
        GradedCategories,
        ("graded_heatmap_rqr", "graded_heatmap_sr", "graded_heatmap_ar", "graded_counts"),
        is_of_study=True,
    ),
    Chapter(
        "graded-comparisons",
        _("Answers compared"),
        _("Which differences are more than chance?"),
        "graded_comparisons",
        GradedComparisons,
        ("graded_differences", "graded_selective", "graded_deferral"),
        is_of_study=True,
    ),
    Chapter(
        "graded-agreement",
        _("The judge and people"),
        _("Would people grade the same way?"),
        "graded_agreement",
        GradedAgreement,
        ("graded_confusion", "graded_corrected", "graded_thresholds"),
        is_of_study=True,
    ),
    Chapter(
        "graded-answers",
        _("What was answered"),
        _("How many points, how long, at what cost?"),
        "graded_answers",
        GradedAnswers,
        ("graded_points", "graded_lengths", "graded_states"),
        is_of_study=True,
    ),
    Chapter(
        "power",
        _("Power"),
        _("How many participants does a given precision take?"),
        "power",
        Power,
        ("power",),
    ),
    Chapter(
        "sensitivity",
        _("Sensitivity"),
        _("How much hangs on choices of the analysis?"),
        "sensitivity",
        Sensitivity,
    ),
    Chapter(
        "flow",
        _("From recruitment to analysis"),
        _("Whose trials are these?"),
        "flow",
        Flow,
        ("flow",),
        is_of_study=True,
    ),
    Chapter(
        "participants",
        _("Participants"),
        _("Who took part?"),
        "participants",
        Participants,
        is_of_study=True,
    ),
    Chapter(
        "exposures",
        _("Exposures"),
        _("How often was each test case judged?"),
        "exposures",
        ItemExposures,
        ("exposures",),
    ),
    Chapter(
        "reaction-times",
        _("Reaction times"),
        _("How long did answers take?"),
        "reaction_times",
        ReactionTimes,
        ("reaction_times",),
    ),
)


def chapter_named(name: str) -> Chapter:
    """The chapter of this name."""
    return next(one for one in CHAPTERS if one.name == name)
