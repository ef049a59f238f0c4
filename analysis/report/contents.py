"""The chapters of the report, in their order: the one place that says what a report consists of."""

from analysis.report.chapter import Chapter, Group, Part
from analysis.report.chapters.accuracy.figures import accuracy, other_models, positions, subfields
from analysis.report.chapters.accuracy.results import (
    Accuracy,
    Positions,
    Subfields,
    build_accuracy,
    build_positions,
    build_subfields,
)
from analysis.report.chapters.accuracy.words import accuracy_page, positions_page, subfields_page
from analysis.report.chapters.advised.figures import (
    advised,
    advised_flow,
    advised_reliance,
    advised_teams,
)
from analysis.report.chapters.advised.results import Advised, build_advised
from analysis.report.chapters.advised.words import advised_page
from analysis.report.chapters.asked.figures import asked, asked_reliability, asked_sizes
from analysis.report.chapters.asked.results import Asked, build_asked
from analysis.report.chapters.asked.words import asked_page
from analysis.report.chapters.confidence.figures import (
    calibration_humans,
    calibration_models,
    expertise,
    expertise_calibration,
    table_s3,
)
from analysis.report.chapters.confidence.results import (
    Calibration,
    Expertise,
    build_calibration,
    build_expertise,
)
from analysis.report.chapters.confidence.words import calibration_page, expertise_page
from analysis.report.chapters.finetuning.figures import finetuning, finetuning_versions
from analysis.report.chapters.finetuning.results import FineTuning, build_finetuning
from analysis.report.chapters.finetuning.words import finetuning_page
from analysis.report.chapters.flips.figures import flips, flips_traces, flips_trajectories
from analysis.report.chapters.flips.results import ChangesOfMind, build_flips
from analysis.report.chapters.flips.words import flips_page
from analysis.report.chapters.graded_agreement.figures import (
    graded_confusion,
    graded_corrected,
    graded_thresholds,
)
from analysis.report.chapters.graded_agreement.results import (
    GradedAgreement,
    build_graded_agreement,
)
from analysis.report.chapters.graded_agreement.words import graded_agreement_page
from analysis.report.chapters.graded_comparisons.figures import (
    graded_deferral,
    graded_differences,
    graded_selective,
    graded_texts,
)
from analysis.report.chapters.graded_comparisons.results import (
    GradedComparisons,
    build_graded_comparisons,
)
from analysis.report.chapters.graded_comparisons.words import graded_comparisons_page
from analysis.report.chapters.graded_rates.figures import (
    graded_counts,
    graded_fates,
    graded_heatmap_ar,
    graded_heatmap_rqr,
    graded_heatmap_score,
    graded_heatmap_sr,
    graded_lengths,
    graded_points,
    graded_quadrants,
    graded_states,
)
from analysis.report.chapters.graded_rates.results import (
    GradedAnswers,
    GradedCategories,
    GradedRates,
    build_graded_answers,
    build_graded_categories,
    build_graded_rates,
)
from analysis.report.chapters.graded_rates.words import (
    graded_answers_page,
    graded_categories_page,
    graded_rates_page,
)
from analysis.report.chapters.memorisation.figures import memorisation, publication_date
from analysis.report.chapters.memorisation.results import (
    Memorisation,
    PublicationDate,
    build_memorisation,
    build_publication_date,
)
from analysis.report.chapters.memorisation.words import memorisation_page, publication_date_page
from analysis.report.chapters.mixed_model.figures import mixed_model, power
from analysis.report.chapters.mixed_model.results import (
    Mixed,
    Power,
    build_mixed_model,
    build_power,
)
from analysis.report.chapters.mixed_model.words import mixed_model_page, power_page
from analysis.report.chapters.models.figures import agreement, integration, models_humans_agreement
from analysis.report.chapters.models.results import (
    Agreement,
    Integration,
    build_agreement,
    build_integration,
)
from analysis.report.chapters.models.words import agreement_page, integration_page
from analysis.report.chapters.participants.figures import exposures, flow, reaction_times
from analysis.report.chapters.participants.results import Participants, build_participants
from analysis.report.chapters.participants.results.flow import Flow, build_flow
from analysis.report.chapters.participants.results.trials import (
    ItemExposures,
    ReactionTimes,
    build_exposures,
    build_reaction_times,
)
from analysis.report.chapters.participants.words import (
    exposures_page,
    flow_page,
    participants_page,
    reaction_times_page,
)
from analysis.report.chapters.teams.figures import (
    teams,
    teams_adding,
    teams_complementarity,
    teams_gain,
    teams_policy,
    teams_sizes,
)
from analysis.report.chapters.teams.results import Teams, build_teams
from analysis.report.chapters.teams.words import teams_page
from analysis.report.chapters.uncertainty.figures import crossed, item_differences
from analysis.report.chapters.uncertainty.results import (
    Crossed,
    Differences,
    Sensitivity,
    build_crossed,
    build_item_differences,
    build_sensitivity,
)
from analysis.report.chapters.uncertainty.words import (
    crossed_page,
    item_differences_page,
    sensitivity_page,
)

