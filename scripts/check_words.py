"""Name the sentences that break the style sheet of CONTRIBUTING.md: `check_words.py [FILE ...]`, part of `make lint`.

proselint runs its checks and ours over templates, Markdown pages, commands' help, errors and texts for translation. Markup, code
and placeholders are not read. A finding is a line `file:line: rule: "words": what to write instead`.
"""

import ast
import html
import re
import sys
from collections.abc import Container, Iterable, Iterator
from itertools import accumulate
from pathlib import Path

from proselint.checks import __register__ as proselints
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, CheckResult
from proselint.registry.checks.engine import Fancy, RegexOptions
from proselint.registry.checks.types import ExistenceSimple
from proselint.tools import LintFile

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from lib.sentences import sentence_spans  # noqa: E402

READ = (
    "*.md",
    "docs/*.md",
    "templates/**/*.html",
    "templates/**/*.txt",
    "templates/**/*.md",
    "*/**/*.py",
)
# Prompts for models: another wording is another measurement
PROMPTS = "templates/scoring/*/*.txt"
LEFT_OUT = (".venv", "var")  # what git ignores
TESTS = "tests/"  # quote wrong input; only their names and docstrings are read
MAX_WORDS = 40
FEWEST_WORDS = 4  # of a text in a module of words
_START = r"(?:^|(?<=[.!?:;] ))"
_REST = r"[^.!?;\n]*[.;](?=\s)"
_COUNTED = (
    "trials|items|questions|test cases|rows?|minutes|answers|judgments|people|times|words|tokens"
)
_EACH = "participant|person|model|study|item|trial|question|row|side|unit|day|hour|minute|second"
_NEGATED = "target|measure|test|model|field|person|number|reason|sentence|file|address|column|rule"
# Name -> what to write instead, and the patterns that no sentence has
RULES = {
    "subject-clause": (
        "begin with a noun: “Participants who ...”, “You learn at the end which ...”",
        rf"{_START}(?:Who|What|Which|Whoever|Whatever|Whichever)\b{_REST}",
        rf"{_START}Whether\b[^.!?;\n]*\byou (?:learn|see|find|know)\b",
    ),
    "bare-who": (
        "name the people: “for participants who ...”",
        r"\b(?:[Ff]or|[Tt]o|[Oo]f|[Bb]y|[Ff]rom|[Ww]ith) who(?:ever)?\b",
        r"\bwho runs the server\b",
    ),
    "inverted": (
        "put the subject before the verb",
        rf"{_START}(?:Were|Had|Should) (?:it|there|they|the|a|you)\b{_REST}",
        r"\b(?:[Nn]either|Nor|Never|Nowhere|Only then|Only so) (?:is|are|does|do|can|has|have)\b",
    ),
    "no-noun": (
        "negate the verb: “is not a ...”",
        rf"(?<![Tt]here )\b(?:is|are|was|were) no (?:{_NEGATED})s?\b(?! (?:left|more))",
    ),
    "rate": ("“per”: “6 trials per participant”", rf"\b(?:{_COUNTED}) an? (?:{_EACH})\b"),
    "former-latter": ("repeat the noun", r"\b[Tt]he (?:former|latter)\b"),
    "in-all": ("“in total”", r"\b[Ii]n all\b(?=[\s.,;:)]*(?:$|[.,;:)¶]))"),
    "of-own": (
        "“a separate ...”, “its own ...”, “your own ...”",
        r"\bof (?:its|their|your|one's) own\b",
    ),
    "homespun": (
        "use the plain verb: “correct”, “is”, “admit”",
        r"\b[Mm]end(?:s|ed|ing)?\b",
        r"\b(?:[Ss]trikes?|[Ss]truck)\b",
        r"\b(?:(?:is|are) (?:all )?in place|for good|let in|whichever holds)\b",
        r"\bstands? (?:in|at|on|under|here|for itself)\b",
    ),
    "beside": (
        "“next to” for a place, “compared with” for numbers, “in addition to” for more",
        r"\b[Bb]eside\b",
    ),
    "id": ("“ID”, “IDs”", r"(?<![\w_.-])ids?\b(?![_(=.-])"),
    "term": (
        "the word of the glossary in CONTRIBUTING.md",
        r"\b(?:[Ss]ureness|[Jj]udgement|[Cc]alibration plot|[Hh]old-out|[Hh]eldout)s?\b",
        r"(?<!/)\b(?:[Tt]est-case|[Tt]est person|[Ww]ithdrawal code)s?\b",
    ),
}
# proselint's own that do not fit
OFF = (
    "typography.diacritical_marks",  # takes "resume" for a curriculum vitae
    "cliches.misc.write_good",  # "in a word" is about words here
    "restricted",  # allows the thousand commonest words alone
    "typography.symbols.curly_quotes",  # Markdown and commands use straight ones
    "typography.symbols.copyright",  # "(c)" numbers a list
    "weasel_words.very",  # "very much so" is the end of a scale
    "dates_times.dates.dash_and_from",  # takes "from 2/3" for a day
)


