"""The common parts of commands: `--json`, tables and progress.

`--json` prints one JSON object on standard output, and nothing else there. Progress goes to standard error, and only
to a terminal.
"""

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol, cast

from django.core.checks import Tags
from django.core.exceptions import ValidationError
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    OutputWrapper,
)
from django.core.serializers.json import DjangoJSONEncoder
from django.db import DatabaseError
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from lib import disk
from lib.names import printed
from lib.shapes import Shape, faults

INTERRUPTED = 130  # as shells report it
GOES_ON = "Stopped. Run the same command to continue."


class StoppedError(CommandError):
    """Somebody has pressed Ctrl-C; the sentence says what that leaves."""

    def __init__(
        self, sentence: str = "Stopped. Run the same command with --resume to continue."
    ) -> None:
        super().__init__(sentence, returncode=INTERRUPTED)


class PrintedOutput(OutputWrapper):
    """Where a command says how it goes: a name in it must not talk to the terminal."""

    def write(self, msg: str = "", *args: Any, **options: Any) -> None:  # type: ignore[override]
        super().write(printed(msg), *args, **options)


class ReportingCommand(BaseCommand):
    """A command with `--json`. A failure prints {"error": ...} there, besides the sentence for people."""

    # Addresses and the admin are code alone, and as long to load as all the rest: `check` and `migrate` look at them
    requires_system_checks: tuple[str, ...] = ("site", Tags.models, Tags.security)
    # What `--json` prints, as lib/shapes.py writes it; docs/interface.json promises it
    prints: ClassVar[Shape] = None
    is_checked = False  # tests/conftest.py has it so: a command at work never fails for it
    has_reported = False

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            try:
                return super().execute(*args, **options)
            except BrokenPipeError:
                raise  # who read the output has seen enough
            except (OSError, DatabaseError) as error:
                # A disk that is full, and a file that may not be written, end the command in one sentence
                if not (sentence := disk.sentence(error)):
                    raise
                raise CommandError(f"{sentence}.") from error
            except ValidationError as error:  # a name that no row takes, for instance
                raise CommandError(" ".join(error.messages)) from error
        except (
            CommandError,
            DatabaseError,
        ) as error:  # of the latter, manage.py makes the sentence
            if isinstance(error, CommandError):
                error.args = (printed(str(error)),)
            if options.get("json") and not self.has_reported:
                self.report(options, {"error": str(error).strip()}, ())
            raise

    def __setattr__(self, name: str, value: Any) -> None:
        # Django sets it in two places, of which the second is in the midst of `execute`
        if name == "stderr" and not isinstance(value, PrintedOutput):
            value = PrintedOutput(getattr(value, "_out", value))
        super().__setattr__(name, value)

    def report(
        self, options: Mapping[str, Any], data: Mapping[str, Any], lines: Iterable[str]
    ) -> None:
        """Print the result: `data` as JSON where it was asked for, else `lines` for people."""
        self.has_reported = True
        text = json.dumps(data, cls=DjangoJSONEncoder) if options["json"] or self.is_checked else ""
        if self.is_checked and self.prints is not None and data.keys() != {"error"}:
            wrong = faults(self.prints, json.loads(text))
            assert not wrong, (
                f"--json and `prints` of {type(self).__module__} differ: {'; '.join(wrong)}. Keys are public (docs/promises.md): declare "
                "a new one, and keep an old one until the next major version."
            )
        if options["json"]:
            self.stdout.write(text)
        else:
            # A name must not talk to the terminal
            self.stdout.write(printed("\n".join(lines)))


def output_file(named: str) -> Path:
    """The path of a file to write. Raises CommandError where something else has this name."""
    path = Path(named)
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise CommandError(f"{path} exists and is not a regular file. Name another file.")
    return path


def binary_output() -> BinaryIO:
    """Standard output, for bytes."""
    # A test's stream has no buffer
    return cast("BinaryIO", getattr(sys.stdout, "buffer", sys.stdout))


def add_json_argument(parser: CommandParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object on standard output instead of text",
    )


def table_lines(rows: Iterable[Mapping[str, str]], left: Collection[str] = ()) -> Iterator[str]:
    """Rows under the names of the first one's cells: texts to the `left`, numbers to the right.

    A terminal folds long cells; elsewhere a row is a line, however long.
    """
    rows = list(rows)
    if not rows:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in rows[0]:
        table.add_column(
            name, justify="left" if name in left else "right", no_wrap=name not in left
        )
    for row in rows:
        table.add_row(*(Text(printed(cell, keep="")) for cell in row.values()))
    width = None if sys.stdout.isatty() else 10_000
    console = Console(file=StringIO(), width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    yield from (line.rstrip() for line in capture.get().splitlines())


class Update(Protocol):
    def __call__(self, done: int, total: int | None = None, note: str = "") -> None:
        """So much is done, of another total where that was not known before; the note stays until the next one."""


@contextmanager
def progress(
    description: str, total: int | None, unit: str = "", *, done: int = 0, quiet: bool = False
) -> Iterator[Update]:
    """A bar with rate and remaining time; call what it gives with how much is done."""
    rate, noted = TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[note]}")
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), rate, TimeRemainingColumn(), noted)  # fmt: skip
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(
            escape(printed(description, keep="")), total=total, completed=done, rate="", note=""
        )

        def update(done: int, total: int | None = None, note: str = "") -> None:
            bar.update(task, completed=done, total=total)
            if note:
                bar.update(task, note=escape(printed(note, keep="")))
            speed = bar.tasks[0].speed
            if speed:
                bar.update(task, rate=f"{speed:,.1f} {unit}/s")

        yield update


@contextmanager
def step_progress(*, lines: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each step whose total is known, on a terminal; with `lines`, a line for each other step, and for all elsewhere."""
    console = Console(stderr=True)
    columns = ("{task.description}", BarColumn(), TextColumn("{task.completed:,.0f}"), TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        tasks: dict[str, TaskID | None] = {}

        def announce(step: str, done: int, total: int) -> None:
            if step not in tasks:
                is_line = lines and not (total and console.is_terminal)
                if is_line:
                    console.print(f"{printed(step)} ...", markup=False, highlight=False, soft_wrap=True)  # fmt: skip
                tasks[step] = None if is_line else bar.add_task(step, total=total or None)
            if (task := tasks[step]) is not None:
                bar.update(task, completed=done)

        yield announce
