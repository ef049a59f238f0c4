"""The common part of commands that have a model write: which model is asked, and what it may cost."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.db.models import QuerySet

from experiment.management import finding
from experiment.models import ResearchField
from lib.commands import (
    ReportingCommand,
    StoppedError,
    add_json_argument,
    progress,
    table_lines,
)
from lib.files import not_utf8
from lib.jobs import leases
from lib.shapes import Shape
from scoring.backends import parse_model_args
from scoring.backends.registry import WRITERS, WRITING_HINTS, kind_of
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish
from scoring.models.answers import GeneratingJob, WritingJob
from scoring.services.asking.forecast import Forecast
from scoring.services.asking.settings import Asked, Spending, Unread

J = TypeVar("J", bound=GeneratingJob)


def numbers_of(text: str) -> list[int]:
    if not all(number.strip().isdecimal() for number in text.split(",")):
        raise ArgumentTypeError(f"“{text}” is not a list of numbers separated by commas")
    return [int(number) for number in text.split(",")]


def money(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise CommandError(f"“{text}” is not an amount.") from error
    if not 0 <= value < 1_000_000:
        raise CommandError(f"“{text}” is not an amount from 0 to a million.")
    return value


# Columns of a run that are options of the same name
COSTS: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "prompt_price": (money, "price per million tokens read"),
    "completion_price": (money, "price per million tokens written"),
    "budget_tokens": (int, "maximum number of tokens, read and written, of the whole run"),
    "budget_money": (money, "maximum cost, in the prices' currency"),
}


class ModelCommand(ReportingCommand):
    """A command that needs a model."""

    def foretells(
        self,
        options: Mapping[str, Any],
        forecast: Callable[..., Forecast],
        drafts: Sequence[Callable[[], Any]],
    ) -> bool:
        """True if only the cost was asked for, which is said.

        Args:
            forecast: of the service whose runs `drafts` make.
        """
        if not (options["dry_run"] or options["count_tokens"]):
            return False
        found = [forecast(draft, asks=options["count_tokens"]) for draft in drafts]
        self.report(options, {"runs": [one.to_json() for one in found]}, _forecast_lines(found))
        return True

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Ends the command with one sentence if something keeps a model from its work."""
        try:
            return super().execute(*args, **options)
        except ScoringError as error:
            if options.get("json") and not self.has_reported:
                self.report(options, {"error": error.for_terminal}, ())
            raise CommandError(error.for_terminal) from error

    def go_on_or_begin(
        self,
        draft: J,
        same: J | None,
        can_resume: Callable[[J], bool],
        reopen: Callable[[J], J],
        options: Mapping[str, Any],
        store: Callable[[J], object] | None = None,
    ) -> J:
        """The run to go on with, or a new one; this command's own for a moment.

        Args:
            same: the newest run of the same settings.
            can_resume: true of one that is over with something left.
            reopen: opens the run to go on with.
            store: keeps a new one.
        """
        goes_on = same is not None and options["resume"]
        with transaction.atomic():
            if same is not None and goes_on:
                run = renew(reopen(same), draft)
            else:
                # Of runs about a field, each has texts of its own
                if options["resume"] and not isinstance(draft, WritingJob):
                    _refuse_other(draft)
                (store or type(draft).save)(draft)
                run = draft
            leases.reserve(run)
        if options["resume"] and not goes_on:
            self.stderr.write(f"No earlier run has these settings. Run {run.pk} starts.")
        elif same is not None and not goes_on and (same.is_open or can_resume(same)):
            # It may cost what this one has cost already
            stands = "is in progress" if same.is_open else "has stopped"
            self.stderr.write(
                f"Run {same.pk} with the same settings {stands} at {same.done} of {same.total}; --resume would continue it. Run "
                f"{run.pk} starts from the beginning."
            )
        return run

    def work_off(
        self,
        run: J,
        work: Callable[[J, Callable[[J], None]], J],
        words: tuple[str, str],
        options: Mapping[str, Any],
    ) -> J:
        """Do what is left of it, with a bar; `words` are what becomes of what, as the bar says it.

        Raises:
            StoppedError: somebody has pressed Ctrl-C; what is done stays.
        """
        made, of = words
        try:
            with progress(made, run.total, of, done=run.done, quiet=options["json"]) as update:
                return work(run, lambda job: update(job.done))
        except KeyboardInterrupt as interrupt:
            raise StoppedError from interrupt


