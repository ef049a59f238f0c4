"""The common part of `score` and `score_corpus`: one run after the other, to the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from lib.commands import StoppedError, add_json_argument, progress
from lib.jobs import leases
from scoring.backends.registry import SCORING_HINTS
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import PLACEHOLDER
from scoring.management import workers
from scoring.management.asked_models import (
    WORDS,
    AskedModel,
    AskedPrompt,
    asked_models,
    asked_prompts,
)
from scoring.management.writing import ModelCommand
from scoring.models import LanguageModel, ScoringRun, UnscoredText
from scoring.services.execute import check_same_model, execute
from scoring.services.open_model import OneModel, language_model
from scoring.services.runs import draft_run, newest_same, reopen
from scoring.services.summary import RunSummary, summarise_run

Status = ScoringRun.Status
EXACT = ("float32", "float64")


@dataclass
class Evaluation:
    """One model with one prompt: its runs, one for each of the command's settings, or why there is not every one."""

    model: AskedModel
    prompt: AskedPrompt
    drafts: Sequence[ScoringRun]
    runs: list[ScoringRun] = field(default_factory=list)
    error: str = ""

    @cached_property
    def summaries(self) -> list[RunSummary]:
        """Summaries of its runs; asked for when all are over."""
        return [summarise_run(run) for run in self.runs]


def batch_tokens(text: str) -> int | None:
    """`auto`, or a number."""
    return None if text == "auto" else int(text)


