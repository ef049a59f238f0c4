"""The language of templates: slots, comparisons, arithmetic, simple filters and short loops; no calls and no code. Pure.

Jinja's sandbox, of which a list of kinds of nodes is let through, so that a template is worked out in time and memory in
proportion to its length, to the cells that it names and to the turns of a loop, of which there are at most MOST_TURNS. A loop
goes over the values of a cell, or over the rows of the table that are nearest to this one; none stands within another.
Numbers are finite, as literals and as results; lists stand after `in` alone; what is written is bounded while it is written.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import StrictUndefined, TemplateError, nodes
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from experiment.domain.item_checks.characters import UNSTORABLE
from experiment.domain.markup import MAX_CHARACTERS
from experiment.domain.questions.neighbours import Rows
from experiment.domain.questions.values import (
    Empty,
    Number,
    UnlikeError,
    Value,
    Word,
    calculated,
    several,
)

LONGEST = 4_000  # characters of one text of a template
DEEPEST = 30  # nodes within one another
MOST_DIGITS = 10
MOST_TURNS = 100
ROWS = "rows"  # the table, after “in” of a loop
PLACES = ("index", "first", "last")  # of a loop's turn
# What Jinja itself, or a loop, means by these
RESERVED = frozenset({"self", "loop", "caller", "super", "varargs", "kwargs", ROWS})
_ALLOWED = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.CondExpr),
    *(nodes.Name, nodes.Const, nodes.Filter, nodes.Keyword),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Neg, nodes.Pos),
    *(nodes.Test, nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.For, nodes.Getattr),
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
        raise UnlikeError(f"“{value}” is not a number")
    # Halves go to the even neighbour, as everywhere in Python; -0 is 0
    return Number(f"{round(float(value), digits) + 0.0:.{digits}f}")


def thousands(value: Any) -> Word:
    """
    >>> thousands(Number("40225590")), thousands(Number("-0.5"))
    ('40,225,590', '-0.5')
    """
    if not isinstance(value, int | float):
        raise UnlikeError(f"“{value}” is not a number")
    return Word(re.sub(r"[0-9]+", lambda whole: f"{int(whole[0]):,}", str(value), count=1))


FILTERS: Mapping[str, Callable[..., Any]] = {
    "lower": lambda value: Word(str(value).lower()),
    "upper": lambda value: Word(str(value).upper()),
    "capitalize": lambda value: Word(str(value).capitalize()),
    "trim": lambda value: Word(str(value).strip()),
    "length": lambda value: Number(str(len(str(value)))),
    "abs": lambda value: -value if value < 0 else +value,
    "round": rounded,
    "thousands": thousands,
}


def _pieces(value: Any) -> list[Value]:
    found = several(value)
    if len(found) > MOST_TURNS:
        raise UnlikeError(f"a cell has {len(found)} values, and a loop at most {MOST_TURNS} turns")
    return found


def _nearest(rows: Rows, column: str, n: int, same: str = "") -> list[Mapping[str, Value]]:
    return rows.nearest(column, n, same)


SPLIT, NEAREST = "split", "nearest"  # what a loop goes over
LOOP_FORMS = (
    f"a loop is “for x in COLUMN | {SPLIT}”, or “for x in {ROWS} | {NEAREST}('COLUMN', N)”, or with a third "
    f"“'COLUMN'” that is the same in these rows; N is 1 to {MOST_TURNS}"
)
EMPTY = "empty"  # the only test: `x is empty`, `x is not empty`


def _is_empty(value: Any) -> bool:
    return isinstance(value, Empty) or value == ""


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset("+-*/")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Number:
        return calculated(operator, left, right)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """A cell of another row, or where a loop stands: `_check_attribute` has let nothing else through."""
        return obj[attribute] if isinstance(obj, Mapping) else getattr(obj, attribute)


def _environment() -> _Environment:
    made = _Environment(undefined=StrictUndefined, autoescape=False)
    made.globals.clear()
    made.tests.clear()
    made.tests[EMPTY] = _is_empty
    made.filters.clear()
    made.filters.update(FILTERS)
    made.filters.update({SPLIT: _pieces, NEAREST: _nearest})
    return made


_ENVIRONMENT = _environment()


@dataclass(frozen=True, slots=True)
class Text:
    """A text with slots. `write` raises EmptyCellError, or UnlikeError where a text is taken for a number."""

    slots: frozenset[str]
    write: Callable[[Mapping[str, Value | Rows]], str]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that a row fulfils or not. `holds` raises as `Text.write` does."""

    slots: frozenset[str]
    holds: Callable[[Mapping[str, Value | Rows]], bool]


