"""Conclusions of results: every verdict of their types, with the family that is declared beside it, and those of their values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from analysis.stats.verdicts import Concludes, Verdict

UNSAID = ("UNCLEAR", "TOO_FEW")  # names of what concludes nothing, by which a verdict is known


class Conclusion(NamedTuple):
    """path: of a verdict in the JSON; about: None where nothing is declared beside it."""

    path: str
    about: Concludes | None


def is_verdict(kind: Any) -> bool:
    """True for a type that says on which side something lies, or that there are too few to say."""
    return isinstance(kind, type) and issubclass(kind, Enum) and {*UNSAID} <= {*kind.__members__}


def conclusions(kind: Any, path: str = "", about: Concludes | None = None) -> Iterator[Conclusion]:
    """Conclusions of a type: each verdict among its fields and those of what they hold, and among properties that are declared."""
    if get_origin(kind) is Annotated:
        kind, *others = get_args(kind)
        about = next((one for one in others if isinstance(one, Concludes)), None)
        yield from conclusions(kind, path, about)
    elif is_verdict(kind):
        yield Conclusion(path, about)
    elif get_args(kind):
        for part in get_args(kind):
            yield from conclusions(part, path, about)
    elif isinstance(kind, type) and is_dataclass(kind):
        for name, own in _hints(kind).items():
            yield from conclusions(own, f"{path}.{name}".lstrip("."))


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    found = {field.name: hints[field.name] for field in fields(kind)}
    for name in dir(kind):
        getter = getattr(getattr(kind, name), "fget", None)
        if getter is not None and "verdict" in name:
            found[name] = get_type_hints(getter, include_extras=True)["return"]
    return found


def verdicts_in(found: Any) -> Iterator[Enum]:
    """Every verdict among results, those that are properties as well."""
    if is_verdict(type(found)):
        yield found
    elif is_dataclass(found) and not isinstance(found, type):
        for name in _hints(type(found)):
            yield from verdicts_in(getattr(found, name))
    elif isinstance(found, Mapping):
        for value in found.values():
            yield from verdicts_in(value)
    elif isinstance(found, Sequence) and not isinstance(found, str):
        for value in found:
            yield from verdicts_in(value)


def too_few(found: Any) -> bool:
    """True if results have verdicts, and each of them is that there are too few to say."""
    names = {one.name for one in verdicts_in(found)}
    return names == {Verdict.TOO_FEW.name}
