"""Test cases of a study, and which version of each a report is about."""

import numpy as np
import pandas as pd
from django.db.models import Q

from analysis.data.columns import read_columns
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
    items["is_damaged"] = _is_damaged(items)
    repaired = items["texts"] == Item.Texts.REPAIRED.value
    wanted = repaired if options.texts == Item.Texts.REPAIRED else ~repaired
    items = items[~items["is_damaged"] | wanted]
    # Sorted here, since databases disagree on the order of texts
    return items.sort_values(["key", "version"], ignore_index=True)


def _is_damaged(items: pd.DataFrame) -> pd.Series:
    """Whether a version of this key was published damaged, or repairs one that was."""
    damaged = Item.objects.filter(
        Q(is_damaged=True) | Q(texts=Item.Texts.REPAIRED), key__in=set(items["key"])
    )
    return items["key"].isin(set(damaged.values_list("key", flat=True)))
