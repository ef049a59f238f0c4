"""scripts/count_sizes.py: each file counts to one part, or to none."""

from pathlib import Path

import pytest

from scripts.count_sizes import part_of


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("scoring/lab/words.py", "scoring"),
        ("scoring/migrations/0001_initial.py", None),
        ("experiment/participant/static/js/send.js", "static"),
        ("templates/scoring/choosing/plain.txt", "templates"),
        ("docs/trust.json", None),
        ("docs/decisions/0016-languages.md", "docs"),
        ("README.md", None),
    ],
)
def test_a_file_counts_to_its_part_alone(path: str, part: str | None) -> None:
    assert part_of(Path(path)) == part
