from scoring.models.answers import Answer, AnsweringRun
from scoring.models.drafts import DraftAttempt, DraftingRun, GeneratedDraft
from scoring.models.grades import GradingPlan, GradingRun, JudgeGrade, PersonGrade
from scoring.models.imports import PublishedImport
from scoring.models.language_models import (
    LanguageModel,
    ModelSet,
    ModelSetMember,
    TrainingCorpus,
)
from scoring.models.model_reviews import ItemScreening, ModelReview, ReviewingRun
from scoring.models.runs import ScoringRun
from scoring.models.scores import CorpusScore, ItemScore, UnscoredText
from scoring.models.training import Checkpoint, Corpus, Training, TrainingPoint

__all__ = [
    "Answer",
    "AnsweringRun",
    "Checkpoint",
    "Corpus",
    "CorpusScore",
    "DraftAttempt",
    "DraftingRun",
    "GeneratedDraft",
    "GradingPlan",
    "GradingRun",
    "ItemScore",
    "ItemScreening",
    "JudgeGrade",
    "LanguageModel",
    "ModelReview",
    "ModelSet",
    "ModelSetMember",
    "PersonGrade",
    "PublishedImport",
    "ReviewingRun",
    "ScoringRun",
    "Training",
    "TrainingCorpus",
    "TrainingPoint",
    "UnscoredText",
]
