"""Files that only grow: names with their meanings, nested, and the sentences for what must not go or change.

An object holds names; a text is a meaning, and that of an object has the name "". In a file, an object that equals one before it in
the same object is written as "like NAME".
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lib.shapes import SELF, Tree

Names = tuple[str, ...]
VERSION = "version"
LIKE = "like "
# Beginnings of meanings that take something away from what is already there, and may therefore go, but not come
EXCLUDE, REQUIRED = "cannot be combined", "required"
KEEP = (
    "It is public (docs/promises.md): keep it with a warning for at least one minor version, or raise the major version in "
    "pyproject.toml, say in CHANGELOG.md what changes, and run manage.py write_docs interface."
)
DEMAND = (
    "Calls that worked would now fail (docs/promises.md): make it optional, or raise the major version in pyproject.toml, say in "
    "CHANGELOG.md what changes, and run manage.py write_docs interface."
)


def text_of(tree: Tree) -> str:
    """One name a line, sorted, so that a difference can be read."""
    return json.dumps(_shortened(tree), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def read(path: Path) -> Tree:
    """The stored tree; empty where there is none yet."""
    return _whole(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _shortened(tree: Tree) -> Tree:
    """
    >>> _shortened({"a": {"x": "1", "y": "2"}, "b": {"x": "1", "y": "2"}, "c": {"x": "1"}})
    {'a': {'x': '1', 'y': '2'}, 'b': 'like a', 'c': {'x': '1'}}
    >>> _whole(_)
    {'a': {'x': '1', 'y': '2'}, 'b': {'x': '1', 'y': '2'}, 'c': {'x': '1'}}
    """
    found: Tree = {}
    for name in sorted(tree):
        own = tree[name]
        same = (
            [n for n in found if tree[n] == own] if isinstance(own, dict) and len(own) > 1 else []
        )
        found[name] = (
            f"{LIKE}{same[0]}" if same else _shortened(own) if isinstance(own, dict) else own
        )
    return found


def _whole(tree: Tree) -> Tree:
    found: Tree = {}
    for name in sorted(tree):  # one comes before those that are like it
        own = tree[name]
        if isinstance(own, str) and own.startswith(LIKE):
            own = found[own.removeprefix(LIKE)]
        found[name] = _whole(own) if isinstance(own, dict) else own
    return found


def major(tree: Mapping[str, Any]) -> int:
    return int(str(tree.get(VERSION, "0")).partition(".")[0])


def breaks(before: Tree, now: Tree) -> list[str]:
    """A sentence for each public name that is gone or means something else, though the major version is the same.

    >>> before = {"version": "1.0.0", "settings": {"PORT": "integer(8000)", "HTTPS": "flag(False)"}}
    >>> for sentence in breaks(before, {"version": "1.1.0", "settings": {"PORT": "integer(80)"}}):
    ...     print(sentence.partition(" It is")[0])
    The setting `PORT` means something else: it was “integer(8000)” and is “integer(80)”.
    The setting `HTTPS` is gone.
    >>> breaks(before, {"version": "2.0.0"})
    []
    """
    if major(now) > major(before):
        return []
    return [f"{sentence} {advice}" for sentence, advice in _differences(before, now, ())]


def changed_migrations(before: Tree, now: Tree) -> list[str]:
    """A sentence for each migration that is not as it was written, whatever the version."""
    return [
        f"The migration {app}.{name} {'has changed' if name in now.get(app, {}) else 'is gone'}. Sites have applied it as it "
        "was (docs/promises.md): put it back, and write a new migration for the change."
        for app, names in before.items()
        for name, digest in names.items()
        if now.get(app, {}).get(name) != digest
    ]


def _differences(before: Tree, now: Tree, at: Names) -> Iterator[tuple[str, str]]:
    """Sentences, each with what to do about it."""
    for name, old in before.items():
        place, new = (*at, name), now.get(name, "" if name == SELF else None)
        if new is None:
            if not str(old).startswith(EXCLUDE):
                yield f"{said(place)} is gone.", KEEP
        elif isinstance(old, dict) or isinstance(new, dict):
            yield from _differences(_node(old), _node(new), place)
        elif new != old and place != (VERSION,):
            yield f"{said(place)} means something else: it was “{old}” and is “{new}”.", KEEP
    for name in sorted(now.keys() - before.keys()) if at else ():
        meaning = str(_node(now[name]).get(SELF, ""))
        # A new option that excludes another takes nothing from calls without it
        one, _, other = name.partition(" | ")
        if meaning.startswith(EXCLUDE) and before.keys() >= {one, other}:
            yield f"{said((*at, one))} {meaning} with `{other}`.", DEMAND
        elif meaning.startswith(REQUIRED):
            yield f"{said((*at, name))} is new and required.", DEMAND


def _node(meaning: Tree | str) -> Tree:
    return {SELF: meaning} if isinstance(meaning, str) else meaning


# Part of the file -> how a name in it is called, by its first name and the rest; and how the first is called by itself
CALLED = {
    "addresses": ("", "The address `FIRST`"),
    "api": ("The REST of `FIRST` in the API", "The address `FIRST` of the API"),
    "columns": ("The column `REST` of the FIRST", "The FIRST"),
    "commands": ("The option `REST` of the command `FIRST`", "The command `FIRST`"),
    "exit statuses": ("", "The exit status `FIRST`"),
    "json": ("The key `REST` of `FIRST --json`", "The output of `FIRST --json`"),
    "keys": ("The key `REST` of FIRST", "The form of FIRST"),
    "python": ("The part `REST` of `FIRST`", "The function `FIRST`"),
    "settings": ("", "The setting `FIRST`"),
}


def said(place: Names) -> str:
    """The name, as a sentence begins with it.

    >>> said(("columns", "export of trials", "confidence")), said(("json", "score", "runs[]", "model"))
    ('The column `confidence` of the export of trials', 'The key `runs[].model` of `score --json`')
    >>> said(("commands", "score")), said(("commands", "score", "--method", "= choice"))
    ('The command `score`', 'The value `choice` of the option `--method` of the command `score`')
    >>> said(("api", "GET /runs/", "200", "results[]", "id")), said(("api", "GET /runs/", "?limit"))
    ('The field `results[].id` in answer 200 of `GET /runs/` in the API', 'The parameter `limit` of `GET /runs/` in the API')
    """
    if len(place) == 1:
        return f"The part `{place[0]}` of the list"
    part, first, *rest = place
    if rest and rest[-1].startswith("= "):
        whole = said(place[:-1])
        return f"The value `{rest[-1].removeprefix('= ')}` of {whole[:1].lower()}{whole[1:]}"
    names = (" " if part == "commands" else ".").join(name for name in rest if name != SELF)
    if part == "api" and names:
        top, _, field = names.partition(".")
        where = "the body" if top == "body" else f"answer {top}"
        names = f"field `{field}` in {where}" if field else where
        names = f"parameter `{top.removeprefix('?')}`" if top.startswith("?") else names
    of_first, alone = CALLED[part]
    return (of_first if names else alone).replace("FIRST", first).replace("REST", names)
