"""Numbers as sentences and tables show them. An unknown number, None or NaN, becomes a dash."""
# ruff: noqa: RUF001, RUF002  (a minus sign is one, and is no hyphen)

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TypeGuard

DASH = "–"
MINUS = "−"
NO_BREAK = "\N{NO-BREAK SPACE}"  # between the words of one number
EXACT = 15  # digits of a float that say what was meant: 28.5, and not 28.499999999999996


def is_known(value: float | None) -> TypeGuard[float]:
    """True if there is a number at all."""
    return value is not None and not math.isnan(value)


def known(value: float | None) -> float | None:
    """The number, or None where there is none: what `{% if %}` tests."""
    return value if is_known(value) else None


def number(value: float | None, digits: int = 2) -> str:
    """Rounded for reading, halves away from zero, with a true minus sign and commas between thousands.

    >>> number(-1234.5, 1), number(None), number(-0.0001), number(12.5, 0)
    ('−1,234.5', '–', '0.00', '13')
    """
    if not is_known(value):
        return DASH
    if abs(value) < 10 ** (EXACT - digits):
        exact = Decimal(f"{value:.{EXACT}g}")
        text = f"{exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,f}"
    else:
        text = f"{value:,.{digits}f}"
    if not text.strip("-0.,"):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def compact(value: float | None) -> str:
    """Three significant digits, for numbers of unknown size.

    >>> compact(0.000274), compact(604.34), compact(-2.5), compact(999.6)
    ('0.000274', '604', '−2.5', '1,000')
    """
    if not is_known(value):
        return DASH
    three = Context(prec=3, rounding=ROUND_HALF_UP).create_decimal(f"{value:.{EXACT}g}")
    if abs(three) >= 1000:
        return number(value, 0)
    return f"{float(three):,.3g}".replace("-", MINUS)


def median(value: float | None) -> str:
    """A median of whole numbers, which can lie halfway between two of them.

    >>> median(16.0), median(16.5), median(None)
    ('16', '16.5', '–')
    """
    return number(value, 1 if is_known(value) and value % 1 else 0)


def percent(share: float | None, digits: int = 1) -> str:
    """A share as percent.

    >>> percent(0.634026), percent(None)
    ('63.4%', '–')
    """
    return f"{number(100 * share, digits)}%" if is_known(share) else DASH


def points(difference: float | None, digits: int = 1) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> points(0.1803), points(-0.02)
    ('+18.0', '−2.0')
    """
    if not is_known(difference):
        return DASH
    text = number(100 * difference, digits)
    return text if text.startswith(MINUS) or not text.strip("0.") else f"+{text}"


def percentage_points(difference: float | None, digits: int = 1) -> str:
    """The same without a plus sign, for sentences that name the direction.

    >>> percentage_points(0.1803), percentage_points(-0.02)
    ('18.0', '−2.0')
    """
    return number(100 * difference if is_known(difference) else None, digits)


def share_interval(ci95: Sequence[float | None] | None) -> str:
    """An interval of a share.

    >>> share_interval([0.604, 0.663]), share_interval(None)
    ('60.4% to 66.3%', '–')
    """
    return _interval(ci95, percent)


def points_interval(ci95: Sequence[float | None] | None) -> str:
    """An interval of a difference in percentage points."""
    return _interval(ci95, points)


def interval(ci95: Sequence[float | None] | None, digits: int = 2) -> str:
    """An interval of any number."""
    return _interval(ci95, lambda value: number(value, digits))


def coefficient_interval(ci95: Sequence[float | None] | None) -> str:
    """An interval of a correlation."""
    return _interval(ci95, coefficient)


def seconds(ms: float | None) -> str:
    """Milliseconds as whole seconds."""
    return number(ms / 1000 if is_known(ms) else None, 0)


def compact_interval(ci95: Sequence[float | None] | None) -> str:
    """An interval of numbers of unknown size."""
    return _interval(ci95, compact)


def _interval(ci95: Sequence[float | None] | None, show: Callable[[float], str]) -> str:
    if not ci95 or not (is_known(ci95[0]) and is_known(ci95[1])):
        return DASH
    return f"{show(ci95[0])} to {show(ci95[1])}"


def p_value(p: float | None) -> str:
    """A p value as journals print it.

    >>> [p_value(p).replace(NO_BREAK, " ") for p in (0.0026, 1e-9, 1.0)]
    ['p = .003', 'p < .001', 'p > .999']
    """
    if not is_known(p):
        return f"p{NO_BREAK}{DASH}"
    relation, digits = _rounded_p(p)
    return NO_BREAK.join(("p", relation or "=", digits))


def p_cell(p: float | None) -> str:
    """The same for a column that is headed p.

    >>> p_cell(0.0026), p_cell(1e-9), p_cell(None)
    ('.003', '< .001', '–')
    """
    return " ".join(_rounded_p(p)).lstrip() if is_known(p) else DASH


def _rounded_p(p: float) -> tuple[str, str]:
    """Its sign where it is beyond what three digits show, else "", and the digits."""
    if p < 0.001:
        return "<", ".001"
    return (">", ".999") if p >= 0.9995 else ("", number(p, 3).replace("0.", "."))


def coefficient(value: float | None) -> str:
    """A correlation: three digits, no leading zero.

    >>> coefficient(0.7483), coefficient(-0.05), coefficient(1.0)
    ('.748', '−.050', '1.000')
    """
    return number(value, 3).replace("0.", ".", 1) if is_known(value) else DASH


def count(n: float | None, noun: str, plural: str = "") -> str:
    """A number with its noun; `plural` where this is not the noun with an s.

    >>> count(1, "trial"), count(1011, "trial"), count(0, "person", "people")
    ('1 trial', '1,011 trials', '0 people')
    """
    return f"{number(n, 0)} {noun if n == 1 else plural or f'{noun}s'}"


def verb(n: float, singular: str, plural: str) -> str:
    """The form that follows a number.

    >>> verb(1, "was", "were"), verb(2, "was", "were")
    ('was', 'were')
    """
    return singular if n == 1 else plural


def listing(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> listing(["a"]), listing(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def with_interval(value: str, shown: str, what: str = "95% CI") -> str:
    """A number with its interval in brackets, where there is one.

    >>> with_interval("63.4%", "60.4% to 66.3%"), with_interval("63.4%", "–")
    ('63.4% (95% CI 60.4% to 66.3%)', '63.4%')
    """
    return value if shown == DASH else f"{value} ({what} {shown})"
