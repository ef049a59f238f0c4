from scoring.models.imports import PublishedImport
from scoring.models.language_models import (
    LanguageModel,
    ModelSet,
    ModelSetMember,
    TrainingCorpus,
)
from scoring.models.runs import ScoringRun
from scoring.models.scores import CorpusScore, ItemScore, UnscoredText

__all__ = [
    "CorpusScore",
    "ItemScore",
    "LanguageModel",
    "ModelSet",
    "ModelSetMember",
    "PublishedImport",
    "ScoringRun",
    "TrainingCorpus",
    "UnscoredText",
]
