"""The keys that commands declare: what is printed with `--json` is compared with them, and they are told as nested names."""

import pytest

from lib.commands import ReportingCommand
from lib.shapes import Either, OrNull, faults, tree


def test_a_command_that_prints_another_key_fails_its_test() -> None:
    class Prints(ReportingCommand):
        prints = {"n": int}

    with pytest.raises(AssertionError, match="the key `m` is not declared"):
        Prints().report({"json": False}, {"n": 1, "m": 2}, ())


def test_shapes_tell_cases_lists_and_null_apart() -> None:
    shape = Either(one={"a": [OrNull({"b": str})]}, two={"c?": float, "d": bool | None})
    assert faults(shape, {"a": [None, {"b": "x"}]}) == []
    assert faults(shape, {"d": None}) == faults(shape, {"c": 1, "d": True}) == []
    assert faults(shape, {"c": True, "d": True}) == ["`c` is boolean, and declared as number"]
    assert faults(shape, {"a": {"b": "x"}}) == ["`a` is an object, and declared as a list"]
    assert tree(shape) == {
        "(one)": {"a[]": {"b": "text", "": "or null"}},
        "(two)": {"c": "number, may be missing", "d": "boolean or null"},
    }
