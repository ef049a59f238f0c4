import time
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.models import Item
from lib.commands import table_lines
from lib.jobs import leases
from lib.jobs.leases import renew_connection
from lib.shapes import Either
from scoring.domain.conditions import CONDITIONS
from scoring.management.asked_models import ALL_WORDS
from scoring.management.choosing import (
    CHOICE_RUN_SHAPE,
    ChoosingCommand,
    refuse_choice_options,
)
from scoring.management.results import OF_ONE, TEXTS, as_json, run_lines, score_lines, unscored_of
from scoring.management.scoring_command import ScoringCommand
from scoring.management.workers import PER_GPU, gpus
from scoring.management.writing import DRY_RUN_SHAPE, numbers_of
from scoring.models import ScoringRun
from scoring.services.adapters import runs_with_adapters
from scoring.services.execute import execute
from scoring.services.open_model import OneModel
from scoring.services.summary import run_rows
from scoring.services.token_store import delete_run

WATCH_SECONDS = 5


class Command(ScoringCommand, ChoosingCommand):
    help = (
        "Score a language model on a study's test cases: `score --model hf --model_args pretrained=PATH --study SLUG`. "
        "With `--method choice`, a model reads both versions and chooses, as participants do. "
        "`score ls` lists the runs, `score rm RUN` removes one, `score --queue` scores those that wait."
    )

    name_flag = "--name"
    words = ALL_WORDS
    prints = Either(
        study=OF_ONE,
        several={
            "results": [
                {"model": str, "model_args": {str: str}, "prompt": str, "error?": str}
                | {
                    f"{name.removesuffix('?')}?": shape
                    for name, shape in OF_ONE.items()
                    if name != "model"
                }
            ]
        },
        ls={
            "runs": [
                {
                    "run": int,
                    "study": str,
                    "corpus": str,
                    "model": str,
                    "settings": str,
                    "backend": str,
                    "condition": str,
                    "prompt": str,
                    "source": str,
                    "seed": int | None,
                    "limit": int | None,
                    "status": str,
                    "done": int,
                    "total": int,
                    "error": str,
                    "created_at": str,
                    "n_items": int,
                    "accuracy": float | None,
                }
            ]
        },
        adapters={"runs": [{"kind": str, "run": int, "model": str, "adapter": str}]},
        rm={"removed": [int]},
        choice={"runs": [CHOICE_RUN_SHAPE]},
        choice_dry_run=DRY_RUN_SHAPE,
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", nargs="?", choices=("ls", "rm"))
        parser.add_argument(
            "numbers", nargs="*", type=int, metavar="RUN", help="numbers of the runs to remove"
        )
        parser.add_argument(
            "--method",
            choices=("perplexity", "choice"),
            default="perplexity",
            help="how the model takes the test (default: perplexity)",
        )
        self.add_model_arguments(parser)
        self.add_choice_arguments(parser)
        parser.add_argument("--study", metavar="SLUG")
        parser.add_argument("--source", choices=Item.Source.values, default="")
        parser.add_argument(
            "--conditions",
            default="full",
            metavar="NAME,…",
            help=f"conditions, from {', '.join(CONDITIONS)} (default: full)",
        )
        parser.add_argument("--seed", type=int, default=42, help="seed of the swaps (default: 42)")
        parser.add_argument(
            "--output_path",
            type=Path,
            metavar="DIR",
            help="also write results in the form of lm-evaluation-harness",
        )
        parser.add_argument("--queue", action="store_true", help="score the queued runs")
        parser.add_argument(
            "--runs", type=numbers_of, metavar="N,…", help="with --queue: score only these runs"
        )
        parser.add_argument(
            "--workers",
            type=_workers,
            metavar="N|gpus",
            help="score in N processes, or in one per GPU, each with one run at a time",
        )
        parser.add_argument(
            "--adapters",
            action="store_true",
            help="with ls: list past runs of all studies that added, or may have added, an adapter to full weights although none was "
            "requested. Screenings (screen_items) do not store hashes of weights and are not listed",
        )
        parser.add_argument(
            "--watch", action="store_true", help="with --queue: also wait for more runs"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["method"] == "choice":
            self.choose(options)
            return
        _refuse_contradictions(options)
        refuse_choice_options(options)
        if options["adapters"]:
            found = list(runs_with_adapters())
            cells = [{name: str(value) for name, value in run.items()} for run in found]
            lines = list(table_lines(cells, TEXTS)) or [
                "No past run can have used an adapter that was not requested."
            ]
            self.report(options, {"runs": found}, lines)
        elif options["action"] == "ls":
            rows = run_rows(find_study(options["study"]) if options["study"] else None)
            self.report(options, {"runs": rows}, run_lines(rows))
        elif options["action"] == "rm":
            self._remove(options)
        elif options["queue"]:
            self._score_queue(options)
        else:
            self._score_study(options)

    def _score_study(self, options: Mapping[str, Any]) -> None:
        if not options["study"]:
            raise CommandError("Name the study with --study SLUG.")
        study, text = find_study(options["study"]), options["conditions"]
        conditions = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
        if not conditions or any(name not in CONDITIONS for name in conditions):
            raise CommandError(
                f"--conditions {text}: choose from {', '.join(CONDITIONS)}, separated by commas."
            )
        settings = [
            {
                "study": study,
                "condition": condition,
                "source": options["source"],
                "seed": options["seed"],
                "limit": options["limit"],
            }
            for condition in conditions
        ]
        evaluations = self.score_all(settings, options)
        self.report(options, as_json(evaluations), score_lines(evaluations))
        if options["output_path"]:
            from scoring.lm_eval.results import write_results

            runs = [run for evaluation in evaluations for run in evaluation.runs]
            for path in write_results(runs, options["output_path"]):
                self.stderr.write(f"Written: {path}")
        # After the results: what failed makes the command fail, in one sentence
        if failed := [evaluation for evaluation in evaluations if evaluation.error]:
            first = f"{failed[0].model.label}: {failed[0].error}"
            raise CommandError(f"{len(failed)} of {len(evaluations)} failed; the first is {first}")
        self.refuse_unscored(unscored_of(evaluations))

    def _remove(self, options: Mapping[str, Any]) -> None:
        found = {run.pk: run for run in ScoringRun.objects.filter(pk__in=options["numbers"])}
        missing = [str(number) for number in options["numbers"] if number not in found]
        stale = set(leases.stale(ScoringRun.objects.all()))
        at_work = [
            str(run.pk)
            for run in found.values()
            if run.status == ScoringRun.Status.RUNNING and run not in stale
        ]
        if missing or at_work or not found:
            why = "give the numbers of the runs"
            if missing:
                why = f"there is no run {', '.join(missing)}"
            elif at_work:
                why = f"these runs are running: {', '.join(at_work)}"
            raise CommandError(f"No run was removed: {why}.")
        if published := [run for run in found.values() if run.backend == run.Backend.IMPORTED]:
            raise CommandError(
                f"No run was removed, because {published[0].pk} is a published run that was imported "
                f"({published[0].language_model})."
            )
        names = ", ".join(f"{pk} ({run.language_model})" for pk, run in sorted(found.items()))
        for run in found.values():
            delete_run(run)
        self.report(options, {"removed": sorted(found)}, [f"Removed: {names}."])

    def _score_queue(self, options: Mapping[str, Any]) -> None:
        done = []
        try:
            with closing(OneModel()) as models:
                for run in _next_runs(options["watch"], options["runs"], models):
                    done.append(self._execute(run, models, options))
        except KeyboardInterrupt:
            self.stderr.write("Stopped. Unfinished runs stay in the queue.")
        failed = [run for run in done if run.status == ScoringRun.Status.FAILED]
        rows = [row for row in run_rows() if row["run"] in {run.pk for run in done}]
        lines = run_lines(rows) if rows else ["No run is queued."]
        self.report(options, {"runs": rows}, lines)
        if failed:
            raise CommandError(f"{failed[0]} failed: {failed[0].error}")

    def _execute(self, run: ScoringRun, models: OneModel, options: Mapping[str, Any]) -> ScoringRun:
        with self.progress(run, options) as show:
            try:
                return execute(run, opener=models.open, on_progress=show)
            except Exception:  # noqa: BLE001 (logged, and the run says it failed; the next one may be fine)
                models.close()
                run.refresh_from_db()
                return run


def _next_runs(watch: bool, only: Sequence[int] | None, models: OneModel) -> Iterator[ScoringRun]:
    """Runs that wait or whose worker is gone until none is left or, to watch, for ever.

    People take turns. Of one person's, the oldest first; but those of the model that is open before others, and of models that no
    other worker has open.
    """
    while True:
        renew_connection()
        runs = ScoringRun.objects.all() if only is None else ScoringRun.objects.filter(pk__in=only)
        elsewhere = [_model_of(run) for run in runs.filter(status=ScoringRun.Status.RUNNING)]
        waiting = sorted(
            leases.in_turn(leases.waiting(runs)),
            key=lambda run: (
                run.turn,
                _model_of(run) != models.key,
                _model_of(run) in elsewhere,
                run.pk,
            ),
        )
        run = waiting[0] if waiting else leases.stale(runs).first()
        if run is not None:
            yield run
        elif watch:
            time.sleep(WATCH_SECONDS)
        else:
            return


def _refuse_contradictions(options: Mapping[str, Any]) -> None:
    """Refuses options that would be ignored.

    Raises:
        CommandError: two options do not go together.
    """
    if options["queue"]:
        if options["watch"] and options["json"]:
            raise CommandError("--watch never ends, so it cannot be used with --json.")
        if options["workers"]:
            raise CommandError("--queue starts one worker. Run the command once per worker.")
        asked = [n for n in ("study", "model", "limit", "resume", "output_path") if options[n]]
        if asked:
            raise CommandError(
                f"--queue scores the queued runs with their own settings. Leave out --{asked[0]}."
            )
    elif options["watch"] or options["runs"]:
        name = "--watch" if options["watch"] else "--runs"
        raise CommandError(f"{name} needs --queue.")
    if options["adapters"] and options["action"] != "ls":
        raise CommandError("--adapters needs `score ls`.")
    if options["adapters"] and options["study"]:
        raise CommandError("--adapters lists runs of all studies. Leave out --study.")
    if options["numbers"] and options["action"] != "rm":
        raise CommandError("Numbers of runs need `score rm`.")


def _model_of(run: ScoringRun) -> tuple[str, dict[str, str]]:
    return (run.backend, run.model_args)


def _workers(text: str) -> int:
    if text == PER_GPU and not gpus():
        raise ArgumentTypeError("no GPU was found")
    if text != PER_GPU and not (text.isdecimal() and int(text) > 0):
        raise ArgumentTypeError(f"“{text}” is neither a whole number from 1 nor {PER_GPU}")
    return len(gpus()) if text == PER_GPU else int(text)
