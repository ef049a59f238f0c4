"""The measured coverage of intervals: kept beside the simulation, shown in docs/results.md.

`python -m tests.analysis.coverage.table` measures anew (minutes), keeps the rows and puts them into the documentation.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.analysis.coverage.intervals import SIZES, Coverage, measure

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
DOCS = HERE.parents[2] / "docs" / "results.md"
N_STUDIES = {"small": 300, "middle": 300, "published": 150}
BEGIN, END = "<!-- coverage: measured, not written by hand -->\n", "<!-- coverage ends -->"


def measured() -> tuple[Coverage, ...]:
    return tuple(Coverage(**row) for row in json.loads(MEASURED.read_text()))


def lines(rows: Sequence[Coverage]) -> str:
    """A row for each interval: the share of studies whose interval holds the truth, at each size."""
    sizes = [size for size in SIZES if any(row.size == size.name for row in rows)]
    heads = [f"{s.n_people} people, {s.n_items} items, {s.each} per person" for s in sizes]
    by = {(row.interval, row.size): row for row in rows}
    names = list(dict.fromkeys(row.interval for row in rows))
    found = [f"| interval | {' | '.join(heads)} |", "|---|" + "---|" * len(sizes)]
    for name in names:
        cells = [_cell(by.get((name, size.name))) for size in sizes]
        found.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(found) + "\n"


def _cell(row: Coverage | None) -> str:
    return f"{100 * row.holds:.1f}" if row else "-"


def main() -> None:
    rows = [row for size in SIZES for row in measure(size, N_STUDIES[size.name])]
    kept = [
        {k: round(v, 4) if isinstance(v, float) else v for k, v in asdict(row).items()}
        for row in rows
    ]
    MEASURED.write_text(json.dumps(kept, indent=1) + "\n")
    before, rest = DOCS.read_text().split(BEGIN)
    DOCS.write_text(before + BEGIN + lines(measured()) + END + rest.split(END)[1])
    print(lines(measured()))


if __name__ == "__main__":
    main()
