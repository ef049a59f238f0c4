"""Values of a JSON file and where they stand, so that what is wrong can be named: `items[3].markup: ...`."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError

from lib import strict_json
from lib.confined import ConfinedError, confined
from lib.json_bounds import check_json

YEARS = range(2000, 2100)  # of a study's times, in forms too
MOST_SHOWN = 50
MOST_KEPT = 1_000
AMOUNT = re.compile(r"[0-9]{1,7}(\.[0-9]{1,2})?")
LONGEST_NAME = 80  # of an entry that there is not


class StudyFileError(ValidationError):
    """The file is refused; each message names a place in it."""

    def __init__(self, problems: list[str]) -> None:
        more = len(problems) - MOST_SHOWN
        shown = problems[:MOST_SHOWN]
        if more > 0:
            shown.append(f"… and {more} more.")
        super().__init__(shown)


@dataclass(frozen=True, slots=True)
class Place:
    """A value, its place, and the problems found so far, which all places share.

    A wrong value is noted and read as an empty one: all that is wrong is found at once.
    """

    value: Any
    path: str
    problems: list[str]

    def refuse(self, sentence: object) -> None:
        """Raises StudyFileError where so much is wrong that nobody looks on: a file may have a million entries."""
        self.problems.append(f"{self.path}: {sentence}" if self.path else str(sentence))
        if len(self.problems) >= MOST_KEPT:
            raise StudyFileError(self.problems)

    def members(self, names: Collection[str], needed: Collection[str] = ()) -> dict[str, "Place"]:
        """Those of an object; no others than these may be there."""
        if not isinstance(self.value, dict):
            self.refuse("An object is expected.")
            return {}
        found = {n: self._at(f"{self.path}.{n}", v) for n, v in self.value.items() if n in names}
        for name in (n for n in self.value if n not in names):
            unknown = self._at(f"{self.path}.{name[:LONGEST_NAME]}", None)
            unknown.refuse("There is no such entry in a study's file.")
        for name in needed:
            if name not in found:
                self._at(f"{self.path}.{name}", None).refuse("This entry is missing.")
        return found

    def elements(self, most: int) -> list["Place"]:
        if not isinstance(self.value, list):
            self.refuse("A list is expected.")
            return []
        if len(self.value) > most:
            self.refuse(f"More than {most} entries.")
            return []
        return [self._at(f"{self.path}[{n}]", value) for n, value in enumerate(self.value)]

    def _at(self, path: str, value: Any) -> "Place":
        return Place(value, path.removeprefix("."), self.problems)

    def text(self, most: int = 100_000) -> str:
        value = self.value
        if not isinstance(value, str):
            self.refuse("A text is expected.")
        elif len(value) > most:
            self.refuse(f"More than {most} characters.")
        elif "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
            self.refuse("It contains a character that cannot be part of a text.")
        else:
            return value
        return ""

    def whole(self, most: int) -> int:
        # True is a whole number to Python
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.refuse("A whole number is expected.")
        elif not 0 <= self.value <= most:
            self.refuse(f"A number from 0 to {most} is expected.")
        else:
            return self.value
        return 0

    def share(self) -> float:
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not is_number or not 0 <= self.value <= 1:
            self.refuse("A number from 0 to 1 is expected.")
            return 0
        return float(self.value)

    def amount(self) -> Decimal:
        """An exact amount, as a text with two decimals at most."""
        if not isinstance(self.value, str) or not AMOUNT.fullmatch(self.value):
            self.refuse("An amount is expected, as a text such as “2.50”.")
            return Decimal(0)
        return Decimal(self.value)

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.refuse("true or false is expected.")
            return False
        return self.value

    def one_of(self, values: Collection[str]) -> str:
        if not isinstance(self.value, str) or self.value not in values:
            listed = ", ".join(f"“{value}”" for value in values)
            self.refuse(f"One of these is expected: {listed}.")
            return ""
        return self.value

    def day(self) -> date | None:
        needed = "A date like 2026-03-31 is expected."
        found: date | None = self._time(date.fromisoformat, needed)
        return found

    def moment(self) -> datetime | None:
        needed = "A time like 2026-03-31T12:00:00+00:00 is expected."
        found: datetime | None = self._time(datetime.fromisoformat, needed)
        if found is not None and found.tzinfo is None:
            self.refuse(needed)
        elif found is not None and found.year not in YEARS:
            self.refuse("Give a year from 2000 to 2099.")
            return None
        return found

    def _time(self, read: Any, needed: str) -> Any:
        try:
            return read(self.value)
        except (TypeError, ValueError):
            self.refuse(needed)
            return None


def parse(content: bytes) -> Place:
    """The own value of a file that somebody sent: another process looks first how many values it holds, for this one reads them too.

    Raises:
        StudyFileError: it is no JSON, or takes too much to read.
    """
    return _parsed(content, partial(confined, check_json, refusals=[ValueError]))


def parse_here(content: bytes) -> Place:
    """As `parse`, of a file that is known to be small."""
    return _parsed(content, check_json)


def _parsed(content: bytes, check: Callable[[bytes], None]) -> Place:
    try:
        text = content.decode("utf-8-sig")
        check(text.encode())
        return Place(strict_json.loads(text), "", [])
    except UnicodeDecodeError as error:
        raise StudyFileError(["The file is not UTF-8 text."]) from error
    except ConfinedError as error:
        raise StudyFileError([str(error)]) from error
    except ValueError as error:
        raise StudyFileError([f"The file is not JSON: {error}."]) from error
