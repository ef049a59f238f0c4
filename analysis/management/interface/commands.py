"""The commands of `manage.py`: their options, and the keys that they print with `--json`."""

import argparse
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, get_type_hints

from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from analysis.management.interface.ledger import EXCLUDE, REQUIRED
from lib import shapes
from lib.commands import ReportingCommand
from lib.shapes import SELF, WORDS, Tree

APPS = ("lib.jobs", "experiment", "scoring", "analysis")
NUMBERS = {"+": "one or more", "*": "any number", "?": "may be left out"}


@cache
def commands() -> dict[str, BaseCommand]:
    """Ours by name. Those that Django brings are Django's promise, and `benchmarks` is for developers."""
    ours = sorted(name for name, app in get_commands().items() if app in APPS)
    return {name: load_command_class(str(get_commands()[name]), name) for name in ours}


def options() -> Tree:
    return {
        name: of_parser(command.create_parser("manage.py", name))
        for name, command in commands().items()
    }


def printed_keys() -> Tree:
    """The keys of every command that has `--json`. Raises ValueError where a command does not declare them."""
    found: Tree = {"a command that fails": {"error": WORDS[str]}}
    for name, command in commands().items():
        if "--json" in options_of(command.create_parser("manage.py", name)):
            if not isinstance(command, ReportingCommand) or command.prints is None:
                raise ValueError(f"The command {name} has --json: declare its keys as `prints`.")
            if command.prints is not Any:
                found[name] = shapes.tree(command.prints)
    return found


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Those of its subcommands as well."""
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from options_of(inner)


def of_parser(parser: argparse.ArgumentParser) -> Tree:
    found: Tree = {}
    own = [action for action in parser._actions if not set(action.option_strings) & _djangos()]
    positional = 0
    for action in own:
        if isinstance(action, argparse._SubParsersAction):
            found |= {name: of_parser(inner) for name, inner in action.choices.items()}
            continue
        positional += not action.option_strings
        meaning, choices = _meaning(action), [f"= {one}" for one in action.choices or ()]
        for name in action.option_strings or [f"argument {positional}"]:
            found[name] = {SELF: meaning, **dict.fromkeys(choices, "")} if choices else meaning
    for group in parser._mutually_exclusive_groups:
        names = sorted(action.option_strings[0] for action in group._group_actions)
        meaning = f"{EXCLUDE}, and one is {REQUIRED}" if group.required else EXCLUDE
        found |= {f"{a} | {b}": meaning for a, b in combinations(names, 2)}
    return found


@cache
def _djangos() -> frozenset[str]:
    return frozenset(options_of(BaseCommand().create_parser("manage.py", "")))


def _meaning(action: argparse.Action) -> str:
    """The type, how many of them, and what holds where it is left out.

    >>> _meaning(argparse.ArgumentParser().add_argument("--n", type=int, nargs="+", default=[1]))
    'integer, one or more, default [1]'
    >>> _meaning(argparse.ArgumentParser().add_argument("--sure", action="store_true"))
    'flag'
    """
    # An option is a flag where it takes no value
    parts = ["flag" if action.nargs == 0 else _type(action.type)]
    # Versions of Python differ about positional ones that may be left out
    if action.required and (action.option_strings or action.nargs not in ("?", "*")):
        parts.insert(0, REQUIRED)
    if action.nargs:
        parts.append(NUMBERS.get(str(action.nargs), f"{action.nargs} of them"))
    if isinstance(action, argparse._AppendAction):
        parts.append("may be repeated")
    if action.default not in (None, False, "", [], argparse.SUPPRESS):
        default = str(action.default)
        for name in ("VAR_DIR", "BASE_DIR"):
            default = default.replace(str(getattr(settings, name)), name)
        parts.append(f"default {default}")
    return ", ".join(parts)


def _type(kind: Any) -> str:
    """A function that reads the text has the name of what it returns."""
    if kind is not None and not inspect.isclass(kind):
        kind = get_type_hints(kind).get("return", str)
    if kind in (None, str, Path):
        return "path" if kind is Path else "text"
    return WORDS.get(kind) or getattr(kind, "__name__", "text").lower()