GROUPS: tuple[Group, ...] = (
    Group(
        "Accuracy",
        (
            Chapter(
                "accuracy",
                "Humans against models",
                "Do people or models find the original more often?",
                results=Accuracy,
                build=build_accuracy,
                page=accuracy_page,
                figures=(accuracy, other_models),
                address="models",
            ),
            Chapter(
                "subfields",
                "Subfields",
                "Do the results hold in every subfield?",
                results=Subfields,
                build=build_subfields,
                page=subfields_page,
                figures=(subfields,),
            ),
            Chapter(
                "positions",
                "Career positions",
                "Does accuracy depend on people's career position?",
                results=Positions,
                build=build_positions,
                page=positions_page,
                figures=(positions,),
            ),
            Chapter(
                "crossed",
                "Crossed uncertainty",
                "Would the difference hold for other people and other test cases?",
                results=Crossed,
                build=build_crossed,
                page=crossed_page,
                figures=(crossed,),
            ),
            Chapter(
                "mixed_model",
                "Mixed model",
                "How much do people and test cases vary?",
                results=Mixed,
                build=build_mixed_model,
                page=mixed_model_page,
                figures=(mixed_model,),
            ),
            Chapter(
                "item_differences",
                "Differences by test case",
                "On which test cases do people and models differ?",
                results=Differences,
                build=build_item_differences,
                page=item_differences_page,
                figures=(item_differences,),
            ),
        ),
    ),
    Group(
        "Confidence",
        (
            Chapter(
                "calibration",
                "Calibration",
                "Are more confident people and models right more often?",
                results=Calibration,
                build=build_calibration,
                page=calibration_page,
                figures=(calibration_humans, calibration_models, table_s3),
            ),
            Chapter(
                "expertise",
                "Expertise",
                "How do people rate their own expertise?",
                results=Expertise,
                build=build_expertise,
                page=expertise_page,
                figures=(expertise, expertise_calibration),
            ),
        ),
    ),
    Group(
        "People and models together",
        (
            Chapter(
                "teams",
                "Teams",
                "Do people and models decide better together?",
                results=Teams,
                build=build_teams,
                page=teams_page,
                figures=(
                    teams,
                    teams_gain,
                    teams_adding,
                    teams_complementarity,
                    teams_policy,
                    teams_sizes,
                ),
            ),
            Chapter(
                "advised",
                "Advised",
                "Do people decide better with advice, and do they tell right advice from wrong?",
                results=Advised,
                build=build_advised,
                page=advised_page,
                figures=(advised, advised_flow, advised_reliance, advised_teams),
                part=Part.ADVICE,
            ),
            Chapter(
                "agreement",
                "Agreement",
                "Do models and people find the same test cases hard?",
                results=Agreement,
                build=build_agreement,
                page=agreement_page,
                figures=(agreement, models_humans_agreement),
            ),
        ),
    ),
    Group(
        "What models learned",
        (
            Chapter(
                "asked",
                "Asked or scored",
                "Do models also say what they know?",
                results=Asked,
                build=build_asked,
                page=asked_page,
                figures=(asked, asked_sizes, asked_reliability),
                part=Part.CHOICES,
            ),
            Chapter(
                "integration",
                "Integration of context",
                "How much of the accuracy comes from the sentence itself, and how much from its context?",
                results=Integration,
                build=build_integration,
                page=integration_page,
                figures=(integration,),
            ),
            Chapter(
                "flips",
                "Changes of preference along the text",
                "Does the preference at the first differing token persist to the end?",
                results=ChangesOfMind,
                build=build_flips,
                page=flips_page,
                figures=(flips, flips_traces, flips_trajectories),
            ),
            Chapter(
                "memorisation",
                "Memorisation",
                "Could models have known the abstracts?",
                results=Memorisation,
                build=build_memorisation,
                page=memorisation_page,
                figures=(memorisation,),
            ),
            Chapter(
                "publication_date",
                "Publication date",
                "Are older abstracts easier for models?",
                results=PublicationDate,
                build=build_publication_date,
                page=publication_date_page,
                figures=(publication_date,),
            ),
            Chapter(
                "finetuning",
                "Fine-tuning",
                "What does training on the field's literature change?",
                results=FineTuning,
                build=build_finetuning,
                page=finetuning_page,
                figures=(finetuning, finetuning_versions),
                address="fine-tuning",
            ),
        ),
    ),
    Group(
        "Graded answers",
        (
            Chapter(
                "graded_rates",
                "Answers to questions",
                "Who answers well, and who admits not knowing the answer?",
                results=GradedRates,
                build=build_graded_rates,
                page=graded_rates_page,
                figures=(graded_quadrants, graded_fates),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_categories",
                "Answers by category",
                "In which categories are answers good and safe?",
                results=GradedCategories,
                build=build_graded_categories,
                page=graded_categories_page,
                figures=(
                    graded_heatmap_score,
                    graded_heatmap_rqr,
                    graded_heatmap_sr,
                    graded_heatmap_ar,
                    graded_counts,
                ),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_comparisons",
                "Answers compared",
                "Which differences are significant?",
                results=GradedComparisons,
                build=build_graded_comparisons,
                page=graded_comparisons_page,
                figures=(graded_differences, graded_selective, graded_deferral, graded_texts),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_agreement",
                "The judge and people",
                "Would people grade the same way?",
                results=GradedAgreement,
                build=build_graded_agreement,
                page=graded_agreement_page,
                figures=(graded_confusion, graded_corrected, graded_thresholds),
                part=Part.QUESTIONS,
            ),
            Chapter(
                "graded_answers",
                "What was answered",
                "How many points do answers get, how long are they, and what do they cost?",
                results=GradedAnswers,
                build=build_graded_answers,
                page=graded_answers_page,
                figures=(graded_points, graded_lengths, graded_states),
                part=Part.QUESTIONS,
            ),
        ),
    ),
    Group(
        "Quality of the data",
        (
            Chapter(
                "flow",
                "From recruitment to analysis",
                "How many participants remained at each step?",
                results=Flow,
                build=build_flow,
                page=flow_page,
                figures=(flow,),
                part=Part.PEOPLE,
            ),
            Chapter(
                "participants",
                "Participants",
                "Who took part?",
                results=Participants,
                build=build_participants,
                page=participants_page,
                part=Part.PEOPLE,
            ),
            Chapter(
                "exposures",
                "Judgments per test case",
                "How often was each test case judged?",
                results=ItemExposures,
                build=build_exposures,
                page=exposures_page,
                figures=(exposures,),
            ),
            Chapter(
                "reaction_times",
                "Reaction times",
                "How long did answers take?",
                results=ReactionTimes,
                build=build_reaction_times,
                page=reaction_times_page,
                figures=(reaction_times,),
            ),
            Chapter(
                "power",
                "Power",
                "How many participants does a given precision need?",
                results=Power,
                build=build_power,
                page=power_page,
                figures=(power,),
            ),
            Chapter(
                "sensitivity",
                "Sensitivity",
                "How much do the results depend on choices of the analysis?",
                results=Sensitivity,
                build=build_sensitivity,
                page=sensitivity_page,
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
