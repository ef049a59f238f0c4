"""Quality rules for a test case, from the criteria of its writers. Pure."""

from experiment.domain.item_checks.facts import Facts, Other
from experiment.domain.item_checks.findings import Finding, Level, Place
from experiment.domain.item_checks.text import check_item, check_text

__all__ = ["Facts", "Finding", "Level", "Other", "Place", "check_item", "check_text"]
