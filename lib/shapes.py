"""The shape of what a command prints with `--json`, declared with the command: its keys, and the types of their values.

    {"study": str, "models": [{"name": str, "accuracy": float | None}], "counts": {str: int}, "error?": str}

A key with "?" may be missing. `{str: ...}` has keys that are data. A dataclass stands for its fields, and `Any` for what is
described elsewhere, such as report.json.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

# A type, a union of types, a dict, a list of one shape, or one of the two classes below
Shape = Any
Tree = dict[str, Any]  # name -> another tree, or a text
WORDS: dict[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
MAY_BE_MISSING = "may be missing"
SELF = ""  # in a tree: what is to be said of the node itself


@dataclass(frozen=True, slots=True)
class OrNull:
    """An object, a list or null."""

    shape: Shape


class Either:
    """One of several shapes, each under the name of the case in which it is printed."""

    def __init__(self, **cases: Shape) -> None:
        self.cases = cases


def faults(shape: Shape, value: Any, at: str = "") -> list[str]:
    """The differences between a shape and a value as JSON gives it back, as sentences without a full stop.

    >>> faults({"n": int, "name?": str, "by": {str: float}}, {"n": 1, "by": {"a": 2}})
    []
    >>> faults({"n": int, "rows": [{"x": float | None}]}, {"rows": [{"x": "1"}], "m": 2})
    ['the key `n` is missing', 'the key `m` is not declared', '`rows[].x` is text, and declared as number or null']
    """
    shape = _plain(shape)
    if shape is Any:
        return []
    if isinstance(shape, tuple):
        return min((faults(one, value, at) for one in shape), key=len)
    if isinstance(shape, dict) and isinstance(value, dict):
        inner = f"{at}." if at else ""
        if str in shape:
            return [f for name, own in value.items() for f in faults(shape[str], own, f"{inner}*")]
        declared = {name.removesuffix("?"): own for name, own in shape.items()}
        return [
            *(f"the key `{inner}{n}` is missing" for n in shape if n[-1] != "?" and n not in value),
            *(f"the key `{inner}{name}` is not declared" for name in value if name not in declared),
            *(
                fault
                for name, own in declared.items()
                if name in value
                for fault in faults(own, value[name], f"{inner}{name}")
            ),
        ]
    if isinstance(shape, list) and isinstance(value, list):
        return list(dict.fromkeys(f for own in value for f in faults(shape[0], own, f"{at}[]")))
    if isinstance(shape, frozenset) and any(_fits(kind, value) for kind in shape):
        return []
    found = _word(value if isinstance(value, dict | list) else frozenset([type(value)]))
    return [f"`{at}` is {found}, and declared as {_word(shape)}"]


def tree(shape: Shape) -> Tree:
    """The keys of a shape, nested; a text says the type.

    >>> tree({"rows": [{"x": float | None}], "by?": {str: int}})
    {'rows[]': {'x': 'number or null'}, 'by': {'*': 'integer', '': 'may be missing'}}
    """
    if isinstance(shape, Either):
        return {f"({name})": tree(own) for name, own in shape.cases.items()}
    found: Tree = {}
    for name, own in _plain(shape).items():
        key = "*" if name is str else name.removesuffix("?")
        remarks = [MAY_BE_MISSING] if name is not str and name.endswith("?") else []
        _describe(key, own, remarks, found)
    return found


def _describe(key: str, shape: Shape, remarks: list[str], into: Tree) -> None:
    shape = _plain(shape)
    if isinstance(shape, tuple):
        simple = [one for one in map(_plain, shape) if isinstance(one, frozenset)]
        remarks = [*remarks, *(f"or {_word(one)}" for one in simple)]
        shape = next(one for one in map(_plain, shape) if one not in simple)
    if isinstance(shape, list):
        _describe(f"{key}[]", shape[0], remarks, into)
    elif isinstance(shape, dict):
        into[key] = tree(shape) | ({SELF: ", ".join(remarks)} if remarks else {})
    else:
        into[key] = ", ".join([_word(shape), *remarks])


def _plain(shape: Shape) -> Shape:
    """A dict, a list of one, Any, a set of simple types, or several shapes of which one holds."""
    origin: Any = get_origin(shape)
    args = get_args(shape)
    if shape is Any or isinstance(shape, dict | list | tuple | frozenset):
        return shape
    if isinstance(shape, OrNull):
        return (shape.shape, frozenset([NoneType]))
    if isinstance(shape, Either):
        return tuple(shape.cases.values())
    if origin in (Union, UnionType):
        return _either([_plain(one) for one in args])
    if origin is Literal:
        return frozenset(type(one) for one in args)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {str: args[1]}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return [args[0]]
    if is_dataclass(shape):
        return get_type_hints(shape)
    # Times, paths, decimals and names of an enumeration are texts
    return frozenset([shape if shape in WORDS else str])


def _either(shapes: list[Shape]) -> Shape:
    if all(isinstance(one, frozenset) for one in shapes):
        return frozenset().union(*shapes)
    return tuple(shapes)


def _fits(kind: type, value: Any) -> bool:
    """True if it is of this type; a whole number is a number, and true is none."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is kind


def _word(shape: Shape) -> str:
    """The name of a plain shape."""
    if isinstance(shape, frozenset):
        return " or ".join(word for kind, word in WORDS.items() if kind in shape)
    return (
        "an object" if isinstance(shape, dict) else "a list" if isinstance(shape, list) else "any"
    )


def fields_of(kind: type) -> dict[str, Shape]:
    """The fields of a dataclass, for a shape that has more."""
    return get_type_hints(kind)
