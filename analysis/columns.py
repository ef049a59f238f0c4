"""Columns of tables, declared once: what a column holds, how the page heads and writes it, and what the CSV file calls it.

    COLUMNS = (*data("name"), count("Test cases", "items.n", "n_items"), share_ci("95% CI", "items.ci95", "ci_low ci_high"))

`tidy(COLUMNS, rows)` is the CSV file, `page_table("Models", COLUMNS, rows)` what the page shows of it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis import presentation
from analysis.data.dataset import MODEL_NAME
from analysis.presentation import Table
from analysis.stats import MissingResult
from lib import formatting as f

Value = str | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """title: None where the page leaves it out. value: a path from the row, such as `items.ci95`, or a function of the row.

    form: writes a value for the page. csv: its name in the file, two of an interval's ends, none where the file leaves it out.
    """

    title: str | None
    value: Value
    form: Callable[[Any], str]
    is_number: bool = True
    csv: tuple[str, ...] = ()

    def of(self, row: Any) -> Any:
        """None where something on the way is missing."""
        if callable(self.value):
            return self.value(row)
        for name in self.value.split("."):
            if row is None or isinstance(row, MissingResult):
                return None
            row = row[int(name)] if name.isdigit() else getattr(row, name)
        return None if isinstance(row, MissingResult) else row

    def cells(self, row: Any) -> tuple[Any, ...]:
        """Cells of the CSV file."""
        value = self.of(row)
        if len(self.csv) == 2:
            return (np.nan, np.nan) if value is None else tuple(value)
        return (value.value if isinstance(value, Enum) else value,)


def page_table(
    caption: str, columns: Iterable[Column], rows: Iterable[Any], csv: str = ""
) -> list[Table]:
    """A list of the table, empty where it has no rows; `csv` names the file behind it."""
    shown = [column for column in columns if column.title is not None]
    heads = tuple(presentation.Column(str(c.title), c.is_number) for c in shown)
    cells = tuple(tuple(c.form(c.of(row)) for c in shown) for row in rows)
    return [Table(caption, heads, cells, csv)] if cells else []


def tidy(columns: Sequence[Column], rows: Iterable[Any]) -> pd.DataFrame:
    """The rows of the CSV file."""
    names = [name for column in columns for name in column.csv]
    filed = [column for column in columns if column.csv]
    return pd.DataFrame(
        [[cell for column in filed for cell in column.cells(row)] for row in rows], columns=names
    )


def data(*names: str) -> tuple[Column, ...]:
    """Columns of the file alone: `n` is the path too, `n_items=items.n` has another; `ci=ci95` has the ends of an interval."""
    columns = []
    for name in names:
        name, _, path = name.partition("=")
        csv = (f"{name}_low", f"{name}_high") if path.endswith("ci95") else (name,)
        columns.append(Column(None, path or name, str, csv=csv))
    return tuple(columns)


def model(path: str = "") -> tuple[Column, ...]:
    """Columns of the file alone that name the model that a row is about: the row is a ModelName, or has it at `path`."""
    return data(*(f"{name}={path}.{name}" if path else name for name in MODEL_NAME))


def text(title: str, value: Value, csv: str = "") -> Column:
    return Column(title, value, lambda v: str(v) if v else f.DASH, False, tuple(csv.split()))


def _numbers(
    form: Callable[..., str],
    title: str,
    value: Value,
    csv: str = "",
    is_number: bool = True,
    **digits: int,
) -> Column:
    return Column(title, value, partial(form, **digits), is_number, tuple(csv.split()))


number = partial(_numbers, f.number)
count = partial(_numbers, f.number, digits=0)
percent = partial(_numbers, f.percent)
points = partial(_numbers, f.points)
coefficient = partial(_numbers, f.coefficient)
compact = partial(_numbers, f.compact)
p_value = partial(_numbers, f.p_cell)
shown = partial(_numbers, str)  # what is written already
ci = partial(_numbers, f.interval)
share_ci = partial(_numbers, f.share_interval)
points_ci = partial(_numbers, f.points_interval)
coefficient_ci = partial(_numbers, f.coefficient_interval)
compact_ci = partial(_numbers, f.compact_interval)
