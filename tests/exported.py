"""An exported CSV file, read as docs/participants.md says."""

from typing import Any

import pandas as pd


def read_csv(file: Any, **options: Any) -> pd.DataFrame:
    return pd.read_csv(file, keep_default_na=False, na_values=[""], **options)
