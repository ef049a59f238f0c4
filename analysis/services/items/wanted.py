"""Filters and orders of a field's list of test cases; loads nothing that computes."""

from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class Order(TextChoices):
    KEY = "key", _("key")
    NEWEST = "newest", _("newest first")
    PUBLISHED = "published", _("published last, first")
    FEWEST = "fewest", _("fewest exposures first")
    MOST = "most", _("most exposures first")
    WORST = "worst", _("lowest accuracy first")
    BEST = "best", _("highest accuracy first")
    HARDEST = "hardest", _("hardest for models first")


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
