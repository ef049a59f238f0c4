"""Groups of participants who gave the same answer about themselves: arms are balanced within them, and each can be closed. Pure."""

import re
from collections.abc import Iterable, Mapping

from experiment.domain.export_columns import DECLINED, TRIAL_COLUMNS
from experiment.domain.release import AGES, YEARS, band

_LEVELS = {column.name: column.levels for column in TRIAL_COLUMNS}
_STARTS = {"age": AGES, "experience_years": YEARS}
_COUNTRY = re.compile("[A-Z]{2}")
UNANSWERED = "unanswered"


def cell_of(field: str, answers: Mapping[str, object]) -> str:
    """The cell of somebody with these answers: the level of a question, or the band of a number.

    >>> cell_of("age", {"age": "34"}), cell_of("gender", {"gender": "female"}), cell_of("gender", {})
    ('25-34', 'female', 'unanswered')
    """
    answer = str(answers.get(field) or UNANSWERED)
    return band(answer, _STARTS[field]) if field in _STARTS else answer


def cells(field: str) -> tuple[str, ...]:
    """Those that an answer can be in; of countries, those that are no country.

    >>> cells("age")[:2]
    ('18-24', '25-34')
    """
    if field in _STARTS:
        named: Iterable[str] = (band(str(start), _STARTS[field]) for start in _STARTS[field])
    else:
        known = _LEVELS["position_held" if field == "position" else field]
        named = (level for level in known if level != DECLINED)
    return (*named, DECLINED, UNANSWERED)


def is_cell(field: str, name: str) -> bool:
    """
    >>> is_cell("country", "DE"), is_cell("gender", "DE")
    (True, False)
    """
    is_country = field == "country" and _COUNTRY.fullmatch(name) is not None
    return is_country or name in cells(field)
