"""Typed results to JSON and back: the one place where an object becomes a dictionary. Knows neither Django nor torch.

A dataclass becomes an object with its fields as keys, at full precision. NaN and infinity become null, and null becomes
NaN where the field is a number. `flattened`, `renamed` and `optional` say where a key differs from its field, so that the
files keep their form while the code has the objects it needs.
"""

import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from datetime import date
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from analysis.stats import MissingResult as MissingResult
from analysis.stats import NotEnough

T = TypeVar("T")


class CodecError(ValueError):
    """A value that does not fit its type; the message names the place."""


def try_estimate(estimate: Callable[..., T], *args: Any, **kwargs: Any) -> T | MissingResult:
    """The estimate, or why there is none, where the data of one number are too few and the rest stays.

    >>> def never(x):
    ...     raise NotEnough("There is one model.", "Two are needed.")
    >>> try_estimate(max, [1, 2]), try_estimate(never, 1)
    (2, MissingResult(reason='There is one model.', needed='Two are needed.'))
    """
    try:
        return estimate(*args, **kwargs)
    except NotEnough as error:
        return MissingResult.of(error)


def present(value: T | MissingResult | None) -> T | None:
    """The value, or None where it is missing."""
    return None if isinstance(value, MissingResult) else value


def need(value: T | MissingResult) -> T:
    """The value; raises NotEnough with its own reason where it is missing."""
    if isinstance(value, MissingResult):
        raise NotEnough(value.reason, value.needed)
    return value


def flattened(**renames: str) -> Any:
    """A field whose object's keys stand in the parent's JSON: `share: Proportion = flattened(n="n_trials")`."""
    return field(metadata={"flatten": True, "renames": renames})


def renamed(key: str) -> Any:
    """A field with another key in JSON."""
    return field(metadata={"json": key})


def optional() -> Any:
    """A field that JSON leaves out while it is None."""
    return field(default=None, metadata={"omit_none": True})


# --- to JSON


def to_json(value: Any) -> Any:
    """The value as JSON can hold it.

    >>> to_json(np.float64(0.5)), to_json((1, np.nan)), to_json({"p": np.bool_(True)})
    (0.5, [1, None], {'p': True})
    """
    if isinstance(value, Enum):
        return to_json(value.value)
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float | np.generic):
        number = value.item() if isinstance(value, np.generic) else value
        return None if isinstance(number, float) and not math.isfinite(number) else number
    return _collection_to_json(value)


