"""Rows of a query as the columns of a table, in one pass and in chunks: a million rows stay small; keys as numbers."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import QuerySet

CHUNK = 20_000


def read_columns(rows: QuerySet[Any], columns: Mapping[str, tuple[str, Any]]) -> pd.DataFrame:
    """`columns`: name -> (lookup, NumPy type). Null is NaN in a column of floats and None in one of objects."""
    lookups = [lookup for lookup, _ in columns.values()]
    types = [np.dtype(kind) for _, kind in columns.values()]
    parts: list[list[np.ndarray]] = [[] for _ in types]
    found = rows.values_list(*lookups).iterator(chunk_size=CHUNK)
    while chunk := list(islice(found, CHUNK)):
        for part, kind, values in zip(parts, types, zip(*chunk, strict=True), strict=True):
            part.append(np.array(values, dtype=kind))
    return pd.DataFrame(
        {
            name: np.concatenate(part) if part else np.array([], dtype=kind)
            for name, part, kind in zip(columns, parts, types, strict=True)
        }
    )


def renumber(pks: pd.Series, numbers: Mapping[int, int]) -> np.ndarray:
    """Primary keys as numbers from 0; -1 where a key has none."""
    if not numbers or pks.empty:
        return np.full(len(pks), -1, dtype=np.int64)
    known = np.fromiter(numbers.keys(), dtype=np.int64)
    values = np.fromiter(numbers.values(), dtype=np.int64)
    order = np.argsort(known)
    known, values = known[order], values[order]
    keys = pks.to_numpy(dtype=np.int64)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[at] == keys, values[at], -1)