class ScoringCommand(ModelCommand):
    """A command that scores with one model after the other."""

    default_prompt = "paper"
    words: tuple[str, ...] = WORDS
    name_flag = "--model_name"
    run: ScoringRun | None = None  # the one that is scored now

    def add_model_arguments(self, parser: CommandParser) -> None:
        """Adds the options on models, their names, prompts and batches."""
        parser.add_argument("--model", choices=self.words)
        parser.add_argument(
            "--model_args",
            action="append",
            metavar="NAME=VALUE,…",
            help=f"{SCORING_HINTS}; once per model",
        )
        parser.add_argument(
            "--models",
            type=Path,
            metavar="FILE",
            help="file with one model per line: its arguments, after its kind if it differs from --model",
        )
        parser.add_argument(
            self.name_flag,
            dest="model_name",
            metavar="NAME",
            help="name of the model (default: the name in its arguments)",
        )
        prompt = parser.add_mutually_exclusive_group()
        prompt.add_argument(
            "--prompt",
            help=f"prompts from none, paper, clean, chat, separated by commas; or a text with {PLACEHOLDER} (default: "
            f"{self.default_prompt})",
        )
        prompt.add_argument(
            "--prompt_file", type=Path, help=f"file with such a text, {PLACEHOLDER}"
        )
        parser.add_argument(
            "--batch_tokens",
            type=batch_tokens,
            metavar="N|auto",
            help="tokens scored at once (default: auto)",
        )
        parser.add_argument(
            "--batch_size",
            metavar="N|auto",
            help="tokens scored at once as N times the longest text",
        )
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N")
        parser.add_argument(
            "--resume", action="store_true", help="continue the run of the same settings"
        )
        add_json_argument(parser)

    def score_all(
        self, all_settings: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> list[Evaluation]:
        """Score a run for each of the models, prompts and settings, one model in memory at a time.

        Of several evaluations one that fails does not stop the others: its `error` says why.

        Raises:
            ScoringError, CommandError: with a sentence; the scores so far stay.
        """
        evaluations = self._asked(all_settings, options)  # before a model is loaded for nothing
        if options.get("workers"):
            self._score_by_workers(evaluations, options)
            return evaluations
        try:
            with closing(OneModel()) as models:
                for evaluation in evaluations:
                    if len(evaluations) == 1:
                        self._score_with(models, evaluation, options)
                    else:
                        self._try(models, evaluation, options)
        except KeyboardInterrupt as interrupt:
            said = "Stopped before anything was scored."
            if (run := self.run) is not None:
                run.refresh_from_db()
                said = (
                    f"Stopped. Run {run.pk} has reached {run.done} of {run.total}. Run the same command with --resume "
                    "to continue it."
                )
            raise StoppedError(said) from interrupt
        return evaluations

    def _asked(
        self, all_settings: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> list[Evaluation]:
        return [
            Evaluation(
                model,
                prompt,
                [
                    draft_run(
                        **settings,
                        language_model=LanguageModel(name=model.name),
                        backend=model.kind,
                        model_args=model.args,
                        prompt=prompt.kind,
                        custom_prompt=prompt.text,
                        batch_tokens=options["batch_tokens"],
                    )
                    for settings in all_settings
                ],
            )
            for model in asked_models(options)
            for prompt in asked_prompts(options, self.default_prompt)
        ]

    def _try(self, models: OneModel, evaluation: Evaluation, options: Mapping[str, Any]) -> None:
        """Score what can be; what cannot says why, and the next one may be fine."""
        try:
            self._score_with(models, evaluation, options)
        except (ScoringError, CommandError) as error:
            evaluation.error = error.for_terminal if isinstance(error, ScoringError) else str(error)
        except Exception as error:  # noqa: BLE001 (logged, and the run says that it failed)
            models.close()
            evaluation.error = f"{type(error).__name__}: {error}"
        if evaluation.error:
            self.stderr.write(f"{evaluation.model.label}: {evaluation.error}")

    def _score_with(
        self, models: OneModel, evaluation: Evaluation, options: Mapping[str, Any]
    ) -> None:
        asked = evaluation.model
        backend = models.open(asked.kind, asked.args)
        model = language_model(asked.kind, asked.name)
        for draft in evaluation.drafts:
            draft.language_model = model
            self.run = run = self._run_for(draft, options)
            if run.status == Status.FINISHED:
                check_same_model(run, backend)  # its name says little: a folder's content changes
                self.stderr.write(f"Run {run.pk} ({run.condition}) is already finished.")
            else:
                with self.progress(run, options) as show:
                    run = execute(run, backend=backend, on_progress=show)
                self._check_finished(run)
            evaluation.runs.append(run)

    def _score_by_workers(
        self, evaluations: Sequence[Evaluation], options: Mapping[str, Any]
    ) -> None:
        """Store all runs, and let processes of their own score them."""
        for evaluation in evaluations:
            model = language_model(evaluation.model.kind, evaluation.model.name)
            for draft in evaluation.drafts:
                draft.language_model = model
                evaluation.runs.append(self._run_for(draft, options))
            self._check_scored(evaluation)
        runs = [run for evaluation in evaluations for run in evaluation.runs]
        numbers, total = [run.pk for run in runs if run.is_open], sum(run.total for run in runs)
        done = sum(run.done for run in runs if not run.is_open)
        try:
            with progress("runs", total, "pairs", done=done, quiet=options["json"]) as update:
                said = workers.work_off(numbers, options["workers"], lambda n: update(done + n))
        except KeyboardInterrupt as interrupt:
            raise StoppedError from interrupt
        for evaluation in evaluations:
            try:
                for run in evaluation.runs:
                    run.refresh_from_db()
                    self._check_finished(run)
            except (ScoringError, CommandError) as error:
                evaluation.error = str(error)
                evaluation.runs = [run for run in evaluation.runs if run.status == Status.FINISHED]
        if any(run.is_open for run in runs):
            self.stderr.write(said)
        if len(evaluations) == 1 and evaluations[0].error:
            raise ScoringError(evaluations[0].error)

    def _check_scored(self, evaluation: Evaluation) -> None:
        """Checks that what is finished was scored with this model: its name says little, and a folder's content changes."""
        finished = [run for run in evaluation.runs if run.status == Status.FINISHED]
        if not finished:
            return
        with closing(OneModel()) as models:
            backend = models.open(evaluation.model.kind, evaluation.model.args)
            for run in finished:
                check_same_model(run, backend)

    def _check_finished(self, run: ScoringRun) -> None:
        if run.status == Status.FAILED:
            raise ScoringError(run.error)
        if run.status == Status.CANCELLED:
            raise CommandError(
                f"Run {run.pk} was cancelled at {run.done} of {run.total}; --resume continues it."
            )
        if run.status != Status.FINISHED:
            by = f"is being scored by {run.worker}" if run.worker else "waits for a worker"
            raise CommandError(f"Run {run.pk} {by}.")
        for sentence in run.identity.get("warnings", ()):
            self.stderr.write(sentence)
        dtype = run.identity.get("dtype")  # unknown of a server
        if dtype and dtype not in EXACT:
            self.stderr.write(
                f"Scored in {dtype}, in which rounding may change near-ties. float32 decides them."
            )

    def _run_for(self, draft: ScoringRun, options: Mapping[str, Any]) -> ScoringRun:
        """The run to go on with, or the draft, stored; this command's own for a moment."""
        same = newest_same(draft)
        if same is not None and options["resume"]:
            with transaction.atomic():
                same = reopen(same, draft.corpus_file or None)
                leases.reserve(same)
            return same
        with transaction.atomic():
            draft.save()
            leases.reserve(draft)
        if same is not None and same.status != Status.FINISHED:
            self.stderr.write(
                f"Run {same.pk} with the same settings has reached {same.done} of {same.total} ({same.get_status_display()}); "
                f"--resume would continue it. Run {draft.pk} starts from the beginning."
            )
        return draft

    @contextmanager
    def progress(
        self, run: ScoringRun, options: Mapping[str, Any]
    ) -> Iterator[Callable[[ScoringRun], None]]:
        with progress(
            run.condition, run.total, "pairs", done=run.done, quiet=options["json"]
        ) as update:
            yield lambda run: update(run.done)

    def refuse_unscored(self, unscored: Sequence[UnscoredText]) -> None:
        """After the results: what could not be scored makes the command fail, in one sentence.

        Raises:
            CommandError: something could not be scored.
        """
        if not unscored:
            return
        first = f"{unscored[0].name} could not be scored ({unscored[0].reason})"
        more = f", nor could {len(unscored) - 1} more" if len(unscored) > 1 else ""
        raise CommandError(f"{first}{more}; the rest is stored.")


def unscored_rows(unscored: Sequence[UnscoredText]) -> list[dict[str, str]]:
    """For JSON: what could not be scored, and why."""
    return [{"name": text.name, "reason": text.reason} for text in unscored]
