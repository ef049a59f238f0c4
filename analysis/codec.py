"""Typed results to JSON and back, by pydantic: the one place where an object becomes a dictionary. Knows neither Django nor torch.

A dataclass becomes an object with its fields as keys, at full precision. NaN and infinity become null, and null becomes
NaN where the field is a number.
"""

import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pydantic_core
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaValidator, ValidationError, core_schema

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


def to_json(value: Any) -> Any:
    """The value as JSON can hold it.

    >>> to_json(np.float64(0.5)), to_json((1, np.nan)), to_json({"p": np.bool_(True)})
    (0.5, [1, None], {'p': True})
    """
    return json.loads(pydantic_core.to_json(value, inf_nan_mode="null", fallback=_plain))


def _plain(value: Any) -> Any:
    """Value that pydantic does not know, in types that it knows."""
    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, pd.DataFrame):
        return value.to_dict("records")
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def from_json(kind: Any, value: Any, place: str = "") -> Any:
    """The object of type `kind` that `to_json` made `value` from.

    >>> from_json(MissingResult, {"reason": "No.", "needed": ""}).reason
    'No.'
    >>> from_json(tuple[float, ...], [1, None])
    (1.0, nan)

    Raises:
        CodecError: a key is missing, or a value is of another type; the message names the place.
    """
    try:
        return _validator(kind).validate_python(value)
    except ValidationError as error:
        raise CodecError(f"{place}: {error}") from error


@cache
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_with_nan(TypeAdapter(kind).core_schema))


def _with_nan(schema: Any) -> Any:
    """The same, but numbers take null as NaN, unless their field allows None."""
    if isinstance(schema, list | tuple):
        return type(schema)(_with_nan(part) for part in schema)
    if not isinstance(schema, dict):
        return schema
    parts = {
        name: part if name in ("metadata", "serialization") else _with_nan(part)
        for name, part in schema.items()
    }
    if parts.get("type") != "float":
        return parts
    return core_schema.no_info_before_validator_function(
        lambda value: math.nan if value is None else value, core_schema.float_schema()
    )


def json_schema(kind: Any) -> dict[str, Any]:
    """JSON Schema of what `to_json` makes of objects of this type."""
    schema = TypeAdapter(kind).json_schema(mode="serialization", schema_generator=_Numbers)
    return dict(to_json(schema))


class _Numbers(GenerateJsonSchema):
    """A number that is not known is null; keys are their own titles."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def float_schema(self, schema: core_schema.FloatSchema) -> dict[str, Any]:
        return {"type": ["number", "null"]}
