"""What is said of a text besides its words."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Facts:
    """As an item has it; `key` is empty where it has none yet. Its other versions have the same."""

    field: str
    key: str = ""
    kind: str = "test"
    source: str = "human"
    doi: str = ""
    publication_date: date | None = None


@dataclass(frozen=True, slots=True)
class Other:
    """Another item of the field, to compare with."""

    key: str
    source: str
    doi: str
    original: str
