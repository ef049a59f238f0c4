"""Use case: answers that a model gave elsewhere become those of a run: all of a file's, or none."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from experiment.imports.read.rows import FileRefusedError, read_content
from experiment.models import Item, Study
from lib.confined import ConfinedError, confined
from lib.files import not_utf8, sha256_of
from scoring.domain.answer_lines import (
    ANSWER_COLUMNS,
    MOST_CHARACTERS,
    ReadAnswer,
    object_of,
    read_answer,
)
from scoring.domain.answer_tables import TableRow, is_table, table_rows
from scoring.domain.backend import ScoringError
from scoring.models import Answer, AnsweringRun
from scoring.services.imported_files import MOST_PROBLEMS, AnswersError, import_once

# The place of an answer, and what reads it or raises ValueError
Places = Iterator[tuple[str, Callable[[], ReadAnswer]]]


def import_answers(
    study: Study, path: Path, name: str, *, instructions: str = "", sheet: str = ""
) -> tuple[AnsweringRun, bool]:
    """The run, over, and whether it is new, as `import_once` says it. A file of lines is read twice, a line at a time.

    Args:
        path: a table with a row for each answer, or else a line of JSON for each, as `read_answer` reads it.
        name: of the model that gave them.
        instructions: what it was told, where that is known.
        sheet: of a spreadsheet, where several have the columns.
    Raises:
        AnswersError: lines or rows are wrong; nothing is stored.
        ScoringError: the file cannot be read or is empty; or no model can have the name.
    """
    places = partial(_rows, _table(path, sheet)) if is_table(path.name) else partial(_lines, path)
    checked = _check(study, places())
    if not checked.items:
        raise ScoringError(f"{path.name} does not contain any answers.")
    draft = AnsweringRun(
        study=study,
        instructions=instructions,
        items=checked.items,
        total=len(checked.items),
        identity={"file": path.name, "sha256": sha256_of(path)}
        | ({"sheet": sheet} if sheet else {}),
    )

    def rows_of(run: AnsweringRun) -> Iterator[Answer]:
        for pk, (_place, answer) in zip(checked.items, places(), strict=True):
            read = answer()
            yield Answer(
                run=run,
                item_id=pk,
                text=read.text,
                thought=read.thought,
                finish=read.finish.value,
                prompt_tokens=read.usage.prompt_tokens if read.usage else None,
                completion_tokens=read.usage.completion_tokens if read.usage else None,
                seconds=read.seconds,
                confidence=None
                if read.confidence is None
                else checked.confidence_unit * read.confidence,
            )

    return import_once(study, draft, name, instructions, rows_of)


@dataclass
class _Checked:
    """The questions that a file answers, in its order; and what is wrong with it."""

    items: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    n_problems: int = 0
    most_confident: float = 0.0

    @property
    def confidence_unit(self) -> float:
        """The size of a file's 1 on a scale to 100: 100 where nothing in it is above 1, so that it counts from 0 to 1."""
        return 100.0 if self.most_confident <= 1 else 1.0

    def add_problem(self, place: str, what: str) -> None:
        self.n_problems += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{place[0].upper()}{place[1:]}: {what}.")


def _check(study: Study, places: Places) -> _Checked:
    """Raises AnswersError, ScoringError."""
    checked, known = _Checked(), _Known(study)
    found: dict[int, str] = {}
    for place, answer in places:
        try:
            read = answer()
            pk = known.find(read)
        except ValueError as error:
            checked.add_problem(place, str(error))
            continue
        if pk in found:
            checked.add_problem(place, f"its question is answered in {found[pk]}")
        else:
            found[pk] = place
            checked.most_confident = max(checked.most_confident, read.confidence or 0.0)
    if checked.n_problems:
        raise AnswersError(checked.problems, checked.n_problems)
    checked.items = list(found)
    return checked


# Of one question, the numbers of those versions that a study holds: all and the accepted ones, the newest last
Versions = tuple[list[int], list[int]]


class _Known:
    """A study's questions, by key and by the hash of their text."""

    def __init__(self, study: Study) -> None:
        self.by_key: defaultdict[str, Versions] = defaultdict(lambda: ([], []))
        self.by_text: defaultdict[bytes, dict[str, Versions]] = defaultdict(dict)
        rows = Item.objects.filter(study_items__study=study, kind=Item.Kind.QUESTION)
        of_item = rows.order_by("version").values_list("pk", "key", "status", "markup")
        for pk, key, status, text in of_item.iterator():
            same_text = self.by_text[_digest(text)].setdefault(key, ([], []))
            for every, accepted in (self.by_key[key], same_text):
                every.append(pk)
                accepted += [pk] if status == Item.Status.ACCEPTED else []

    def find(self, read: ReadAnswer) -> int:
        """The newest that is accepted. Raises ValueError where no question, or more than one, is meant."""
        if read.key:
            found = {read.key: self.by_key[read.key]} if read.key in self.by_key else {}
        else:
            found = self.by_text.get(_digest(read.question), {})
        if not found:
            raise ValueError(
                f"the study does not have a question “{(read.key or read.question)[:80]}”"
            )
        if len(found) > 1:
            raise ValueError("several questions of the study have this text; give the key")
        ((key, (every, accepted)),) = found.items()
        if not accepted and len(every) > 1:
            raise ValueError(
                f"the study has {len(every)} versions of “{key[:80]}”, none of which is accepted"
            )
        return (accepted or every)[-1]


def _digest(text: str) -> bytes:
    return hashlib.sha256(" ".join(text.split()).encode()).digest()[:16]


def _table(path: Path, sheet: str) -> list[TableRow]:
    """Raises ScoringError: the file cannot be read."""
    how = (ANSWER_COLUMNS, ("answer",), sheet)
    try:
        return confined(table_rows, read_content(path), *how, refusals=[ValueError])
    except FileRefusedError as error:
        raise ScoringError(str(error)) from error
    except ConfinedError as error:
        raise ScoringError(f"{path.name}: {error}") from error
    except ValueError as error:
        raise ScoringError(f"{path.name}: {error}.") from error


def _rows(rows: list[TableRow]) -> Places:
    def read(row: TableRow) -> ReadAnswer:
        if row.fault:
            raise ValueError(row.fault)
        return read_answer(row.values)

    return ((row.place, partial(read, row)) for row in rows)


def _lines(path: Path) -> Places:
    """Lines that are not empty; of one that is too long its beginning.

    Raises:
        ScoringError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            number = 0
            while line := file.readline(MOST_CHARACTERS + 2):
                number += 1
                if line.strip():
                    yield f"line {number}", partial(lambda text: read_answer(object_of(text)), line)
                while line and not line.endswith("\n"):  # the rest of one that is too long
                    line = file.readline(MOST_CHARACTERS)
    except OSError as error:
        raise ScoringError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ScoringError(f"{path} cannot be read: {not_utf8(path)}.") from error
