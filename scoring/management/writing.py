"""What `draft_items` and `review_items` share: which model is asked, and what it may cost."""

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, TypeVar

from django.core.management.base import CommandError, CommandParser

from experiment.management.studies import find_study
from experiment.models import ResearchField
from lib.commands import ReportingCommand, add_json_argument
from scoring.backends import parse_model_args
from scoring.backends.generating import OPENED_BY
from scoring.domain.backend import ScoringError
from scoring.models.generating import WritingJob
from scoring.services.generating.settings import Asked
from scoring.services.generating.spending import Spending

INTERRUPTED = 130  # as shells report it
COSTS = ("prompt_price", "completion_price", "budget_tokens", "budget_money")
J = TypeVar("J", bound=WritingJob)
NAMED_BY = {"chat": "model", "hf": "pretrained"}


class WritingCommand(ReportingCommand):
    """A command that has a model write."""

    generator_flag = "--generator"

    def add_arguments(self, parser: CommandParser) -> None:
        about = parser.add_mutually_exclusive_group(required=True)
        about.add_argument("--field", metavar="SLUG", help="the field of research")
        about.add_argument("--study", metavar="SLUG", help="or a study, whose field it is")
        parser.add_argument(
            self.generator_flag, dest="generator", choices=list(OPENED_BY), required=True
        )
        parser.add_argument(
            "--model", help="its name on the server; hf: its folder or name on the Hub"
        )
        parser.add_argument("--base_url", help="chat: where the server is, http://HOST:PORT")
        parser.add_argument(
            "--model_args",
            default="",
            metavar="NAME=VALUE,…",
            help="max_tokens, temperature, top_p, seed; chat: concurrency, timeout, retry_seconds; hf: dtype, device, …",
        )
        parser.add_argument("--price-in", type=_money, metavar="P", help="of a million tokens read")
        parser.add_argument(
            "--price-out", type=_money, metavar="P", help="of a million tokens written"
        )
        parser.add_argument(
            "--budget-tokens", type=int, metavar="N", help="read and written, of the whole run"
        )
        parser.add_argument(
            "--budget-money", type=_money, metavar="M", help="in the prices' currency"
        )
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N")
        parser.add_argument(
            "--resume", action="store_true", help="go on with the newest run of the same settings"
        )
        add_json_argument(parser)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Whatever keeps the model from writing ends the command with its one sentence."""
        try:
            return super().execute(*args, **options)
        except ScoringError as error:
            if options.get("json") and not self.has_reported:
                self.report(options, {"error": error.for_terminal}, ())
            raise CommandError(error.for_terminal) from error


def asked_of(options: Mapping[str, Any]) -> Asked:
    """The model and its costs.

    Raises:
        ScoringError: they cannot be meant.
    """
    kind, args = options["generator"], parse_model_args(options["model_args"])
    named = {NAMED_BY.get(kind, "model"): options["model"], "base_url": options["base_url"]}
    for name, value in named.items():
        if value and args.setdefault(name, value) != value:
            raise ScoringError(f"{name} is given twice.", option="--model_args")
    asked = Asked(
        kind,
        args,
        prompt_price=options["price_in"],
        completion_price=options["price_out"],
        budget_tokens=options["budget_tokens"],
        budget_money=options["budget_money"],
    )
    asked.check()
    return asked


def find_field(options: Mapping[str, Any]) -> ResearchField:
    """The field of this name, or of a study's.

    Raises:
        CommandError: there is none.
    """
    if options["study"]:
        study = find_study(options["study"])
        found = ResearchField.objects.filter(name=study.field).first()
        if found is None:
            raise CommandError(
                f"The study names no field with test cases of its own (“{study.field}”): --field SLUG."
            )
        return found
    found = ResearchField.objects.filter(slug=options["field"]).first()
    if found is None:
        known = (
            ", ".join(ResearchField.objects.values_list("slug", flat=True)) or "there is none yet"
        )
        raise CommandError(f"There is no field “{options['field']}” ({known}).")
    return found


def content_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(
            f"{path} cannot be read: {getattr(error, 'strerror', '') or error}."
        ) from error


def renew_costs(run: J, draft: J) -> J:
    """A run that goes on, with the prices and budgets of now."""
    for name in COSTS:
        setattr(run, name, getattr(draft, name))
    run.save(update_fields=COSTS)
    return run


def check_over(job: WritingJob) -> None:
    """Raises CommandError where the job has not come to its end."""
    if job.status == job.Status.FINISHED:
        return
    if job.is_open:
        raise CommandError(f"Run {job.pk} is being worked on by {job.worker or 'a worker'}.")
    reason = job.error or "It was stopped."
    raise CommandError(
        f"{reason} Run {job.pk} stands at {job.done} of {job.total}; --resume goes on."
    )


def spending_data(spending: Spending) -> dict[str, Any]:
    """For JSON."""
    return {
        "requests": spending.answers,
        "prompt_tokens": spending.usage.prompt_tokens,
        "completion_tokens": spending.usage.completion_tokens,
        "answers_without_usage": spending.unknown,
        "cost": None if spending.cost is None else float(spending.cost),
        "seconds": round(spending.seconds, 3),
    }


def spending_lines(spending: Spending) -> Iterator[str]:
    usage = spending.usage
    unknown = f" ({spending.unknown} answers say none)" if spending.unknown else ""
    yield (
        f"{spending.answers:,} answers in {spending.seconds:,.0f} s of waiting: {usage.prompt_tokens:,} tokens read, "
        f"{usage.completion_tokens:,} written{unknown}."
    )
    if spending.cost is not None:
        yield f"Cost: {spending.cost:,.4f}."


def _money(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise CommandError(f"“{text}” is no amount.") from error
    if not 0 <= value < 1_000_000:
        raise CommandError(f"“{text}” is no amount from 0 to a million.")
    return value
