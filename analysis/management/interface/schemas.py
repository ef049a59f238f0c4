"""JSON Schemas and the description of the API as nested names."""

from collections.abc import Mapping
from typing import Any

import yaml

from analysis.management.interface.ledger import REQUIRED
from lib.api.schema import description
from lib.shapes import SELF, Tree

WORDS = {"string": "text", "object": "an object", "array": "a list"}
JSON = "application/json"
MISSING = {"reason", "needed"}  # in the place of any part of a report that the data cannot support
Schema = Mapping[str, Any]


def keys_of(schema: Schema, whole: Schema | None = None) -> Tree:
    """The keys of what a JSON Schema describes, nested; alternatives are put together.

    >>> keys_of({"properties": {"a": {"items": {"properties": {"n": {"type": "integer"}}}}, "b": {"enum": ["x"]}}, "required": ["a"]})
    {'a[]': {'n': 'integer, may be missing'}, 'b': {'= x': '', '': 'text, may be missing'}}
    """
    found: Tree = {}
    _walk("", schema, schema if whole is None else whole, found, [])
    inner = found.get("", {})
    return inner if isinstance(inner, dict) else {}


def _walk(name: str, schema: Schema, whole: Schema, into: Tree, remarks: list[str]) -> None:
    kinds: set[str] = set()
    node: Tree = {}
    for one in _alternatives(schema, whole):
        if set(one.get("properties", ())) == MISSING:
            remarks = [*remarks, "or why there is none"]
            continue
        if "items" in one:
            _walk(f"{name}[]", one["items"], whole, into, remarks)
            continue
        for key, own in one.get("properties", {}).items():
            missing = [] if key in one.get("required", ()) else ["may be missing"]
            _walk(key, own, whole, node, missing)
        if isinstance(more := one.get("additionalProperties"), Mapping):
            _walk("*", more, whole, node, [])
        node |= {f"= {value}": "" for value in one.get("enum", ()) if value is not None}
        if "properties" not in one and not isinstance(more, Mapping):
            types = one.get("type", "string" if "enum" in one else "any")
            kinds |= {types} if isinstance(types, str) else set(types)
    if not (kinds or node):
        return
    meaning = " or ".join(WORDS.get(kind, kind) for kind in sorted(kinds))
    meaning = ", ".join([*([meaning] if meaning else []), *remarks])
    known = into.get(name)
    if isinstance(known, dict):
        node = known | node
    into[name] = (node | ({SELF: meaning} if meaning else {})) if node else meaning


def _alternatives(schema: Schema, whole: Schema) -> list[Schema]:
    if "$ref" in schema:
        found: Any = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return _alternatives(found, whole)
    several = next((schema[word] for word in ("anyOf", "oneOf", "allOf") if word in schema), None)
    return [schema] if several is None else [o for s in several for o in _alternatives(s, whole)]


def api() -> Tree:
    """Addresses with their methods; of each, parameters, the keys of its body, and those of each answer by its status."""
    whole = yaml.safe_load(description())
    found: Tree = {}
    for address, methods in whole["paths"].items():
        for method, about in methods.items():
            node: Tree = {}
            for parameter in about.get("parameters", ()):
                if parameter["in"] == "path":
                    continue  # the address names it
                remarks = [REQUIRED] if parameter.get("required") else []
                _walk(f"?{parameter['name']}", parameter["schema"], whole, node, remarks)
                _say_default(node, f"?{parameter['name']}", parameter["schema"])
            if body := about.get("requestBody"):
                node["body"] = _required_first(keys_of(body["content"][JSON]["schema"], whole))
            for status, answer in about["responses"].items():
                content = answer.get("content", {}).get(JSON)
                node[status] = (content and keys_of(content["schema"], whole)) or ""
            found[f"{method.upper()} {address}"] = node
    problem = whole["components"]["schemas"]["Problem"]
    return found | {"problems": keys_of(problem, whole)}


def _say_default(node: Tree, name: str, schema: Schema) -> None:
    if "default" in schema:
        own = node[name] if isinstance(node[name], dict) else {SELF: node[name]}
        node[name] = own | {SELF: f"{own.get(SELF, 'text')}, default {schema['default']}"}


def _required_first(body: Tree) -> Tree:
    """The fields that a caller must send, marked as such: a new one would break calls."""

    def marked(meaning: str) -> str:
        optional = ", may be missing"
        is_optional = meaning.endswith(optional)
        return meaning.removesuffix(optional) if is_optional else f"{REQUIRED}, {meaning}"

    return {
        name: own | {SELF: marked(own.get(SELF, "an object"))}
        if isinstance(own, dict)
        else marked(own)
        for name, own in body.items()
    }