def text(source: str) -> Text:
    """
    Raises:
        LanguageError: it cannot be read, is too long, or says what templates may not.

    >>> text("Is {{ name }} a gas?").write({"name": "neon"})
    'Is neon a gas?'
    """
    slots = _checked(source, lambda: _ENVIRONMENT.parse(source))
    made = _made(lambda: _ENVIRONMENT.from_string(source))
    return Text(slots, lambda values: _joined(made.generate(values)).strip())


def _joined(pieces: Iterable[str]) -> str:
    """A text that is not written on once it is too long. White space around it may be as long as the template."""
    found, n = [], 0
    for piece in pieces:
        found.append(piece)
        n += len(piece)
        if n > MAX_CHARACTERS + LONGEST:
            raise UnlikeError(f"the text has more than {MAX_CHARACTERS:,} characters")
    return "".join(found)


def condition(source: str) -> Condition:
    """The condition in a text; an empty one always holds.

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
    """The text as Jinja reads it, its errors as ours."""
    try:
        return make()
    except TemplateError as error:
        raise LanguageError(str(error.message or error)) from error
    except (ValueError, OverflowError) as error:
        raise LanguageError(f"a number is too large ({error})") from error
    except (RecursionError, SyntaxError, MemoryError) as error:
        raise LanguageError("expressions are nested too deeply") from error


def _checked(source: str, parse: Callable[[], nodes.Node]) -> frozenset[str]:
    """The names of its slots."""
    if len(source) > LONGEST:
        raise LanguageError(f"has {len(source):,} characters, but at most {LONGEST:,} are allowed")
    if UNSTORABLE.search(source):
        raise LanguageError("contains a character that cannot be part of a text")
    found = frozenset(_names(_made(parse)))
    if reserved := sorted(found & RESERVED):
        raise LanguageError(f"“{reserved[0]}” cannot be a slot. Rename the column.")
    return found


def _names(root: nodes.Node) -> Iterator[str]:
    """The slots; `loop` is the variable of the loop around a node, and whether it is a row."""
    waiting: list[tuple[nodes.Node, int, tuple[str, bool] | None]] = [(root, 0, None)]
    while waiting:
        node, depth, loop = waiting.pop()
        if depth > DEEPEST:
            raise LanguageError("expressions are nested too deeply")
        if not isinstance(node, _ALLOWED):
            kind = type(node).__name__
            raise LanguageError(
                f"line {node.lineno}: only slots, comparisons, arithmetic, if, for and filters may be used ({kind})"
            )
        _check(node)
        match node:
            case nodes.For():
                if loop is not None:
                    raise LanguageError(f"line {node.lineno}: loops cannot be nested")
                variable, columns = _loop(node)
                yield from columns
                waiting += [(child, depth + 1, variable) for child in node.body]
            case nodes.Compare():
                waiting += [(child, depth + 1, loop) for child in _compared(node)]
            case nodes.Getattr():
                yield from _attribute(node, loop)
            case nodes.Name() if loop is None or node.name != loop[0]:
                yield node.name
            case nodes.Name() if loop is not None and loop[1]:
                raise LanguageError(f"“{node.name}” is a row. Write “{node.name}.COLUMN”.")
            case _:
                waiting += [(child, depth + 1, loop) for child in node.iter_child_nodes()]


def _loop(node: nodes.For) -> tuple[tuple[str, bool], list[str]]:
    """Its variable, and whether that is a row; and the columns that it names itself."""
    over = node.iter
    is_plain = not (node.test or node.else_ or node.recursive) and isinstance(
        node.target, nodes.Name
    )
    if not (is_plain and isinstance(over, nodes.Filter) and isinstance(over.node, nodes.Name)):
        raise LanguageError(LOOP_FORMS)
    variable = str(node.target.name)  # type: ignore[attr-defined]
    if variable in RESERVED:
        raise LanguageError(f"“{variable}” cannot be the name of a loop's row")
    if over.kwargs or over.dyn_args or over.dyn_kwargs:
        raise LanguageError(LOOP_FORMS)
    given = [one.value if isinstance(one, nodes.Const) else None for one in over.args]
    if over.name == SPLIT and not given and over.node.name != ROWS:
        return (variable, False), [over.node.name]
    match given:
        case [str() as column, int() as n, *same] if (
            over.name == NEAREST
            and over.node.name == ROWS
            and n in range(1, MOST_TURNS + 1)
            and not isinstance(n, bool)
            and (not same or (len(same) == 1 and isinstance(same[0], str)))
        ):
            return (variable, True), [column, *map(str, same)]
    raise LanguageError(LOOP_FORMS)


def _attribute(node: nodes.Getattr, loop: tuple[str, bool] | None) -> Iterator[str]:
    """The column of a row's cell; nothing of where a loop stands."""
    name = node.node.name if isinstance(node.node, nodes.Name) else ""
    if loop is not None and name == "loop" and node.attr in PLACES:
        return
    if loop is None or not loop[1] or name != loop[0]:
        raise LanguageError(
            f"“.{node.attr}” is not known: in a loop there are the columns of its rows, and loop.{', loop.'.join(PLACES)}"
        )
    yield node.attr


