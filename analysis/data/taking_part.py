"""Who took part in the whole study, of which kind, when, and where from. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

import pandas as pd

from analysis.stats.arrays import Floats


@dataclass(frozen=True)
class TakingPart:
    """Of one kind of participants; the same for both sources of test cases.

    people: participants with an analysed trial, columns as in SourceData. rt_ms: of their analysed trials, NaN where not
    measured. first_day, last_day: of consent; None where it is not known. routes: platform ("" a plain link) -> people who
    consented; empty where it is not known. other_kinds: kind -> people who are not described here. ethics_number,
    ethics_body: "" where no approval is stated.
    """

    kind: str
    people: pd.DataFrame
    rt_ms: Floats
    first_day: date | None = None
    last_day: date | None = None
    routes: Mapping[str, int] = field(default_factory=dict)
    other_kinds: Mapping[str, int] = field(default_factory=dict)
    ethics_number: str = ""
    ethics_body: str = ""
