"""What analysis keeps in the database: which results were computed, and which are on their way."""

from analysis.models.computations import Computation

__all__ = ["Computation"]
