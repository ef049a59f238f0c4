from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.models import Study
from lib.commands import table_lines
from scoring.backends.registry import WRITERS, WRITING_HINTS
from scoring.domain.generating import Finish
from scoring.management.writing import (
    WritingCommand,
    check_over,
    content_of,
    read_asked,
    run_data,
    spending_lines,
    unread_lines,
)
from scoring.models import AnsweringRun
from scoring.services import answering, imported_answers
from scoring.services.answering_cost import Cost, costs, finishes, states
from scoring.services.asking.settings import newest_same


class Command(WritingCommand):
    help = "Have a language model answer a study's questions, or import answers from elsewhere."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", metavar="SLUG", required=True)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--model", dest="generator", choices=[k.name for k in WRITERS])
        source.add_argument(
            "--file",
            type=Path,
            metavar="ANSWERS.jsonl",
            help='answers from elsewhere, one per line: {"key" or "question", "answer"}, and if known "finish", '
            '"prompt_tokens", "completion_tokens", "seconds", "confidence"; needs --name',
        )
        parser.add_argument(
            "--name", help="name of the model in tables; usually the name that loads it"
        )
        parser.add_argument(
            "--model_args",
            default="",
            metavar="NAME=VALUE,…",
            help=f"{WRITING_HINTS}; any: top_p, seed, think_end_token, enable_thinking, reasoning_effort",
        )
        parser.add_argument(
            "--system",
            type=Path,
            metavar="FILE",
            help="file with instructions to the model instead of the built-in ones",
        )
        parser.add_argument(
            "--max_tokens", metavar="N", help="maximum number of tokens per answer (default: 1024)"
        )
        parser.add_argument(
            "--temperature",
            metavar="T",
            help="default: 0, the most likely words; write “none” to use the server's default",
        )
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N questions")
        parser.add_argument(
            "--confidence",
            action="store_true",
            help="ask after each answer how confident the model is, 0 to 100",
        )
        self.add_cost_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        told = content_of(options["system"])
        if options["file"]:
            if not options["name"]:
                raise CommandError("--file needs --name with the name of the model.")
            run = imported_answers.import_answers(
                study, options["file"], options["name"], instructions=told
            )
        else:
            run = self._answered(study, told, options)
        self.report(options, _data(run), _lines(run))
        check_over(run, run.answers.all())

    def _answered(self, study: Study, told: str, options: Mapping[str, Any]) -> AnsweringRun:
        named = {name: options[name] for name in ("max_tokens", "temperature")}
        asked = read_asked(options, named)
        draft = answering.answering_run(
            study,
            asked,
            name=options["name"] or "",
            instructions=told,
            limit=options["limit"],
            asks_confidence=options["confidence"],
        )
        run = self._run_for(draft, options)
        return self.work_off(run, answering.run, ("answers", "questions"), options)

    def _run_for(self, draft: AnsweringRun, options: Mapping[str, Any]) -> AnsweringRun:
        """The run to go on with, or a new one; this command's own for a moment."""
        same = newest_same(draft)
        has_left = same is not None and (same.is_open or answering.can_resume(same))
        kept = partial(answering.reopen, same) if same is not None and options["resume"] else None
        return self.go_on_or_begin(draft, kept, same if has_left else None, options)


def _data(run: AnsweringRun) -> dict[str, Any]:
    return {
        **run_data(run, answering.spent(run)),
        "model": run.language_model.name,
        "questions": run.total,
        "states": finishes(run.answers.all()),
        "states_by_category": [
            {"dimension": row.dimension, "category": row.category, "states": row.counts}
            for row in states(run.answers.all())
        ],
        "costs": [_cost_data(cost) for cost in costs(run.study)],
    }


def _cost_data(cost: Cost) -> dict[str, Any]:
    return {
        "model": cost.name,
        "questions": cost.n,
        **asdict(cost.usage),
        "seconds": round(cost.seconds, 3),
        "cost": float(cost.money) if cost.n_priced else None,
        "prompt_tokens_per_1000": cost.read_per_1000,
        "completion_tokens_per_1000": cost.written_per_1000,
        "seconds_per_1000": cost.seconds_per_1000,
        "cost_per_1000": cost.money_per_1000,
    }


def _lines(run: AnsweringRun) -> Iterator[Any]:
    counted = finishes(run.answers.all())
    told = [f"{counted[f]} {f.value}" for f in Finish if counted[f]]
    yield f"Run {run.pk}, {run.language_model.name}: {', '.join(told) or 'nothing answered'}."
    yield from unread_lines(answering.unread(run))
    yield from spending_lines(answering.spent(run))
    yield ""
    yield from table_lines((_cost_cells(cost) for cost in costs(run.study)), left=("model",))


def _cost_cells(cost: Cost) -> dict[str, str]:
    def number(value: float | None, form: str = ",.0f") -> str:
        return "" if value is None else format(value, form)

    return {
        "model": cost.name,
        "questions": number(cost.n),
        "read": number(cost.usage.prompt_tokens if cost.n_known else None),
        "written": number(cost.usage.completion_tokens if cost.n_known else None),
        "seconds": number(cost.seconds if cost.n_timed else None),
        "cost": number(float(cost.money) if cost.n_priced else None, ",.4f"),
        "read/1,000": number(cost.read_per_1000),
        "written/1,000": number(cost.written_per_1000),
        "seconds/1,000": number(cost.seconds_per_1000),
        "cost/1,000": number(cost.money_per_1000, ",.4f"),
    }
