"""Arguments and progress that the commands about results share."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandError, CommandParser
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

from analysis.data.filters import PARTICIPANTS, TEXTS, TRIALS, ReportOptions
from lib.names import printed

if TYPE_CHECKING:
    from analysis.stats.graded.bert_score import Vectors

LONGEST = 60  # letters of what is worked on


def add_trial_arguments(parser: CommandParser) -> None:
    """--kind, --texts, --trials, --seed and --resamples, as ReportOptions has them."""
    default = ReportOptions()
    parser.add_argument(
        "--kind",
        "--participants",
        dest="participants",
        choices=PARTICIPANTS,
        default="",
        help=(
            "kind of participants (default: the only kind that exists; if there are several, real, or imported if all other "
            "participants are simulated)"
        ),
    )
    parser.add_argument(
        "--texts",
        choices=TEXTS,
        default=default.texts,
        help="version of test cases whose published text is damaged (default: as-published)",
    )
    parser.add_argument(
        "--trials",
        choices=TRIALS,
        default=default.trials,
        help="analysed: excluded participants and trials are left out (default); all: every judged trial",
    )
    parser.add_argument(
        "--seed", type=int, default=default.seed, help="seed of all random numbers (default: 42)"
    )
    parser.add_argument(
        "--resamples",
        type=int,
        default=default.resamples,
        help="resamples of test cases and participants for intervals (default: 10000)",
    )


def place(name: str) -> Path:
    """A file or folder that is named.

    Raises:
        argparse.ArgumentTypeError: the name is empty.
    """
    if not name:
        raise argparse.ArgumentTypeError("the name is empty")
    return Path(name)


class Bar:
    """Shows on standard error what is being worked on, to a terminal. `total` steps; None: unknown."""

    def __init__(self, total: int | None) -> None:
        console = Console(stderr=True)
        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bar = Progress(
            *columns, console=console, disable=not console.is_terminal, transient=True
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def step(self, name: str) -> None:
        """Begin the next step."""
        self.announce(name)
        self._bar.advance(self._task)

    def announce(self, name: str) -> None:
        """Say what is being worked on."""
        short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
        self._bar.update(self._task, description=escape(printed(short, keep="")))


def add_bert_arguments(parser: CommandParser, what: str) -> None:
    """--bert_score FOLDER and --layer N; `what` goes before how the model is named."""
    parser.add_argument(
        "--bert_score",
        type=place,
        metavar="FOLDER",
        help=f"{what}, by the encoder or decoder in this folder",
    )
    parser.add_argument(
        "--layer",
        type=int,
        metavar="N",
        help="layer of that model's hidden states (default: the last)",
    )


def open_vectors(options: dict[str, Any]) -> "Vectors | None":
    """The model that was named, loaded; None without one.

    Raises:
        CommandError: it cannot be loaded, or a layer is named and no model.
    """
    folder, layer = options["bert_score"], options["layer"]
    if folder is None:
        if layer is not None:
            raise CommandError("--layer needs --bert_score.")
        return None
    # Here: torch takes seconds to load
    from analysis.stats.graded.bert_score import Vectors
    from scoring.backends.model_files import weights_sha256
    from scoring.backends.token_vectors import TokenVectors
    from scoring.domain.backend import ScoringError

    try:
        vectors = TokenVectors(folder, layer)
    except ScoringError as error:
        raise CommandError(str(error)) from error
    which = "last layer" if layer is None else f"layer {layer}"
    name = f"{folder.resolve().name} ({which}, weights {weights_sha256(folder)[:12]})"
    return Vectors(name, vectors.of)