def _compared(node: nodes.Compare) -> Iterator[nodes.Node]:
    """The parts that are compared; of a list after “in”, its elements."""
    yield node.expr
    for each in node.ops:
        is_list = each.op in ("in", "notin") and isinstance(each.expr, nodes.List | nodes.Tuple)
        yield from each.expr.iter_child_nodes() if is_list else (each.expr,)


def _check(node: nodes.Node) -> None:
    match node:
        case nodes.Const():
            _check_number(node)
        case nodes.Filter():
            _check_filter(node)
        case nodes.Test():
            if node.name != EMPTY or node.args or node.kwargs or node.dyn_args or node.dyn_kwargs:
                raise LanguageError(
                    f"“is {node.name}” is not known: there are “is {EMPTY}” and “is not {EMPTY}”"
                )
        case nodes.Compare():
            _check_compare(node)
        case nodes.And() | nodes.Or():
            _check_truth(node.left)
            _check_truth(node.right)
        case nodes.Not():
            _check_truth(node.node)
        case nodes.If() | nodes.CondExpr():
            _check_truth(node.test)


def _check_number(node: nodes.Const) -> None:
    try:
        is_finite = not isinstance(node.value, int | float) or math.isfinite(node.value)
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise LanguageError(f"line {node.lineno}: a number is too large")


def _check_truth(node: nodes.Node) -> None:
    is_said = isinstance(node, nodes.Const) and isinstance(node.value, bool)
    is_said |= (
        isinstance(node, nodes.Getattr)
        and node.attr in ("first", "last")
        and (isinstance(node.node, nodes.Name) and node.node.name == "loop")
    )
    if is_said or isinstance(node, _TRUTHS):
        return
    named = f"“{node.name}”" if isinstance(node, nodes.Name) else "a value"
    name = node.name if isinstance(node, nodes.Name) else "x"
    raise LanguageError(
        f"{named} alone is neither true nor false. Compare it, or write “{name} is not {EMPTY}”."
    )


def _check_compare(node: nodes.Compare) -> None:
    for each in node.ops:
        if each.op in ("in", "notin") and isinstance(each.expr, nodes.Const):
            raise LanguageError("“in” must be followed by a slot, or by a list like ['a', 'b']")


def _check_filter(node: nodes.Filter) -> None:
    if node.name not in FILTERS:
        raise LanguageError(
            f"the filter “{node.name}” is not known (filters: {', '.join(FILTERS)})"
        )
    is_plain = not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
    if is_plain:
        return
    digits = node.args[0] if len(node.args) == 1 else None
    is_digits = (
        isinstance(digits, nodes.Const)
        and type(digits.value) is int
        and 0 <= digits.value <= MOST_DIGITS
    )
    if node.name != "round" or node.kwargs or node.dyn_args or node.dyn_kwargs or not is_digits:
        takes = f"digits, 0 to {MOST_DIGITS}, or nothing" if node.name == "round" else "nothing"
        raise LanguageError(f"the filter “{node.name}” takes {takes}")
