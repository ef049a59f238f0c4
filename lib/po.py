"""PO files, gettext's format for translators, read and written by polib."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polib

from lib.confined import confined

CONTEXT_SEPARATOR = "\x04"


class PoError(ValueError):
    """A line that is none of a PO file's."""

    def __init__(self, number: int, line: str) -> None:
        self.number, self.line = number, line[:60]
        super().__init__(number, self.line)

    def __str__(self) -> str:
        return f"line {self.number} does not belong to a PO file: {self.line}"


@dataclass(frozen=True, slots=True)
class Message:
    """A text and what it is in another language: one form, or one for each plural form.

    No form, or an empty first one, means not translated.
    """

    source: str
    forms: tuple[str, ...] = ()
    plural: str = ""
    context: str = ""
    note: str = ""

    @property
    def key(self) -> str:
        """The key by which gettext looks the message up."""
        return f"{self.context}{CONTEXT_SEPARATOR}{self.source}" if self.context else self.source

    @property
    def is_translated(self) -> bool:
        return bool(self.forms) and all(self.forms)


def read(text: str) -> Iterator[Message]:
    """The messages of a PO file, without its header; a fuzzy one counts as not translated.

    >>> [(m.source, m.forms) for m in read('msgid "side"\\nmsgstr "Seite"')]
    [('side', ('Seite',))]
    """
    return _messages(_parsed(text))


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file with the lines of its header."""

    messages: list[Message]
    header: dict[str, str]


def read_sent(data: bytes) -> SentFile:
    """A file that somebody sent, read in a process of its own.

    Raises:
        UnicodeDecodeError, PoError: it is no PO file.
        ConfinedError: it takes too much.
    """
    return confined(_read_sent, data.decode("utf-8-sig").encode(), refusals=[PoError])


def _read_sent(data: bytes) -> SentFile:
    file = _parsed(data.decode())
    return SentFile(list(_messages(file)), dict(file.metadata))


def _parsed(text: str) -> polib.POFile:
    try:
        # A text that begins with a line break is nobody's path, which polib would open
        return polib.pofile("\n" + text.lstrip("\ufeff"), wrapwidth=0)
    except (OSError, ValueError) as error:
        found = re.search(r"\(line (\d+)\)", str(error))
        number = int(found[1]) - 1 if found else 1
        lines = text.splitlines()
        raise PoError(number, lines[number - 1] if 0 < number <= len(lines) else "") from error


def _messages(file: polib.POFile) -> Iterator[Message]:
    for entry in file:
        if entry.msgid and not entry.obsolete:
            plurals = entry.msgstr_plural
            forms = [plurals[n] for n in sorted(plurals)] if entry.msgid_plural else [entry.msgstr]
            yield Message(
                entry.msgid,
                () if entry.fuzzy else tuple(forms),
                entry.msgid_plural,
                entry.msgctxt or "",
            )


def write(language: str, messages: Iterable[Message], more: Mapping[str, str] | None = None) -> str:
    """A PO file of these messages, which `read` reads back; `more` are lines of its header."""
    file = polib.POFile(wrapwidth=0)
    file.metadata = {
        "Language": language,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=UTF-8",
        **(more or {}),
    }
    for message in messages:
        forms = message.forms or (("", "") if message.plural else ("",))
        entry = polib.POEntry(
            msgid=message.source, msgctxt=message.context or None, comment=message.note
        )
        if message.plural:
            entry.msgid_plural, entry.msgstr_plural = message.plural, dict(enumerate(forms))
        else:
            entry.msgstr = forms[0]
        file.append(entry)
    return str(file).removeprefix("#\n")
