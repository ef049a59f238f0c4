"""What one can ask of a field's list of test cases; loads nothing that computes."""

from dataclasses import dataclass
from enum import StrEnum


class Order(StrEnum):
    KEY = "key"
    NEWEST = "newest"
    PUBLISHED = "published"
    FEWEST = "fewest"
    MOST = "most"
    WORST = "worst"
    BEST = "best"
    HARDEST = "hardest"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which test cases; what is empty does not narrow. text: in key, DOI or either text."""

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
