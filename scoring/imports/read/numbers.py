"""Reads published arrays of numbers and names every row that cannot be meant. Plain NumPy: no database."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiment.imports.read.tables import Problem, read_array
from scoring.imports.read.results import FileFacts, Floats, Integers

Numbers = npt.NDArray[Any]

MAX_ROWS = 1_000_000
MAX_BYTES = 2**31 - 1  # what the database's column holds


@dataclass
class NumberFiles:
    """Reads files under `root`; what is wrong with them is added to `problems`."""

    root: Path
    problems: list[Problem]
    tried: set[str] = field(default_factory=set)
    _facts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return (self.root / name).is_file()

    def facts_of(self, *names: str) -> FileFacts:
        return {name: self._facts[name] for name in names}

    def perplexities(self, name: str, *, pairs: bool) -> Floats | None:
        """Finite and positive numbers, (n, 2) of A and B or (n,)."""
        values = self._read(name, "f", "perplexities", pairs=pairs)
        if values is None:
            return None
        with np.errstate(over="ignore"):  # what overflows is infinite, and named below
            numbers = values.astype(np.float64)
        wrong = ~(np.isfinite(numbers) & (numbers > 0))
        return numbers if self._all_right(name, numbers, wrong, "a perplexity") else None

    def integers(
        self, name: str, low: int, high: int, meaning: str, *, pairs: bool = False
    ) -> Integers | None:
        """Whole numbers from `low` to `high`, (n, 2) of A and B or (n,)."""
        values = self._read(name, "iu", "whole numbers", pairs=pairs)
        if values is None:
            return None
        wrong = (values < low) | (values > high)
        return values.astype(np.int64) if self._all_right(name, values, wrong, meaning) else None

    def check_length(
        self, name: str, values: Numbers | None, other: str, others: Numbers | None
    ) -> None:
        """A file has as many rows as the one that it goes with, if both could be read."""
        if values is not None and others is not None and len(values) != len(others):
            message = f"has {len(values)} rows where {other} has {len(others)}"
            self.problems.append(Problem(name, message))

    def _read(self, name: str, kinds: str, what: str, *, pairs: bool) -> Numbers | None:
        self.tried.add(name)
        file = read_array(self.root, name, self.problems)
        if file is None:
            return None
        values = file.values
        self._facts[name] = {
            "sha256": file.sha256,
            "shape": list(values.shape),
            "dtype": str(values.dtype),
        }
        if values.dtype.kind not in kinds:
            self.problems.append(Problem(name, f"holds {values.dtype}, not {what}"))
        elif values.shape[1:] != ((2,) if pairs else ()) or values.ndim == 0:
            wanted = "(n, 2)" if pairs else "(n,)"
            self.problems.append(Problem(name, f"has the shape {values.shape}, not {wanted}"))
        elif not 0 < len(values) <= MAX_ROWS:
            self.problems.append(Problem(name, f"has {len(values)} rows"))
        else:
            return values
        return None

    def _all_right(
        self, name: str, values: Numbers, wrong: npt.NDArray[np.bool_], meaning: str
    ) -> bool:
        for row in np.unique(np.argwhere(wrong)[:, 0]).tolist():
            cells = np.atleast_1d(values[row])[np.atleast_1d(wrong[row])].tolist()
            shown = " and ".join(str(cell) for cell in cells)
            self.problems.append(Problem(name, f"{shown} is not {meaning}", row=row))
        return not wrong.any()
