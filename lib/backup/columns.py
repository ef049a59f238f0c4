"""Values of columns as SQLite and PostgreSQL write them, by way of one form in which rows of both can be compared.

The form of a value is what the site reads there: a time in UTC, a decimal number with all its places, JSON with its keys in one order.
Readers are strict, because a part of a value that they passed over would be lost without a difference.
"""

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Context, Decimal
from functools import partial
from typing import Any

from django.db.backends.base.operations import BaseDatabaseOperations

Value = int | float | str | bytes | None
Convert = Callable[[Any], Any]
SQLITE_DIGITS = Context(prec=15)  # Django reads decimals of SQLite with as many
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_UUID = re.compile(r"[0-9a-f]{32}")
# Text, which stays, or a number that jsonb would make a whole one
_LARGE = re.compile(r'"(?:[^"\\]|\\.)*"|\d(?:\.\d+)?e\+\d+')
_PAIR = re.compile(r"\\ud[89ab]..\\ud[c-f]..")
_NOT_IN_JSONB = re.compile(r"(?<!\\)(?:\\\\)*\\u(0000|d[89a-f]..)")


@dataclass(frozen=True, slots=True)
class Form:
    """How the values of a column are read and written. All raise ValueError for what cannot be kept; NULL never comes here."""

    from_sqlite: Convert
    to_sqlite: Convert
    from_copy: Convert  # of PostgreSQL's COPY, without its escapes
    to_copy: Convert  # escaped


def form(field: Any) -> Form:
    """The form of the column of a model's field. Raises LookupError for a kind that has none."""
    while field.remote_field:
        field = field.target_field
    kind = field.get_internal_type()
    if kind in BaseDatabaseOperations.integer_field_ranges:
        low, high = BaseDatabaseOperations.integer_field_ranges[kind]
        return Form(_integer, _same, int, partial(_in_range, low, high))
    if kind in ("CharField", "SlugField", "TextField"):
        at_most = None if kind == "TextField" else field.max_length
        return Form(_decoded, _same, _same, partial(_text, at_most))
    if kind == "DecimalField":
        unit = Decimal(1).scaleb(-field.decimal_places)
        return Form(partial(_real_decimal, unit), _same, partial(_decimal, unit), _same)
    return _FORMS[kind]


def escaped(text: str) -> str:
    """Text as a field of COPY."""
    escaped = text.replace("\\", "\\\\").replace("\t", "\\t")
    return escaped.replace("\n", "\\n").replace("\r", "\\r")


def _same(value: Any) -> Any:
    return value


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r:.40} is not a whole number")
    return value


def _in_range(low: int, high: int, value: int) -> str:
    if not low <= value <= high:
        raise ValueError(f"{value} is not between {low} and {high}, as PostgreSQL requires")
    return str(value)


def _boolean(value: Any) -> int:
    """0 or 1, which COPY writes as f and t."""
    if type(value) is int and value in (0, 1):
        return value
    if value not in ("f", "t"):
        raise ValueError(f"{value!r:.40} is neither true nor false")
    return int(value == "t")


def _decoded(value: bytes) -> str:
    if type(value) is not bytes:
        raise ValueError(f"{value!r:.40} is not text")
    return value.decode()


def _text(at_most: int | None, value: str) -> str:
    if "\x00" in value:
        raise ValueError("text contains the character NUL, which PostgreSQL does not take")
    if at_most is not None and len(value) > at_most:
        raise ValueError(f"text has {len(value):,} characters, but the column takes {at_most:,}")
    return escaped(value)


def _float(value: Any) -> float:
    """Without the sign of zero, which SQLite does not keep."""
    return float(value) + 0.0


def _to_real(value: float) -> float:
    if math.isnan(value):
        raise ValueError("the number is NaN, which SQLite does not keep")
    return value


def _real_decimal(unit: Decimal, value: Any) -> str:
    return _decimal(unit, SQLITE_DIGITS.create_decimal_from_float(value))


def _decimal(unit: Decimal, value: str | Decimal) -> str:
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError(f"{number} is not a decimal number that SQLite keeps")
    return f"{number.quantize(unit) + 0:f}"


def _date(text: str) -> str:
    if not _DATE.fullmatch(text):
        raise ValueError(f"{text!r:.40} is not a date")
    return text


def _moment(text: str) -> str:
    """In UTC, as Django writes it on SQLite, where no zone is written."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return str(moment)


def _uuid(text: str) -> str:
    digits = text.replace("-", "")
    if not _UUID.fullmatch(digits):
        raise ValueError(f"{text!r:.40} is not a UUID")
    return digits


def _bytes(value: Any) -> bytes:
    if type(value) is not bytes:
        raise ValueError(f"{value!r:.40} is not binary data")
    return value


def _hexadecimal(text: str) -> bytes:
    if not text.startswith("\\x"):
        raise ValueError("binary data are not written in hexadecimal digits")
    return bytes.fromhex(text[2:])


def _json(text: str) -> str:
    """One text for all ways to write the value that the site reads, with keys in the order in which jsonb has them.

    >>> _json('{"bb": 1.50, "c": -0.0}')
    '{"c": 0.0, "bb": 1.5}'
    """
    return json.dumps(
        json.loads(text, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_ordered)
    )


def _ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Shorter keys first, in bytes; of equal keys the last one holds."""
    return dict(sorted(pairs, key=lambda pair: (len(key := pair[0].encode()), key)))


def _finite(written: str) -> float:
    number = _float(written)
    if not math.isfinite(number):
        raise ValueError(f"{written[:20]} is not a number that JSON can keep")
    return number


def _to_jsonb(text: str) -> str:
    r"""JSON that reads the same from jsonb, where 1e16 would become a whole number.

    >>> _to_jsonb('["1e+16", 1e+16, 1.5e-7]')
    '["1e+16", 10000000000000000.0, 1.5e-7]'
    """
    if "\\u" in text and (found := _NOT_IN_JSONB.search(_PAIR.sub("", text))):
        raise ValueError(
            f"JSON contains the character U+{found[1]}, which PostgreSQL does not take"
        )
    if "e+" in text:
        text = _LARGE.sub(lambda it: it[0] if it[0][0] == '"' else f"{Decimal(it[0]):f}.0", text)
    return escaped(text)


def _decoding(read: Callable[[str], Value]) -> Convert:
    return lambda value: read(_decoded(value))


_FORMS = {
    "BooleanField": Form(_boolean, _same, _boolean, lambda value: "ft"[value]),
    "FloatField": Form(_float, _to_real, _float, repr),
    "DateField": Form(_decoding(_date), _same, _date, _same),
    "DateTimeField": Form(_decoding(_moment), _same, _moment, lambda text: f"{text}+00"),
    "UUIDField": Form(_decoding(_uuid), _same, _uuid, _same),
    "BinaryField": Form(_bytes, _same, _hexadecimal, lambda value: f"\\\\x{value.hex()}"),
    "JSONField": Form(_decoding(_json), _same, _json, _to_jsonb),
}
