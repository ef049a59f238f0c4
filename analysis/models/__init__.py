"""Tables of analysis: results that were computed, and those that are on their way."""

from analysis.models.computations import Computation

__all__ = ["Computation"]
