"""What a training will take, as far as it can be said without its weights and its tokenizer."""

import math
from dataclasses import dataclass

from scoring.models import Training
from scoring.training.settings import of_recipe


@dataclass(frozen=True, slots=True)
class Estimate:
    """By the corpus's own count of tokens, which is another tokenizer's."""

    tokens_per_step: int
    steps: int
    tokens: int
    warmup_steps: int


def estimate(training: Training) -> Estimate:
    settings, part = of_recipe(training.recipe), training.corpus.manifest.get("train", {})
    tokens = part.get("tokens", 0)
    if settings.limit and part.get("documents"):
        tokens = tokens * min(settings.limit, part["documents"]) // part["documents"]
    steps = math.ceil(settings.epochs * math.ceil(tokens / settings.tokens_per_step))
    warmup = math.ceil(settings.warmup_share * steps)
    return Estimate(settings.tokens_per_step, steps, round(settings.epochs * tokens), warmup)