def register() -> dict[str, bool]:
    """Our rules and proselint's in its registry; which of them run."""
    registry = CheckRegistry()
    if not registry.checks:
        options = RegexOptions(case_insensitive=False, multi_line=True)
        for name, (advice, *patterns) in RULES.items():
            rule = ExistenceSimple("|".join(patterns))
            registry.register(Check(rule, Fancy(options), f"words.{name}", advice))
        registry.register(Check(_long_sentences, path="words.length"))
        registry.register_many(proselints)
    # The registry takes the first that fits, so what is off comes before what is on
    on = {check.path.split(".")[0] for check in registry.checks}
    return dict.fromkeys(OFF, False) | dict.fromkeys(on.difference(OFF), True)


def _long_sentences(text: str, check: Check) -> Iterator[CheckResult]:
    for block in re.finditer(r"[^\n]+", text):
        for start, end in sentence_spans(
            block[0].replace(PLACEHOLDER, "It")
        ):  # as long, and begins a sentence
            n = len(re.findall(r"[^\W\d_][\w'\u2019-]*", block[0][start:end]))
            if n > MAX_WORDS:
                message = f"{n} words: write two sentences of at most {MAX_WORDS}"
                at = block.start() + start
                yield CheckResult(check.path, message, (at, at + 40), None)


Pieces = Iterable[tuple[int, str]]
_BREAK = "\x00"
PLACEHOLDER = "⟨⟩"  # for code and values: no word
BLOCK_END = " ¶\n"  # keeps patterns from reaching into the next block


def pieces_of(path: Path, source: str) -> Pieces:
    """The prose of a file: blocks of text, each with the line that it begins on."""
    if path.suffix == ".py":
        tree = ast.parse(source)
        called = _called(tree, DESCRIBED if "api" in path.parts else WORDED)
        return {*called, *_sentences(tree)} if OF_WORDS.search(str(path)) else called
    text = _of_template(source) if path.parts[0] == "templates" else source
    return _blocks(_of_markdown(text) if path.suffix == ".md" else text)


def _blocks(text: str) -> Pieces:
    line = 1
    for block in text.split(_BREAK):
        if re.search(r"[^\W\d_]", block):
            before = len(block) - len(block.lstrip())
            yield line + block[:before].count("\n"), html.unescape(block.strip())
        line += block.count("\n")


def _emptied(match: re.Match[str]) -> str:
    return _BREAK + "\n" * match[0].count("\n") + _BREAK


def _of_template(text: str) -> str:
    unread = (
        r"\{#.*?#\}",
        r"(?s)\{% comment.*?endcomment %\}",
        r"(?s)<(script|style|svg|pre)\b.*?</\1>",
        r"(?s)<!--.*?-->",
    )
    for pattern in unread:
        text = re.sub(pattern, _emptied, text)
    text = re.sub(r"(?s)<(code|kbd)\b.*?</\1>", PLACEHOLDER, text)
    text = re.sub(r"\{\{.*?\}\}", PLACEHOLDER, text)
    text = re.sub(r"\{% (?:translate|trans) (\"|')(.*?)\1.*?%\}", rf"{_BREAK}\2{_BREAK}", text)
    text = re.sub(r"(?s)\{%.*?%\}", _emptied, text)
    text = re.sub(
        r"</?(?:a|b|i|em|strong|span|abbr|mark|sub|sup|time|cite|small|q)\b[^>]*>", "", text
    )
    return _lists(re.sub(r"(?s)<[a-zA-Z/!][^>]*>", _emptied, text))


