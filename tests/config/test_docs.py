"""The docs name only existing things: files and tests, places that links lead to, commands with their options, and settings."""

import argparse
import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from lib.api.schema import description

ROOT = Path(__file__).resolve().parents[2]
TRACKED = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()
# Those of templates/ are parts of files that the site writes; the changelog names what was
PAGES = [
    file
    for file in TRACKED
    if file.endswith(".md") and not file.startswith("templates/") and file != "CHANGELOG.md"
]
PROVED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
ROW = re.compile(r"^\| (?:V\d+|\d+\.\d+\.\d+)[^|]*\|[^|]+\|(.*)\|$", re.MULTILINE)
WORD = re.compile(r"`[^`\n]+`")
FILE = re.compile(r"(?<![\w./*{>])(?:\.\./)?((?![\w/]*[A-Z]{2})\w[\w/-]*\.(?:py|html|js|toml))\b")
TEST = re.compile(r"\b(?:test(?:_[a-z0-9]+){3,}|Test\w+)\b(?!\.)")  # names are sentences
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
COMMAND = re.compile(r"(?:manage\.py |`)([a-z_]+)\b([^`\n]*)")
OPTION = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*")
SETTING = re.compile(r"env\.\w+\(\s*\"([A-Z_]+)\"", re.MULTILINE)


def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def test_each_row_of_security_names_a_test() -> None:
    rows = ROW.findall(text_of("docs/security.md"))
    assert len(rows) > 30
    named = [PROVED.fullmatch(row.strip()) for row in rows]
    assert all(named)
    pairs = [(found[1], found[2]) for found in named if found]
    assert [(file, test) for file, test in pairs if test and test not in functions_of(file)] == []


@cache
def functions_of(file: str) -> frozenset[str]:
    """The names of all functions and classes of a file."""
    nodes = ast.walk(ast.parse(text_of(file)))
    return frozenset(n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef))


@cache
def known_tests() -> frozenset[str]:
    """Those of all files of tests/."""
    files = [f for f in TRACKED if f.startswith("tests/") and f.endswith(".py")]
    return frozenset().union(*map(functions_of, files))


@pytest.mark.parametrize("page", PAGES)
def test_every_file_and_test_that_a_page_names_exists(page: str) -> None:
    words = " ".join(WORD.findall(text_of(page)))
    ends = tuple(f"/{file}" for file in TRACKED)
    files = [f for f in FILE.findall(words) if not any(end.endswith(f"/{f}") for end in ends)]
    assert files + [test for test in TEST.findall(words) if test not in known_tests()] == []


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as the sites make them that show it."""
    plain = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", h.lower()) for h in HEADING.findall(text_of(page))
    )
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_within_the_repository_leads_somewhere(page: str) -> None:
    dead = []
    for path, anchor in LINK.findall(text_of(page)):
        place = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        file = str(place.relative_to(ROOT))
        if not place.exists() or (anchor and anchor not in anchors(file)):
            dead.append(f"{path}#{anchor}")
    assert dead == []


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            for parsers in action.choices.values():
                yield from options_of(parsers)


@cache
def options(command: str) -> frozenset[str]:
    app = get_commands()[command]
    assert isinstance(app, str)
    return frozenset(
        options_of(load_command_class(app, command).create_parser("manage.py", command))
    )


@pytest.mark.parametrize("page", [*PAGES, "Makefile"])
def test_every_command_and_option_that_a_page_names_exists(page: str) -> None:
    text = re.sub(r"\\\n", " ", text_of(page))
    asked = [(name, rest) for name, rest in COMMAND.findall(text) if name in get_commands()]
    assert [
        f"{name} {option}"
        for name, rest in asked
        for option in OPTION.findall(rest)
        if option not in options(name)
    ] == []
    assert [
        n for n in re.findall(r"manage\.py ([a-z_]+)", text) if n not in {*get_commands(), "help"}
    ] == []


def test_commands_has_a_row_of_every_command() -> None:
    ours = {
        name
        for name, app in get_commands().items()
        if app in {"lib", "lib.jobs", "experiment", "scoring", "analysis"}
    }
    assert len(ours) > 40
    page = text_of("docs/commands.md")
    assert {name for name in ours if f"| `{name}" not in page} == set()


def test_operations_has_a_row_of_every_setting() -> None:
    read = {
        name
        for file in (
            "config/settings.py",
            "config/gunicorn.py",
            "config/listening.py",
            "config/logs.py",
        )
        for name in SETTING.findall(text_of(file))
    }
    assert len(read) > 30
    page = text_of("docs/operations.md")
    read -= {"SERVES_PAGES", "PROMETHEUS_MULTIPROC_DIR"}  # config/gunicorn.py sets them
    assert {name for name in read if f"`{name}`" not in page} == set()


def test_api_has_a_row_of_every_table() -> None:
    described = description().decode()
    tables = set(re.findall(r"^  /api/v1/studies/{slug}/([a-z-]+)/", described, re.MULTILINE))
    assert len(tables) > 10
    page = text_of("docs/api.md")
    assert {table for table in tables if not re.search(rf"[`/]{table}/", page)} == set()