def _collection_to_json(value: Any) -> Any:
    match value:
        case date():  # a datetime is one too
            return value.isoformat()
        case np.ndarray():
            return [to_json(x) for x in value.tolist()]
        case pd.DataFrame():
            return [to_json(row) for row in value.to_dict("records")]
        case Mapping():
            return {str(name): to_json(x) for name, x in value.items()}
        case Sequence():
            return [to_json(x) for x in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _object_to_json(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _object_to_json(value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for f in fields(value):
        inner = getattr(value, f.name)
        if f.metadata.get("omit_none") and inner is None:
            continue
        found = to_json(inner)
        if f.metadata.get("flatten"):
            renames = f.metadata["renames"]
            out |= {renames.get(key, key): x for key, x in (found or {}).items()}
        else:
            out[_key(f)] = found
    return out


def _key(f: "Field[Any]") -> str:
    return str(f.metadata.get("json", f.name))


# --- from JSON


def from_json(kind: Any, value: Any, place: str = "") -> Any:
    """The object of type `kind` that `to_json` made `value` from.

    >>> from_json(MissingResult, {"reason": "No.", "needed": ""}).reason
    'No.'
    >>> from_json(tuple[float, ...], [1, None])
    (1.0, nan)

    Raises:
        CodecError: a key is missing, or a value is of another type; the message names the place.
    """
    origin = get_origin(kind)
    if kind is Any or isinstance(kind, TypeVar):
        return value
    if origin in (Union, types.UnionType):
        return _union_from_json(get_args(kind), value, place)
    if origin is Literal or kind in (str, int, bool, float, type(None)):
        return _scalar_from_json(kind, value, place)
    if is_dataclass(kind):
        return _object_from_json(kind, value, place)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    if isinstance(kind, type) and issubclass(kind, date):
        return kind.fromisoformat(value)
    return _collection_from_json(kind, origin or kind, value, place)


def _scalar_from_json(kind: Any, value: Any, place: str) -> Any:
    if kind is float and (value is None or (isinstance(value, int) and value is not True)):
        return math.nan if value is None else float(value)
    if get_origin(kind) is not Literal and not isinstance(value, kind):
        raise CodecError(f"{place}: {value!r} is not of type {kind.__name__}")
    return value


def _collection_from_json(kind: Any, origin: Any, value: Any, place: str) -> Any:
    args = get_args(kind)
    if origin is np.ndarray:
        return np.array([np.nan if x is None else x for x in value])
    if not isinstance(value, Sequence | Mapping) or isinstance(value, str):
        raise CodecError(f"{place}: {value!r} is no list or object")
    if isinstance(origin, type) and issubclass(origin, Mapping):
        inner = args[1] if args else Any
        return {key: from_json(inner, x, f"{place}.{key}") for key, x in dict(value).items()}
    if origin is tuple and args and args[-1] is not Ellipsis:
        kinds: Sequence[Any] = args
    else:
        kinds = [args[0] if args else Any] * len(value)
    if len(kinds) != len(value):
        raise CodecError(f"{place}: {len(value)} values in the place of {len(kinds)}")
    found = [
        from_json(k, x, f"{place}[{n}]") for n, (k, x) in enumerate(zip(kinds, value, strict=True))
    ]
    return found if origin is list else tuple(found)


def _union_from_json(kinds: Sequence[Any], value: Any, place: str) -> Any:
    """The first type that fits: null is None where None is allowed, an object with a reason is a missing result."""
    if value is None and type(None) in kinds:
        return None
    if MissingResult in kinds and isinstance(value, Mapping) and set(value) == {"reason", "needed"}:
        return from_json(MissingResult, value, place)
    error = CodecError(f"{place}: {value!r} fits no type")
    for kind in kinds:
        if kind in (MissingResult, type(None)):
            continue
        try:
            return from_json(kind, value, place)
        except CodecError as found:
            error = found
    raise error


def _object_from_json(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, Mapping):
        raise CodecError(f"{place}: {value!r} is no object")
    found = {}
    for f, hint in _fields(kind):
        where = f"{place}.{f.name}"
        if f.metadata.get("flatten"):
            found[f.name] = _flattened_from_json(f, hint, value, where)
        elif _key(f) in value:
            found[f.name] = from_json(hint, value[_key(f)], where)
        elif f.default is MISSING and f.default_factory is MISSING:
            raise CodecError(f"{where} is missing")
    return kind(**found)


def _flattened_from_json(f: "Field[Any]", hint: Any, value: Mapping[str, Any], where: str) -> Any:
    back = {key: name for name, key in f.metadata["renames"].items()}
    hidden = set(f.metadata["renames"]) - set(back)  # keys that here mean something else
    inner = {back.get(key, key): x for key, x in value.items() if key not in hidden}
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        if option is type(None) or option is MissingResult:
            continue
        if _has_keys(option, inner):
            return from_json(option, inner, where)
    if MissingResult in options and "reason" in inner:
        return from_json(MissingResult, inner, where)
    if type(None) in options:
        return None
    raise CodecError(f"{where}: its keys are missing")


def _has_keys(kind: Any, value: Mapping[str, Any]) -> bool:
    needed = (
        _key(f)
        for f, _ in _fields(kind)
        if f.default is MISSING and f.default_factory is MISSING and not f.metadata.get("flatten")
    )
    return all(key in value for key in needed)


@cache
def _fields(kind: Any) -> list[tuple["Field[Any]", Any]]:
    hints = get_type_hints(kind)
    return [(f, hints[f.name]) for f in fields(kind)]


def tidy_table(rows: Iterable[Any], columns: Sequence[str]) -> pd.DataFrame:
    """These columns of results as JSON has them; ci_low and ci_high are the ends of `ci95`; NaN where a row lacks one.

    >>> tidy_table([{"n": 2, "ci95": [0.1, 0.9]}], ("n", "ci_low", "ci_high")).to_dict("records")
    [{'n': 2, 'ci_low': 0.1, 'ci_high': 0.9}]
    """
    entries = []
    for row in rows:
        entry = dict(to_json(row))
        low, high = entry.get("ci95") or (np.nan, np.nan)
        entries.append(entry | {"ci_low": low, "ci_high": high})
    return pd.DataFrame(
        [[entry.get(c, np.nan) for c in columns] for entry in entries], columns=list(columns)
    )
