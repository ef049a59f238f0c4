from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from experiment.management.finding import find_study
from lib.shapes import Either
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import Fate, Rubric
from scoring.management.writing import (
    DRY_RUN_SHAPE,
    RUN_SHAPE,
    WritingCommand,
    check_over,
    content_of,
    read_asked,
    run_data,
    spending_lines,
    unread_lines,
)
from scoring.models import GradingRun
from scoring.services.grading import runs
from scoring.services.grading.plans import summary

ALL = "all"


class Command(WritingCommand):
    help = "Have a judge grade a study's answers by a rubric. If a grade cannot be read, it is requested once more; after that, it is counted as unparsed."
    prints = Either(
        run=RUN_SHAPE
        | {
            "judge": str,
            "identity": {str: Any},
            "models": {str: {"n": int} | {str(fate): int for fate in Fate}},
        },
        dry_run=DRY_RUN_SHAPE,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", metavar="SLUG", required=True)
        parser.add_argument(
            "--judge",
            dest="generator",
            choices=list(runs.JUDGES),
            required=True,
            help="exact: compares the words with the expert's answer. It needs no model and only tests the set-up",
        )
        parser.add_argument(
            "--runs",
            default=ALL,
            metavar="N,…|all",
            help="answering runs by number (default: all finished runs)",
        )
        parser.add_argument(
            "--of",
            action="append",
            default=[],
            metavar="NAME",
            help="only answers of this model (repeatable)",
        )
        parser.add_argument(
            "--people", action="store_true", help="also grade answers of valid participants"
        )
        parser.add_argument(
            "--rubric",
            type=Path,
            metavar="FILE",
            help="JSON file with a rubric instead of the study's",
        )
        parser.add_argument(
            "--prompt",
            type=Path,
            metavar="FILE",
            help="file with instructions to the judge instead of the built-in ones; {rubric} is filled in",
        )
        self.add_model_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, asked, numbers, rubric = (
            find_study(options["study"]),
            read_asked(options),
            None,
            None,
        )
        if options["runs"] != ALL:
            try:
                numbers = [int(number) for number in options["runs"].split(",") if number.strip()]
            except ValueError as error:
                raise ScoringError(
                    "Runs are numbers, separated by commas.", option="--runs"
                ) from error
        if path := options["rubric"]:
            try:
                rubric = Rubric.from_text(content_of(path))
            except ScoringError as error:
                raise ScoringError(f"{path}: {error}", option="--rubric") from error
        make = partial(
            runs.grading_run,
            study,
            asked,
            runs=numbers,
            models=options["of"],
            people=options["people"],
            rubric=rubric,
            prompt=content_of(options["prompt"]),
        )
        if self.foretells(options, runs.forecast, [make]):
            return
        draft = make()
        run = self._run_for(draft, options)
        run = self.work_off(run, runs.run, ("grades", "answers"), options)

        spent, models = runs.spent(run), summary(run)
        identity = {"judge": run.judge_name, "identity": run.identity}
        lines = [f"Run {run.pk}, judged by {run.judge_name}:"]
        for name, counts in models.items():
            said = ", ".join(f"{counts[fate]} {fate}" for fate in Fate)
            lines.append(f"{name}: {counts['n']} answers, {said}.")
        lines += [*unread_lines(runs.unread(run)), *spending_lines(spent)]
        self.report(options, {**run_data(run, spent), **identity, "models": models}, lines)
        # An answer that failed has no text, and nobody is asked about it
        check_over(run, run.grades.filter(tries__gt=0))

    def _run_for(self, draft: GradingRun, options: Mapping[str, Any]) -> GradingRun:
        same, more = runs.newest_same(draft), list[Any]()
        if options["runs"] == ALL:
            same, more = runs.newest_like(draft, options["of"])
        is_said = not more and runs.has_said_all(draft.generator, same)
        if same is not None and is_said and not options["resume"]:
            raise ScoringError(
                f"These answers were graded by exact match before, as run {same.pk}."
            )

        def reopen(run: GradingRun) -> GradingRun:
            return runs.reopen(runs.take_in(run, more))

        return self.go_on_or_begin(draft, same, runs.can_resume, reopen, options)
