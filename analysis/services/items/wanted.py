"""Filters and orders of a field's list of test cases; loads nothing that computes."""

from dataclasses import dataclass

from django.db.models import TextChoices


class Order(TextChoices):
    KEY = "key", "key"
    NEWEST = "newest", "newest first"
    PUBLISHED = "published", "published last, first"
    FEWEST = "fewest", "judged least often first"
    MOST = "most", "judged most often first"
    WORST = "worst", "lowest accuracy first"
    BEST = "best", "highest accuracy first"
    HARDEST = "hardest", "hardest for models first"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Selection of test cases; what is empty does not narrow. text: in key, DOI or either text."""

    text: str = ""
    status: str = ""
    kind: str = ""
    source: str = ""
    subfield: str = ""
    study: str = ""
    mark: str = ""
    is_waiting: bool = False
    all_versions: bool = False
    order: Order = Order.KEY
