"""The chapters of the report, in their order: the one place that says what a report consists of."""

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
        "Accuracy",
        (
            Chapter(
                "accuracy",
                Accuracy,
                "Humans against models",
                "Do people or models find the original more often?",
                ("accuracy", "other_models"),
                address="models",
            ),
            Chapter("subfields", Subfields, "Subfields", "Do the results hold in every subfield?"),
            Chapter(
                "positions",
                Positions,
                "Career positions",
                "Does accuracy depend on people's career position?",
            ),
            Chapter(
                "crossed",
                Crossed,
                "Crossed uncertainty",
                "Would the difference hold for other people and other test cases?",
            ),
            Chapter("mixed_model", Mixed, "Mixed model", "How much do people and test cases vary?"),
            Chapter(
                "item_differences",
                Differences,
                "Differences by test case",
                "On which test cases do people and models differ?",
            ),
        ),
    ),
    Group(
        "Confidence",
        (
            Chapter(
                "calibration",
                Calibration,
                "Calibration",
                "Are more confident people and models right more often?",
                ("calibration_humans", "calibration_models", "table_s3"),
            ),
            Chapter(
                "expertise",
                Expertise,
                "Expertise",
                "How do people rate their own expertise?",
                ("expertise", "expertise_calibration"),
            ),
        ),
    ),
    Group(
        "People and models together",
        (
            Chapter(
                "teams",
                Teams,
                "Teams",
                "Do people and models decide better together?",
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
                "Advised",
                "Do people decide better with advice, and do they tell right advice from wrong?",
                ("advised", "advised_flow", "advised_reliance", "advised_teams"),
                part=Part.ADVICE,
            ),
            Chapter(
                "agreement",
                Agreement,
                "Agreement",
                "Do models and people find the same test cases hard?",
                ("agreement", "models_humans_agreement"),
            ),
        ),
    ),
    Group(
        "What models learned",
        (
            Chapter(
                "asked",
                Asked,
                "Asked or scored",
                "Do models also say what they know?",
                ("asked", "asked_sizes", "asked_reliability"),
                part=Part.CHOICES,
            ),
            Chapter(
                "integration",
                Integration,
                "Integration of context",
                "How much of the accuracy comes from the sentence itself, and how much from its context?",
            ),
            Chapter(
                "flips",
                ChangesOfMind,
                "Changes of preference along the text",
                "Does the preference at the first differing token persist to the end?",
                ("flips", "flips_traces", "flips_trajectories"),
            ),
            Chapter(
                "memorisation",
                Memorisation,
                "Memorisation",
                "Could models have known the abstracts?",
            ),
            Chapter(
                "publication_date",
                PublicationDate,
                "Publication date",
                "Are older abstracts easier for models?",
            ),
            Chapter(
                "finetuning",
                FineTuning,
                "Fine-tuning",
                "What does training on the field's literature change?",
                ("finetuning", "finetuning_versions"),
                address="fine-tuning",
            ),
        ),
    ),
    Group(
        "Graded answers",
        (
            Chapter(
                "graded_rates",
                GradedRates,
                "Answers to questions",
                "Who answers well, and who admits not knowing the answer?",
                ("graded_quadrants", "graded_fates"),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_categories",
                GradedCategories,
                "Answers by category",
                "In which categories are answers good and safe?",
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
                "Answers compared",
                "Which differences are significant?",
                ("graded_differences", "graded_selective", "graded_deferral", "graded_texts"),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_agreement",
                GradedAgreement,
                "The judge and people",
                "Would people grade the same way?",
                ("graded_confusion", "graded_corrected", "graded_thresholds"),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_answers",
                GradedAnswers,
                "What was answered",
                "How many points do answers get, how long are they, and what do they cost?",
                ("graded_points", "graded_lengths", "graded_states"),
                part=Part.QUESTIONS,
            ),
        ),
    ),
    Group(
        "Quality of the data",
        (
            Chapter(
                "flow",
                Flow,
                "From recruitment to analysis",
                "How many participants remained at each step?",
                part=Part.PEOPLE,
            ),
            Chapter(
                "participants",
                Participants,
                "Participants",
                "Who took part?",
                (),
                part=Part.PEOPLE,
            ),
            Chapter(
                "exposures",
                ItemExposures,
                "Exposures",
                "How often was each test case judged?",
            ),
            Chapter(
                "reaction_times",
                ReactionTimes,
                "Reaction times",
                "How long did answers take?",
            ),
            Chapter("power", Power, "Power", "How many participants does a given precision need?"),
            Chapter(
                "sensitivity",
                Sensitivity,
                "Sensitivity",
                "How much do the results depend on choices of the analysis?",
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
