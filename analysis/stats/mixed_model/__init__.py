"""Logistic mixed model with crossed random intercepts of participants and items, by maximum likelihood."""

from analysis.stats.mixed_model.model import (
    MOST_FOR_PROFILES,
    Coefficient,
    Deviation,
    Integral,
    MixedModel,
    Without,
    fit,
    marginal_accuracy,
)

__all__ = [
    "MOST_FOR_PROFILES",
    "Coefficient",
    "Deviation",
    "Integral",
    "MixedModel",
    "Without",
    "fit",
    "marginal_accuracy",
]
