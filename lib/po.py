"""Reads and writes PO files, gettext's format for translators, without gettext's tools.

Knows messages, plural forms, contexts and fuzzy marks; other comments are dropped.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

CONTEXT_SEPARATOR = "\x04"
_LINE = re.compile(r'^(?:(msgctxt|msgid|msgid_plural|msgstr)(?:\[(\d+)\])?\s+)?"(.*)"$')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


class PoError(ValueError):
    """A line that is none of a PO file's."""

    def __init__(self, number: int, line: str) -> None:
        self.number, self.line = number, line
        super().__init__(f"line {number} is not a PO file's: {line[:60]}")


@dataclass(frozen=True, slots=True)
class Message:
    """A text and what it is in another language: one form, or one for each plural form.

    No form, or an empty first one, means not translated. The header is the message without a source.
    """

    source: str
    forms: tuple[str, ...] = ()
    plural: str = ""
    context: str = ""
    note: str = ""

    @property
    def key(self) -> str:
        """What gettext looks the message up by."""
        return f"{self.context}{CONTEXT_SEPARATOR}{self.source}" if self.context else self.source

    @property
    def is_translated(self) -> bool:
        return bool(self.forms) and all(self.forms)


@dataclass(slots=True)
class _Draft:
    fields: dict[str, str] = field(default_factory=dict)
    is_fuzzy: bool = False

    def message(self) -> Message:
        forms = [self.fields[name] for name in sorted(self.fields) if name.startswith("msgstr")]
        return Message(
            self.fields.get("msgid", ""),
            () if self.is_fuzzy else tuple(forms),
            self.fields.get("msgid_plural", ""),
            self.fields.get("msgctxt", ""),
        )


def read(text: str) -> Iterator[Message]:
    """The messages of a PO file, without its header; a fuzzy one counts as not translated.

    >>> [(m.source, m.forms) for m in read('msgid "side"\\nmsgstr "Seite"')]
    [('side', ('Seite',))]
    """
    draft, current = _Draft(), ""
    for number, raw in enumerate(text.lstrip("\ufeff").splitlines(), start=1):
        line = raw.strip()
        starts = line.startswith(("msgctxt", "msgid ", "#"))
        if starts and any(name.startswith("msgstr") for name in draft.fields):
            yield from _finished(draft)
            draft, current = _Draft(), ""
        if line.startswith("#"):
            draft.is_fuzzy |= line.startswith("#,") and "fuzzy" in line
            continue
        if not line:
            continue
        match = _LINE.match(line)
        if match is None or not (match[1] or current):
            raise PoError(number, line)
        if match[1]:
            current = match[1] if match[2] is None else f"{match[1]}[{int(match[2]):03}]"
        draft.fields[current] = draft.fields.get(current, "") + _unescape(match[3])
    yield from _finished(draft)


def _finished(draft: _Draft) -> Iterator[Message]:
    if draft.fields.get("msgid"):
        yield draft.message()


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text)


def write(language: str, messages: Iterable[Message]) -> str:
    """A PO file of these messages, which `read` reads back.

    >>> print(write("de", [Message("side", ("Seite",), note="a.html")]).split("\\n\\n")[1])
    #. a.html
    msgid "side"
    msgstr "Seite"
    <BLANKLINE>
    """
    header = f"Language: {language}\nMIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\n"
    blocks = ['msgid ""\nmsgstr ""\n' + "\n".join(map(_quote, header.splitlines(keepends=True)))]
    for message in messages:
        lines = [f"#. {message.note}"] if message.note else []
        if message.context:
            lines.append(f"msgctxt {_quoted(message.context)}")
        lines.append(f"msgid {_quoted(message.source)}")
        if message.plural:
            lines.append(f"msgid_plural {_quoted(message.plural)}")
            forms = message.forms or ("", "")
            lines += [f"msgstr[{n}] {_quoted(form)}" for n, form in enumerate(forms)]
        else:
            lines.append(f"msgstr {_quoted(message.forms[0] if message.forms else '')}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'


def _quoted(text: str) -> str:
    """One line, or for a text of several lines one string a line."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return _quote(text)
    return '""\n' + "\n".join(map(_quote, lines))