def _of_markdown(text: str) -> str:
    text = re.sub(r"(?ms)^ *(```|~~~).*?^ *\1", _emptied, text)
    text = re.sub(r"(?s)<!--.*?-->", _emptied, text)
    text = re.sub(r"`[^`\n]*`", PLACEHOLDER, text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?[a-z][^>]*>|\*\*", "", text)
    text = re.sub(r"(?m)^\|[\s:|-]+\|$", "", text)
    text = re.sub(r"(?m)\|", _BREAK, text)
    text = re.sub(r"(?m)^(#+ .*)$", rf"{_BREAK}\1{_BREAK}", text)
    return _lists(text)


def _lists(text: str) -> str:
    """A paragraph and an entry of a list are blocks."""
    return re.sub(r"\n(?=\s*(?:[-*]|\d+\.) |\s*\n)", f"\n{_BREAK}", text)


# Calls whose texts people read: translations, and exceptions, most of which a page or a command shows
SAYS = re.compile(r"_|gettext|gettext_lazy|lazy|ngettext|ngettext_lazy|NotEnough|\w+Error")
MESSAGES = re.compile(r"self\.stdout\.write|messages\.\w+")
# Arguments that people read, of commands, forms and columns; the interface describes its fields in fragments
WORDED = {"help", "label", "help_text"}
DESCRIBED = {"help"}


# Modules that say what others decide: each text in them of four words or more is read
OF_WORDS = re.compile(
    r"(?<!/item_checks)/(?:problem_|dry_run_)?words\.py$|/captions\.py$|/imports/lines\.py$|/readiness\.py$|/lab/documents/"
    r"|/experiment/lab/|/analysis/lab/advice\.py$|/services/(?:data_card|overview|people|waiting)\.py$"
)


def _sentences(tree: ast.AST) -> Pieces:
    """Texts of some words, but for docstrings and for what is part of a longer text."""
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts |= {*map(id, node.values)}
        elif isinstance(node, ast.Expr):
            parts.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in parts:
            text = _text(node)
            if len(text.split()) >= FEWEST_WORDS:
                yield node.lineno, text


def _called(tree: ast.AST, worded: Container[str]) -> Pieces:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named = isinstance(node.func, ast.Name) and bool(SAYS.fullmatch(node.func.id))
            told = isinstance(node.func, ast.Attribute) and bool(
                MESSAGES.fullmatch(ast.unparse(node.func))
            )
            found = [
                *(node.args if named or told else ()),
                *(k.value for k in node.keywords if k.arg in worded),
            ]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).split(".")[-1] in worded:
            found = [node.value]
        else:
            continue
        for value in found:
            if text := _text(value):
                yield value.lineno, text


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.Constant):
        return (
            re.sub(r"`[^`]*`|%\(\w+\)[a-z]|\{\w+\}", PLACEHOLDER, node.value)
            if isinstance(node.value, str)
            else ""
        )
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return PLACEHOLDER


# A docstring that begins so has to be read twice: it is the rest of a sentence, whose subject is the name above it
WORDS = "of|what|whatever|whether|which|who|whoever|whom|whose"
CLAUSE = re.compile(rf"(?i)\s*(?:{WORDS})\b")
CLAUSE_NAME = re.compile(rf"test_(?:{WORDS})_")
EXPORTED = "scoring/lm_eval/files/*.py"  # part of a task's hash
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _named(path: Path, source: str) -> Iterator[str]:
    """A line for each docstring, and each name of a test, that begins with a clause word."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and CLAUSE_NAME.match(node.name):
            yield f"{path}:{node.lineno}: words.name: “{node.name}”: begin with the subject of the rule"
        if isinstance(node, DOCUMENTED) and CLAUSE.match(text := ast.get_docstring(node) or ""):
            line = node.body[0].lineno
            yield f"{path}:{line}: words.docstring: “{text[:40]}”: begin with a noun, or with what is done"


def findings(path: Path, source: str) -> Iterator[str]:
    """A line for each sentence that breaks a rule."""
    if path.suffix == ".py" and not path.match(EXPORTED):
        yield from _named(path, source)
    if str(path).startswith(TESTS):
        return
    blocks: list[tuple[int, list[str]]] = [
        (first, [line.strip() for line in block.split("\n")])
        for first, block in sorted(pieces_of(path, source))
    ]
    if not blocks:
        return
    file = LintFile(str(path), BLOCK_END.join(" ".join(lines) for _, lines in blocks) + BLOCK_END)
    for found in file.lint({"max_errors": 1000, "checks": register()}):
        result = found.check_result
        before = file.content[1 : result.span[0] + 1].split("\n")
        first, lines = blocks[len(before) - 1]
        line = first + sum(n < len(before[-1]) for n in accumulate(len(x) + 1 for x in lines))
        words = " ".join(file.content[slice(*result.span)].split())
        yield f"{path}:{line}: {result.check_path}: “{words}”: {result.message}"


def main(names: list[str]) -> int:
    """Exit status 1 where something is found."""
    files = [Path(name).resolve() for name in names] or sorted(
        {p for glob in READ for p in ROOT.glob(glob)}
    )
    n = 0
    for file in files:
        path = file.relative_to(ROOT)
        if path.match(PROMPTS) or "migrations" in path.parts or path.parts[0] in LEFT_OUT:
            continue
        for line in findings(path, file.read_text(encoding="utf-8")):
            print(line)
            n += 1
    return 1 if n else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
