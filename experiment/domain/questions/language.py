"""The language of templates: slots, comparisons and simple filters; no calls, loops, attributes or arithmetic. Pure.

Jinja's sandbox, of which a list of kinds of nodes is let through, so that a template is worked out in time and memory in
proportion to its length and to the cells that it names.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from experiment.domain.questions.values import Empty, Number, UnlikeError, Value, Word

LONGEST = 4_000  # characters of one text of a template
DEEPEST = 30  # nodes within one another
MOST_DIGITS = 10
# What Jinja itself means by these
RESERVED = frozenset({"self", "loop", "caller", "super", "varargs", "kwargs"})
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.CondExpr),
    *(nodes.Name, nodes.Const, nodes.Tuple, nodes.List, nodes.Filter, nodes.Keyword),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos),
    nodes.Test,
)
# What is true or false; of a value alone nobody could say whether 0 and "no" are
_TRUTHS = (nodes.Compare, nodes.Test, nodes.And, nodes.Or, nodes.Not)


class LanguageError(Exception):
    """A text that is no template, or says what templates may not; the message says which."""


def rounded(value: Any, digits: int = 0) -> Number:
    """
    >>> str(rounded(Number("2.345"), 1)), str(rounded(Number("1538.0")))
    ('2.3', '1538')
    """
    if not isinstance(value, int | float):
        raise UnlikeError(f"“{value}” is no number")
    # Halves go to the even neighbour, as everywhere in Python; -0 is 0
    return Number(f"{round(float(value), digits) + 0.0:.{digits}f}")


def thousands(value: Any) -> Word:
    """
    >>> thousands(Number("40225590")), thousands(Number("-0.5"))
    ('40,225,590', '-0.5')
    """
    if not isinstance(value, int | float):
        raise UnlikeError(f"“{value}” is no number")
    return Word(re.sub(r"[0-9]+", lambda whole: f"{int(whole[0]):,}", str(value), count=1))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "lower": lambda value: Word(str(value).lower()),
    "upper": lambda value: Word(str(value).upper()),
    "capitalize": lambda value: Word(str(value).capitalize()),
    "trim": lambda value: Word(str(value).strip()),
    "length": lambda value: Number(str(len(str(value)))),
    "round": rounded,
    "thousands": thousands,
}


EMPTY = "empty"  # the only test: `x is empty`, `x is not empty`


def _is_empty(value: Any) -> bool:
    return isinstance(value, Empty) or value == ""


def _environment() -> ImmutableSandboxedEnvironment:
    made = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    made.globals.clear()
    made.tests.clear()
    made.tests[EMPTY] = _is_empty
    made.filters.clear()
    made.filters.update(FILTERS)
    return made


_ENVIRONMENT = _environment()


@dataclass(frozen=True, slots=True)
class Text:
    """A text with slots. `write` raises EmptyCellError, or UnlikeError where a text is taken for a number."""

    slots: frozenset[str]
    write: Callable[[Mapping[str, Value]], str]


@dataclass(frozen=True, slots=True)
class Condition:
    """What holds of a row or not. `holds` raises as `Text.write` does."""

    slots: frozenset[str]
    holds: Callable[[Mapping[str, Value]], bool]


def text(source: str) -> Text:
    """
    Raises:
        LanguageError: it cannot be read, is too long, or says what templates may not.

    >>> text("Is {{ name }} a gas?").write({"name": "neon"})
    'Is neon a gas?'
    """
    slots = _checked(source, lambda: _ENVIRONMENT.parse(source))
    made = _made(lambda: _ENVIRONMENT.from_string(source))
    return Text(slots, lambda values: made.render(values).strip())


def condition(source: str) -> Condition:
    """Of an empty text: what always holds.

    Raises:
        LanguageError: as `text`.

    >>> condition("n > 1 and year is empty").holds({"n": Number("2"), "year": Empty("year")})
    True
    """
    if not source.strip():
        return Condition(frozenset(), lambda values: True)
    slots = _checked(source, lambda: _expression(source))
    made = _made(lambda: _ENVIRONMENT.compile_expression(source, undefined_to_none=False))
    return Condition(slots, lambda values: bool(made(**values)))


def _expression(source: str) -> nodes.Node:
    parser = Parser(_ENVIRONMENT, source, state="variable")
    found = parser.parse_expression()
    if not parser.stream.eos:
        raise LanguageError(f"“{parser.stream.current.value}” is not expected here")
    _check_truth(found)
    return found


def _made(make: Callable[[], Any]) -> Any:
    """What Jinja makes of it, its errors as ours."""
    try:
        return make()
    except TemplateError as error:
        raise LanguageError(str(error.message or error)) from error
    except (ValueError, OverflowError) as error:
        raise LanguageError(f"a number is too large ({error})") from error
    except (RecursionError, SyntaxError, MemoryError) as error:
        raise LanguageError("too much stands within one another") from error


def _checked(source: str, parse: Callable[[], nodes.Node]) -> frozenset[str]:
    """The names of its slots."""
    if len(source) > LONGEST:
        raise LanguageError(f"has {len(source):,} characters, at most {LONGEST:,} are taken")
    found = frozenset(_names(_made(parse)))
    if reserved := sorted(found & RESERVED):
        raise LanguageError(f"“{reserved[0]}” cannot be a slot: name the column otherwise")
    return found


def _names(root: nodes.Node) -> Iterator[str]:
    waiting = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > DEEPEST:
            raise LanguageError("too much stands within one another")
        if not isinstance(node, _ALLOWED):
            kind = type(node).__name__
            raise LanguageError(
                f"line {node.lineno}: only slots, comparisons, if and filters may be used ({kind})"
            )
        _check(node)
        if isinstance(node, nodes.Name):
            yield node.name
        waiting += [(child, depth + 1) for child in node.iter_child_nodes()]


def _check(node: nodes.Node) -> None:
    match node:
        case nodes.Filter():
            _check_filter(node)
        case nodes.Test():
            _check_test(node)
        case nodes.Compare():
            _check_compare(node)
        case nodes.And() | nodes.Or():
            _check_truth(node.left)
            _check_truth(node.right)
        case nodes.Not():
            _check_truth(node.node)
        case nodes.If() | nodes.CondExpr():
            _check_truth(node.test)


def _check_truth(node: nodes.Node) -> None:
    is_said = isinstance(node, nodes.Const) and isinstance(node.value, bool)
    if is_said or isinstance(node, _TRUTHS):
        return
    named = f"“{node.name}”" if isinstance(node, nodes.Name) else "a value"
    name = node.name if isinstance(node, nodes.Name) else "x"
    raise LanguageError(
        f"{named} alone is neither true nor false: compare it, or say “{name} is not {EMPTY}”"
    )


def _check_test(node: nodes.Test) -> None:
    if node.name != EMPTY or node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
        raise LanguageError(
            f"“is {node.name}” is not known: there are “is {EMPTY}” and “is not {EMPTY}”"
        )


def _check_compare(node: nodes.Compare) -> None:
    for each in node.ops:
        if each.op in ("in", "notin") and isinstance(each.expr, nodes.Const):
            raise LanguageError("after “in” stands a slot, or a list like ['a', 'b']")


def _check_filter(node: nodes.Filter) -> None:
    if node.name not in FILTERS:
        raise LanguageError(f"there is no filter “{node.name}” (there are: {', '.join(FILTERS)})")
    is_plain = not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
    if is_plain:
        return
    digits = node.args[0] if len(node.args) == 1 else None
    is_digits = isinstance(digits, nodes.Const) and digits.value in range(MOST_DIGITS + 1)
    if node.name != "round" or node.kwargs or node.dyn_args or node.dyn_kwargs or not is_digits:
        takes = f"digits, 0 to {MOST_DIGITS}, or nothing" if node.name == "round" else "nothing"
        raise LanguageError(f"the filter “{node.name}” takes {takes}")
