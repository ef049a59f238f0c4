"""What is known of one version, in four parts: people, models, its place among the field's, discrimination."""

from analysis.services.items.statistics.discrimination import Fitted, fitted
from analysis.services.items.statistics.place import Place, place_of
from analysis.services.items.statistics.whole import Statistics, statistics

__all__ = ["Fitted", "Place", "Statistics", "fitted", "place_of", "statistics"]
