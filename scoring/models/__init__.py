from scoring.models.answers import (
    Answer,
    AnsweringRun,
    GradingPlan,
    GradingRun,
    JudgeGrade,
    PersonGrade,
)
from scoring.models.choices import ChoiceRun, ModelChoice
from scoring.models.drafts import (
    DraftAttempt,
    DraftingRun,
    GeneratedDraft,
    ItemScreening,
    ModelReview,
    ReviewingRun,
)
from scoring.models.language_models import (
    LanguageModel,
    ModelSet,
    ModelSetMember,
    TrainingCorpus,
)
from scoring.models.runs import CorpusScore, ItemScore, PublishedImport, ScoringRun, UnscoredText
from scoring.models.servers import ModelServer
from scoring.models.training import Checkpoint, Corpus, Training, TrainingPoint

__all__ = [
    "Answer",
    "AnsweringRun",
    "Checkpoint",
    "ChoiceRun",
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
    "ModelChoice",
    "ModelReview",
    "ModelServer",
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