def _forecast_lines(found: list[Forecast]) -> Iterator[Any]:
    yield from table_lines((one.cells() for one in found), left=("model",))
    yield (
        "If no request has to be repeated, tokens and costs are upper bounds, because every answer is assumed to use all of "
        "max_tokens. Tokens read are estimated from the number of bytes."
    )
    if any(one.expected is not None for one in found):
        yield (
            "Expected tokens and costs are extrapolated from questions that the server has counted, five or those of an earlier "
            "run. Repeated requests and corrections come on top."
        )
    if any(one.seconds is None for one in found):
        yield "The time is not known, because this model has not answered such questions on this site."


def add_costs(parser: CommandParser) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="only estimate requests, tokens, cost and time"
    )
    parser.add_argument(
        "--count-tokens",
        action="store_true",
        help="as --dry-run, and ask five questions to count their tokens by what the server reports",
    )
    for name, (kind, about) in COSTS.items():
        parser.add_argument(f"--{name}", type=kind, metavar="N", help=about)


class WritingCommand(ModelCommand):
    """A command that has a model write."""

    generator_flag = "--generator"

    def add_arguments(self, parser: CommandParser) -> None:
        add_field_arguments(parser)
        parser.add_argument(
            self.generator_flag, dest="generator", choices=[k.name for k in WRITERS], required=True
        )
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N")
        parser.add_argument(
            "--instructions",
            type=Path,
            metavar="FILE",
            help="file with instructions to the model instead of the built-in ones",
        )
        self.add_model_arguments(parser)

    def add_model_arguments(self, parser: CommandParser) -> None:
        """How the model is reached, and what it may cost."""
        parser.add_argument(
            "--model",
            help="name of the model on the server; for a model in this process: folder or name on the Hub",
        )
        parser.add_argument("--base_url", help="address of the server, http://HOST:PORT")
        parser.add_argument(
            "--model_args",
            default="",
            metavar="NAME=VALUE,…",
            help=f"max_tokens, temperature, top_p, seed; {WRITING_HINTS}",
        )
        self.add_cost_arguments(parser)

    def add_cost_arguments(self, parser: CommandParser) -> None:
        add_costs(parser)
        parser.add_argument(
            "--resume",
            action="store_true",
            help="continue the newest run with the same settings, and repeat failed requests",
        )
        add_json_argument(parser)


def read_asked(options: Mapping[str, Any], named: Mapping[str, Any] | None = None) -> Asked:
    """The model and its costs, before it is known whether they can be meant.

    Args:
        named: what options of their own say of `--model_args`; here how the model is reached.
    """
    kind, args = options["generator"], parse_model_args(options["model_args"])
    if named is None:
        found = kind_of(kind)
        name = (found.named_by if found else "") or "model"
        named = {name: options["model"], "base_url": options["base_url"]}
    for name, value in named.items():
        if value and args.setdefault(name, value) != value:
            raise ScoringError(f"{name} is given twice.", option="--model_args")
    return Asked(
        kind,
        args,
        **{column: options[column] for column in COSTS},
    )


def add_field_arguments(parser: CommandParser) -> None:
    """Adds the options that `find_field` reads."""
    about = parser.add_mutually_exclusive_group(required=True)
    about.add_argument("--field", metavar="SLUG", help="the field of research")
    about.add_argument("--study", metavar="SLUG", help="or the field of a study")


def find_field(options: Mapping[str, Any]) -> ResearchField:
    """The field of this name, or of a study's.

    Raises:
        CommandError: there is none.
    """
    if options["study"]:
        study = finding.find_study(options["study"])
        found = ResearchField.objects.filter(name=study.field).first()
        if found is None:
            raise CommandError(
                f"The study's field (“{study.field}”) does not have test cases. Use --field SLUG."
            )
        return found
    return finding.find_field(options["field"])


def content_of(path: Path | None) -> str:
    """The content of a file; nothing where none is named.

    Raises:
        CommandError: it cannot be read.
    """
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} cannot be read: {not_utf8(path)}.") from error


