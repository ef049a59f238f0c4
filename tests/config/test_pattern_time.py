"""No pattern of ours takes a time that grows with the square of a text: neither Python's nor a browser's.

Each is asked to search texts that are made of its own repeats, so long that the square of their length takes many seconds, and a
single pass milliseconds.
"""

import ast
import re
import signal
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

from tests.config.test_code_security import ROOT

SITE = ("config", "lib", "experiment", "scoring", "analysis")
FUNCTIONS = re.compile(r"re\.(compile|search|sub|subn|split|finditer|findall|match|fullmatch)")
WHOLE = {"match", "fullmatch"}
LENGTH, MOST_S = 150_000, 2.0
MANY, MOST_SAMPLES = 1_000, 12
CHARACTERS = "aZ7 \n\t-,.<>\"'[](){}|/=:;_%&#\\*\u00e9\u2010"
AROUND = (("", "\x00"), ("\x00", "x"), ("x", "x"))  # what most repeats do not take
REPEATS = {sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT}
# What is searched cannot be long, and why
BOUNDED = {
    "experiment/domain/recruitment_ids.py: '(?=.*\\\\d)[0-9a-f]{24}'": "compared with whole IDs",
    "experiment/domain/recruitment_ids.py: '(?=.*\\\\d)[0-9A-Z]{10,}'": "compared with whole IDs",
    "experiment/imports/read/repair.py: ALTERNATION": "published texts, read in a process with a limit of time",
    "analysis/report/replication/values.py: STEP": "paths that are written in this repository",
    "analysis/report/replication/values.py: CONDITION": "paths that are written in this repository",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A pattern where it is written, and by which methods texts are looked at."""

    where: str
    pattern: re.Pattern[Any]
    method: str


def of_python() -> Iterator[Found]:
    texts = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for folder in SITE
        for path in sorted(Path(ROOT, folder).rglob("*.py"))
    }
    used = {path: methods_by_name(text) for path, text in texts.items()}
    everywhere = methods_by_name("\n".join(texts.values()))
    for path, text in texts.items():
        if "import re" not in text:
            continue
        tree = ast.parse(text)
        top = {id(node.value) for node in tree.body if isinstance(node, ast.Assign)}
        named = {
            id(node.value): ast.unparse(node.targets[0])
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign)
        }
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args):
            if not (function := FUNCTIONS.fullmatch(ast.unparse(call.func))):
                continue
            name = named.get(id(call), "") if function[1] == "compile" else ""
            where = f"{path}: {name or ast.unparse(call.args[0])}"
            methods = (used[path] if name.startswith("_") else everywhere)[name]
            methods = methods if name else {function[1]}
            method = max(methods) if methods and methods <= WHOLE else "search"
            if isinstance(call.args[0], ast.Constant):
                yield Found(where, re.compile(call.args[0].value, flags(call)), method)
            elif id(call) in top:
                module = import_module(path.removesuffix(".py").replace("/", "."))
                yield Found(where, getattr(module, name), method)


def methods_by_name(text: str) -> Mapping[str, set[str]]:
    found = defaultdict[str, set[str]](set)
    for name, method in re.findall(r"\b(\w+)\.([a-z]+)\b", text):
        found[name].add(method)
    return found


def flags(call: ast.Call) -> int:
    said = " ".join(ast.unparse(node) for node in (*call.args[1:], *call.keywords))
    return sum(getattr(re, name) for name in re.findall(r"\bre\.([A-Z]+)", said))


# A pattern between slashes, where an expression may begin
_LITERAL = re.compile(
    r"(?<=[(=,:\s])/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*+\]|[^/\\\[\n])++)/[a-z]*+(?=[.,;)\s])"
)
IN_PYTHON = {
    r"\p{Ll}": "a-z",
    r"\p{Lu}": "A-Z",
    r"\p{L}": "a-zA-Z",
    r"\p{N}": "0-9",
    r"\p{M}": "",
    "[^]": r"[\s\S]",
}


def of_scripts() -> Iterator[Found]:
    """Python's patterns repeat as a browser's do."""
    for path in sorted(Path(ROOT, "static", "js").rglob("*.js")):
        for found in _LITERAL.finditer(path.read_text(encoding="utf-8")):
            pattern = found[1]
            for browsers, pythons in IN_PYTHON.items():
                pattern = pattern.replace(browsers, pythons)
            yield Found(f"{path.relative_to(ROOT)}: {found[1]}", re.compile(pattern), "search")


def samples(parsed: Any) -> list[str]:
    """Short texts that a part of a pattern takes, of different characters."""
    texts = [""]
    for op, what in parsed:
        more = texts_of(op, what, parsed.state)
        texts = [before + text for before in texts[:3] for text in more]
    return texts[:MOST_SAMPLES]


def texts_of(op: Any, what: Any, state: Any) -> list[str]:
    if op in REPEATS:
        least, _, inner = what
        return [text * min(least, 20) for text in samples(inner)] if least else [""]
    if op is sre.SUBPATTERN:
        return samples(what[3])
    if op is sre.ATOMIC_GROUP:
        return samples(what)
    if op is sre.BRANCH:
        return [text for branch in what[1] for text in samples(branch)[:3]]
    if op in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
        one = compiler.compile(parser.SubPattern(state, [(op, what)]), 0)
        known = chain([chr(what)] if op is sre.LITERAL else [], CHARACTERS)
        return [text for text in dict.fromkeys(known) if one.fullmatch(text)] or [""]
    return [""]  # it takes no character


def attacks(parsed: Any, before: str = "") -> Iterator[str]:
    """Texts in which each part that repeats without end does: it alone, and together with what comes before it."""
    for n, (op, what) in enumerate(parsed):
        start = before + samples(parsed[:n])[0]
        if op in REPEATS and what[1] > MANY:
            for text in filter(None, samples(what[2])):
                together = start + text
                for whole in (
                    start + text * (LENGTH // len(text)),
                    together * (LENGTH // len(together)),
                ):
                    yield from (lead + whole + end for lead, end in AROUND)
        for inner in parts_of(op, what):
            yield from attacks(inner, start)


def parts_of(op: Any, what: Any) -> Sequence[Any]:
    if op is sre.BRANCH:
        return list(what[1])
    if op is sre.ATOMIC_GROUP:
        return [what]
    return (
        [part for part in what if isinstance(part, parser.SubPattern)]
        if isinstance(what, tuple)
        else []
    )


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """A limit of the processor's time, however many others use it; a single pass takes a hundredth."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def slow_text(found: Found) -> str:
    """The beginning of a text that it searches for too long; empty where there is none."""
    parsed = parser.parse(found.pattern.pattern, found.pattern.flags & ~re.UNICODE)
    for text in dict.fromkeys(attacks(parsed)):
        given = (
            text.encode("latin-1", "ignore") if isinstance(found.pattern.pattern, bytes) else text
        )
        try:
            with within(MOST_S):
                look(found, given)
        except TimeoutError:
            return text[:12]
    return ""


def look(found: Found, text: Any) -> None:
    if found.method == "search":
        deque(found.pattern.finditer(text), maxlen=0)
    else:
        getattr(found.pattern, found.method)(text)


def slow(patterns: Iterable[Found]) -> dict[str, str]:
    texts = {found.where: slow_text(found) for found in patterns if found.where not in BOUNDED}
    return {where: text for where, text in texts.items() if text}


def test_no_pattern_of_python_takes_the_square_of_a_texts_length() -> None:
    patterns = list(of_python())
    assert len(patterns) > 150
    assert slow(patterns) == {}
    assert BOUNDED.keys() <= {found.where for found in patterns}


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_no_pattern_of_a_browser_takes_the_square_of_a_texts_length() -> None:
    patterns = list(of_scripts())
    assert len(patterns) > 10
    assert slow(patterns) == {}


@pytest.mark.parametrize(
    ("pattern", "is_slow"),
    [
        *(
            (p, True)
            for p in (r"\w+-", r"(a+)+b", r"\s*\n\s*x", r"<a [^>]*>", r"\w++-", r"^(a|aa)+$")
        ),
        *((p, False) for p in (r"(?<!\w)\w++-", r"[a-z]+", r"<[^<>]*>", r"\w-")),
    ],
)
def test_patterns_of_quadratic_time_are_found(pattern: str, *, is_slow: bool) -> None:
    assert bool(slow_text(Found("", re.compile(pattern), "search"))) is is_slow
