"""A pattern takes only the text that it asks for: a line break after it is refused, which `$` lets pass and `\\Z` does not.

And no text takes a time that grows with the square of its length: at this length, the time that a file may take would be over.
"""

import ast
import re
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from django import forms
from django.apps import apps
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db.models import CharField
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.domain.joined_lines import joined
from experiment.domain.markup import MAX_CHARACTERS, MarkupError, parse
from experiment.imports.read.pasted import abstracts_of
from experiment.models import Channel
from experiment.services.study_language import _QUOTE, _TAG
from lib.confined import CPU_S
from tests.config.test_code_security import ROOT, sources

SITE = ("config", "lib", "experiment", "scoring", "analysis")
# These search within texts of many lines, where the end of a line is an end
SEARCHING = {
    "experiment/domain/item_checks/content.py",
    "experiment/domain/item_checks/form.py",
    "experiment/domain/item_checks/wording.py",
    "scoring/training/corpus/read/xml.py",
}
ADDRESS_OR_PATTERN = re.compile(
    r"(re\.)?(compile|match|fullmatch|search|sub|split|finditer|findall|re_path)|(\w+\.)?Regex(Validator|Field)"
)


def patterns(path: str, tree: ast.Module) -> Iterator[tuple[str, str, bool]]:
    """Each pattern that is written out, parts of others' included: where, what, and whether `$` ends lines in it."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not ADDRESS_OR_PATTERN.fullmatch(
            ast.unparse(node.func)
        ):
            continue
        given = chain(node.args[:1], (k.value for k in node.keywords if k.arg == "regex"))
        for argument in given:
            for part in ast.walk(argument):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    where = f"{path}:{node.lineno}"
                    yield where, part.value, "MULTILINE" in ast.unparse(node)


def ends_in_dollar(pattern: str) -> bool:
    """True if `$` is an anchor somewhere in it; a mere part of a pattern is looked at as a text."""
    try:
        parsed = parser.parse(pattern)
    except re.error:
        return re.search(r"(?<!\\)\$\Z", pattern) is not None
    return any(op is sre.AT and what is sre.AT_END for op, what in walked(parsed))


def walked(parsed: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(parsed, parser.SubPattern):
        for item in parsed:
            yield item
            yield from walked(item[1])
    elif isinstance(parsed, list | tuple):
        for part in parsed:
            yield from walked(part)


def test_no_pattern_lets_a_line_break_pass_at_its_end() -> None:
    found = [p for path, tree in sources(*SITE) for p in patterns(path, tree)]
    assert len(found) > 150
    dollars = {
        f"{where} {pattern}"
        for where, pattern, is_of_lines in found
        if not is_of_lines and where.rpartition(":")[0] not in SEARCHING and ends_in_dollar(pattern)
    }
    assert dollars == set()
    assert ends_in_dollar(r"^(a|b$)")
    assert not ends_in_dollar(r"^[$]\$\Z")


def form_classes() -> Iterator[type[forms.BaseForm]]:
    for path in sorted(Path(ROOT).glob("*/lab/**/*.py")):
        import_module(str(path.relative_to(ROOT)).removesuffix(".py").replace("/", "."))
    found = [forms.BaseForm]
    while found:
        kind = found.pop()
        found += kind.__subclasses__()
        if kind.__module__.split(".")[0] in SITE:
            yield kind


def validators() -> dict[str, RegexValidator]:
    columns = [
        (str(field), field.validators)
        for app in ("experiment", "scoring", "analysis", "jobs")
        for model in apps.get_app_config(app).get_models()
        for field in model._meta.fields
    ]
    entries = [
        (f"{kind.__qualname__}.{name}", field.validators)
        for kind in form_classes()
        for name, field in getattr(kind, "base_fields", {}).items()
    ]
    return {
        f"{name} {re.compile(validator.regex).pattern}": validator
        for name, all_of_it in [*columns, *entries]
        for validator in all_of_it
        # An address of pages has a rule of its own, which is not one pattern
        if type(validator) is RegexValidator
    }


VALIDATORS = validators()


@pytest.mark.parametrize("name", VALIDATORS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_line_break_after_what_is_valid_is_refused(name: str, data: st.DataObject) -> None:
    validator = VALIDATORS[name]
    valid = data.draw(st.from_regex(validator.regex, fullmatch=True))
    validator(valid)
    for end in ("\n", "\r\n", "\n\nX: y"):
        with pytest.raises(ValidationError):
            validator(valid + end)


def test_columns_and_forms_of_each_kind_are_looked_at() -> None:
    for name in (
        "Study.language",
        "Channel.id_parameter",
        "Channel.completion_url",
        "PeopleForm.pseudonym",
    ):
        assert any(name in key for key in VALIDATORS), (name, [*VALIDATORS])


@pytest.mark.parametrize(
    "name", [field.name for field in Channel._meta.fields if isinstance(field, CharField)]
)
@pytest.mark.parametrize("end", ["\n", "\r"])
def test_no_text_of_a_channel_takes_a_line_break(name: str, end: str) -> None:
    """Its codes and parameters are parts of links; codes are shown to be copied, too."""
    for value in (f"a{end}", f"a{end}b", f"https://a.example/{end}"):
        with pytest.raises(ValidationError) as refused:
            Channel(**{name: value}).clean_fields()
        assert name in refused.value.message_dict


@contextmanager
def memory_used() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


LONG = 500_000
REPEATED = (
    "a",
    "-",
    " ",
    "\t",
    "\n",
    "a-\n",
    "a-\nb\n\n",
    " \n",
    "-\n\n",
    "a- ",
    "\u00a0\n.",
    "<",
    "<a ",
    '<"',
    "[[",
    ",",
)


@pytest.fixture
def bounded() -> Iterator[None]:
    """By what a confined process may take of the processor, however many others use it."""

    def stop(*_: object) -> None:
        raise AssertionError("too slow")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("repeated", REPEATED)
def test_no_long_text_is_searched_from_each_of_its_characters(repeated: str) -> None:
    text = repeated * (LONG // len(repeated))
    for whole in (text, f"[[{text}x", f"x{text}"):
        joined(whole)
        abstracts_of(whole)
        for pattern in (_TAG, _QUOTE):
            pattern.sub("", whole)
        with pytest.raises(MarkupError):
            parse(whole)


@pytest.mark.parametrize(
    ("markup", "original", "altered"),
    [
        ("[[{}]]", None, None),
        ("[[{}]]", ",".join([""] * 9_000), ",".join([""] * 10_980)),
        ("[[{}a]]", "x", "y"),
    ],
)
def test_only_the_shown_readings_of_an_alternation_of_commas_are_built(
    markup: str, original: str | None, altered: str | None
) -> None:
    """Its passages would fill the memory: half of its length, squared."""
    text = markup.format("," * (MAX_CHARACTERS - 10))
    with memory_used() as used, pytest.raises(MarkupError) as raised:
        parse(text, original, altered)
    assert used() < 50 * MAX_CHARACTERS * 8
    assert len(raised.value.candidates) <= 6


@pytest.mark.usefixtures("bounded")
def test_ways_that_come_as_far_are_one_way() -> None:
    """Each alternation doubles their number."""
    for n_original in (1_000, 1):
        with pytest.raises(MarkupError):
            parse("[[,,]]" * 3_000, "," * n_original, "," * (3_000 - n_original))
