"""Quality rules for a test case, from the criteria of its writers. Pure."""

from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.item_checks.form import check_item

__all__ = ["Finding", "Level", "Place", "check_item"]