def renew(run: J, draft: J) -> J:
    """A run that goes on, with the prices and budgets that are given now, and as fast as it is asked now."""
    given = {name: getattr(draft, name) for name in COSTS}
    changes = {name: value for name, value in given.items() if value is not None}
    if run.is_open and not leases.is_held(run):
        changes["model_args"] = draft.model_args
    for name, value in changes.items():
        setattr(run, name, value)
    if changes:
        run.save(update_fields=list(changes))
    return run


def _refuse_other(draft: Any) -> None:
    """Nothing is begun in place of a run that somebody may mean to go on with.

    Raises:
        ScoringError: one of the same model about the same study, under other settings, has not come to its end.
    """
    names = ("study", "generator", "language_model")
    runs = type(draft).objects.filter(**{name: getattr(draft, name) for name in names})
    left = runs.exclude(status=GeneratingJob.Status.FINISHED).order_by("-pk").first()
    if left is not None:
        raise ScoringError(
            f"There is no run with these settings to continue. Run {left.pk} of the same model with other settings has "
            f"reached {left.done} of {left.total}. Give its settings, or leave out --resume to start again.",
            option="--resume",
        )


def check_over(job: GeneratingJob, answers: QuerySet[Any] | None = None) -> None:
    """After the results: what is left to be done makes the command fail, in its last line.

    Args:
        answers: of a run that goes on after a question that fails.
    Raises:
        CommandError: the job has not come to its end, or some questions have failed.
    """
    if job.status == job.Status.FINISHED:
        failed = answers.filter(finish=Finish.FAILED) if answers is not None else None
        if failed is not None and (last := failed.order_by("pk").last()):
            raise CommandError(
                f"{failed.count():,} of {job.total:,} requests of run {job.pk} failed; the last: {last.detail.rstrip('.')}. All "
                "other answers are stored. The same command with --resume repeats the requests that failed."
            )
        return
    if job.is_open:
        raise CommandError(f"Run {job.pk} is being done by {job.worker or 'a worker'}.")
    reason = job.error or "It was stopped."
    raise CommandError(
        f"{reason} Run {job.pk} has reached {job.done} of {job.total}. --resume continues it."
    )


RUN_SHAPE: dict[str, Shape] = {
    "run": int,
    "status": str,
    "error": str,
    "requests": int,
    "prompt_tokens": int,
    "completion_tokens": int,
    "answers_without_usage": int,
    "cost": float | None,
    "seconds": float,
}


FORECAST_SHAPE: dict[str, Shape] = {
    "model": str,
    "requests": int,
    "prompt_tokens": int,
    "completion_tokens": int,
    "cost": float | None,
    "seconds": float | None,
    "n_counted": int,
    "expected_prompt_tokens": int | None,
    "expected_completion_tokens": int | None,
    "expected_cost": float | None,
}
DRY_RUN_SHAPE: dict[str, Shape] = {"runs": [FORECAST_SHAPE]}


def run_data(run: GeneratingJob, spending: Spending) -> dict[str, Any]:
    """For JSON."""
    return {
        "run": run.pk,
        "status": run.status,
        "error": run.error,
        "requests": spending.answers,
        "prompt_tokens": spending.usage.prompt_tokens,
        "completion_tokens": spending.usage.completion_tokens,
        "answers_without_usage": spending.unknown,
        "cost": None if spending.cost is None else float(spending.cost),
        "seconds": round(spending.seconds, 3),
    }


def import_lines(run: GeneratingJob, is_new: bool) -> Iterator[str]:
    if not is_new:
        yield f"This file was imported before, as run {run.pk}; nothing was stored."


def unread_lines(unread: Unread) -> Iterator[str]:
    if unread.is_much:
        yield (
            f"{unread.n:,} of {unread.of:,} texts ({unread.share:.0%}) could not be read. Check these texts before you use "
            "the rest."
        )


def spending_lines(spending: Spending) -> Iterator[str]:
    usage = spending.usage
    if spending.answers and spending.unknown == spending.answers:
        yield f"{spending.answers:,} answers in {spending.seconds:,.0f} s; the number of tokens is unknown."
        return
    unknown = f" (not reported for {spending.unknown} answers)" if spending.unknown else ""
    yield (
        f"{spending.answers:,} answers in {spending.seconds:,.0f} s: {usage.prompt_tokens:,} tokens read, "
        f"{usage.completion_tokens:,} written{unknown}."
    )
    if spending.cost is not None:
        yield f"Cost: {spending.cost:,.4f}."
