from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.management.importing import add_sheet
from lib.commands import table_lines
from lib.shapes import Either
from scoring.backends.registry import WRITERS, WRITING_HINTS
from scoring.domain.generating import Finish
from scoring.management.writing import (
    DRY_RUN_SHAPE,
    RUN_SHAPE,
    WritingCommand,
    check_over,
    content_of,
    import_lines,
    read_asked,
    run_data,
    spending_lines,
    unread_lines,
)
from scoring.models import AnsweringRun
from scoring.services import answering
from scoring.services.answering_cost import costs, finishes, states
from scoring.services.asking.settings import newest_same
from scoring.services.imported_answers import import_answers


class Command(WritingCommand):
    help = "Have a language model answer a study's questions, or import answers from elsewhere."
    prints = Either(
        run=RUN_SHAPE
        | {
            "model": str,
            "questions": int,
            "states": {str: int},
            "states_by_category": [{"dimension": str, "category": str, "states": {str: int}}],
            "costs": [
                {
                    "model": str,
                    "questions": int,
                    "prompt_tokens": int,
                    "completion_tokens": int,
                    "thought_tokens": int,
                    "seconds": float,
                    "cost": float | None,
                    "prompt_tokens_per_1000": float | None,
                    "completion_tokens_per_1000": float | None,
                    "seconds_per_1000": float | None,
                    "cost_per_1000": float | None,
                }
            ],
            "is_new?": bool,
        },
        dry_run=DRY_RUN_SHAPE,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", metavar="SLUG", required=True)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--model", dest="generator", choices=[k.name for k in WRITERS])
        source.add_argument(
            "--file",
            type=Path,
            metavar="FILE",
            help="answers from elsewhere, one in each row of a table (.xlsx, .ods, CSV, Parquet) or line of JSON: key or question, answer, "
            "and if known finish, prompt_tokens, completion_tokens, seconds, confidence; needs --name",
        )
        add_sheet(parser)
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
            about = {"instructions": told, "sheet": options["sheet"]}
            run, is_new = import_answers(study, options["file"], options["name"], **about)
            lines = chain(import_lines(run, is_new), _lines(run))
            self.report(options, {**_data(run), "is_new": is_new}, lines)
            return
        named = {name: options[name] for name in ("max_tokens", "temperature")}
        make = partial(
            answering.answering_run,
            study,
            read_asked(options, named),
            name=options["name"] or "",
            instructions=told,
            limit=options["limit"],
            asks_confidence=options["confidence"],
        )
        if self.foretells(options, answering.forecast, [make]):
            return
        draft = make()
        how = (answering.can_resume, answering.reopen, options)
        run = self.go_on_or_begin(draft, newest_same(draft), *how)
        run = self.work_off(run, answering.run, ("answers", "questions"), options)
        self.report(options, _data(run), _lines(run))
        check_over(run, run.answers.all())


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
        "costs": [
            {
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
            for cost in costs(run.study)
        ],
    }


def _lines(run: AnsweringRun) -> Iterator[Any]:
    counted = finishes(run.answers.all())
    told = [f"{counted[f]} {f.value}" for f in Finish if counted[f]]
    yield f"Run {run.pk}, {run.language_model.name}: {', '.join(told) or 'nothing answered'}."
    yield from unread_lines(answering.unread(run))
    yield from spending_lines(answering.spent(run))
    yield ""

    def number(value: float | None, form: str = ",.0f") -> str:
        return "" if value is None else format(value, form)

    cells = (
        {
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
        for cost in costs(run.study)
    )
    yield from table_lines(cells, left=("model",))
