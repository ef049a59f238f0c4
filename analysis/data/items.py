"""Test cases of a study, and which version of each a report is about."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from django.db.models import Expression, Q, QuerySet

from analysis.data.filters import ReportOptions
from experiment.models import Item, Study


def read_items(study: Study, options: ReportOptions) -> pd.DataFrame:
    """pk, key, version, source, subfield, published, collection, is_damaged; by key and version.

    Of the study are the test cases that it draws, and those that were judged in it. A damaged test case has its
    published version or a repaired one, as the options say.
    """
    rows = Item.objects.shown_by([study]).filter(kind=Item.Kind.TEST).order_by()
    items = read_columns(
        rows,
        {
            "pk": ("pk", np.int64),
            "key": ("key", object),
            "version": ("version", np.int64),
            "source": ("source", object),
            "subfield": ("subfield", object),
            "published": ("publication_date", object),
            "texts": ("texts", object),
            "collection": ("collection", object),
        },
    )
    items["published"] = pd.to_datetime(items["published"])
    # A version of the key was published damaged, or repairs one that was
    damaged = Item.objects.filter(
        Q(is_damaged=True) | Q(texts=Item.Texts.REPAIRED), key__in=set(items["key"])
    )
    items["is_damaged"] = items["key"].isin(set(damaged.values_list("key", flat=True)))
    repaired = items["texts"] == Item.Texts.REPAIRED.value
    wanted = repaired if options.texts == Item.Texts.REPAIRED else ~repaired
    items = items[~items["is_damaged"] | wanted]
    # Sorted here, since databases disagree on the order of texts
    return items.sort_values(["key", "version"], ignore_index=True)


CHUNK = 20_000


def read_columns(
    rows: QuerySet[Any], columns: Mapping[str, tuple[str | Expression, Any]]
) -> pd.DataFrame:
    """`columns`: name -> (lookup or expression, NumPy type). Null is NaN in a column of floats and None in one of objects."""
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
