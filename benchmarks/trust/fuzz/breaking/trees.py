"""A JSON document with nodes that are not what they were."""

import json
import random
from typing import Any

from benchmarks.trust.fuzz.breaking.values import LONE, altered, hostile

Path = tuple[str | int, ...]
# As text, since no value of Python's is written like these
RAW = (
    "NaN",
    "-Infinity",
    "1e400",
    "9" * 5000,
    "[" * 2000 + "]" * 2000,
    '{"a":' * 500 + "1" + "}" * 500,
    "tru",
    '"\\ud800"',
    "0x1",
    "-0",
)
MARK = "\ue002raw\ue003"


def broken_json(rng: random.Random, data: bytes) -> bytes:
    """One to three changes to a good document."""
    tree = json.loads(data)
    raw = ""
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.1:
            raw = rng.choice(RAW)
        tree = _break(rng, tree, MARK if raw else None)
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5 or LONE in repr(tree))
    text = text.replace(json.dumps(MARK), raw).replace(f'"{MARK}"', raw)
    if rng.random() < 0.05:
        text = _key_twice(text)
    return text.encode("utf-8", "surrogatepass")


def broken_lines(rng: random.Random, data: bytes) -> bytes:
    """JSON lines: one of them broken, or their order and number."""
    lines = data.splitlines()
    at = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            lines.insert(at, lines[at])
        case 1:
            del lines[at]
        case 2:
            lines[at] = lines[at][: rng.randint(0, len(lines[at]))]
        case _:
            lines[at] = broken_json(rng, lines[at])
    return b"\n".join(lines) + b"\n"


def _paths(tree: Any, at: Path = ()) -> list[Path]:
    found = [at]
    items = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    for name, value in items:
        found += _paths(value, (*at, name))
    return found


def _break(rng: random.Random, tree: Any, given: Any) -> Any:
    path = rng.choice(_paths(tree))
    if not path:
        return given or rng.choice(([], {}, None, 1, "x", [tree], tree))
    parent = tree
    for name in path[:-1]:
        parent = parent[name]
    name, value = path[-1], parent[path[-1]]
    match rng.randrange(6):
        case 0 if isinstance(parent, dict):
            parent[hostile(rng)] = parent.pop(name) if rng.random() < 0.5 else value
        case 1:
            del parent[name]
        case 2 if isinstance(parent, list):
            parent.extend([value] * rng.choice((1, 3)))
        case 3 if isinstance(value, str):
            parent[name] = altered(rng, value)
        case _:
            parent[name] = given or _other(rng, value)
    return tree


def _other(rng: random.Random, value: Any) -> Any:
    number = rng.choice((0, -1, 1.5, 1e308, 2**31, 2**63, 10**30, -(2**63) - 1))
    return rng.choice(
        (
            None,
            True,
            False,
            number,
            number,
            "",
            hostile(rng),
            hostile(rng),
            LONE,
            [],
            {},
            [value],
            {"a": value},
        )
    )


def _key_twice(text: str) -> str:
    start = text.find("{") + 1
    end = text.find(",", start)
    return f"{text[:start]}{text[start:end]},{text[start:]}" if 0 < start < end else text
