"""A table to overwrite, with two test cases of our own in it."""

from experiment.domain.item_columns import OWN
from experiment.services.item_export.forms import csv_line

COLUMNS = tuple(name for name in OWN if name not in ("version", "status"))
_EXAMPLES = (
    {
        "key": "example-1",
        "kind": "test",
        "source": "human",
        "generator": "your name",
        "doi": "10.1234/example.1",
        "publication_date": "2024-03-31",
        "markup": "Twenty adults kept a diary of what they drank in the evening. After coffee at six o'clock they fell asleep "
        "[[later, sooner]] than after water, and their sleep was [[lighter, deeper]] in the first hours of the night.",
        "note": "Overwrite these two rows. Columns that you do not need may go; only markup has to stay.",
    },
    {
        "key": "example-2",
        "kind": "test",
        "source": "machine",
        "generator": "name of the model",
        "markup": "Adults who were kept awake for one night recalled [[fewer, more]] of forty words the next day. A nap of "
        "ninety minutes [[made up for part of the loss | did nothing, or next to nothing, about the loss]].",
        "note": "A passage with a comma in it is written with a vertical bar between two spaces.",
    },
)


def template(subfield: str = "") -> bytes:
    """CSV, of a subfield where one is named."""
    rows = [row | {"subfield": subfield} for row in _EXAMPLES]
    return b"".join(
        (csv_line(COLUMNS), *(csv_line(row.get(name, "") for name in COLUMNS) for row in rows))
    )
