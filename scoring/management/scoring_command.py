"""What `score` and `score_corpus` share: which models, with what prompts; one run after the other, to the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from lib.commands import ReportingCommand, StoppedError, add_json_argument, progress
from lib.jobs import leases
from scoring.domain.backend import ScoringError
from scoring.management import workers
from scoring.management.asked import (
    AskedModel,
    AskedPrompt,
    add_model_arguments,
    asked_models,
    asked_prompts,
)
from scoring.models import LanguageModel, ScoringRun, UnscoredText
from scoring.services.execute import check_same_model, execute
from scoring.services.open_model import OneModel, language_model
from scoring.services.runs import draft_run, newest_same, reopen

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


class ScoringCommand(ReportingCommand):
    """A command that scores with one model after the other."""

    default_prompt = "paper"
    name_flags: tuple[str, ...] = ("--model_name",)
    run: ScoringRun | None = None  # the one that is scored now

    def add_model_arguments(self, parser: CommandParser) -> None:
        add_model_arguments(parser, self.default_prompt, self.name_flags)
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N")
        parser.add_argument(
            "--resume", action="store_true", help="continue the run of the same settings"
        )
        add_json_argument(parser)

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Whatever keeps a run from being scored ends the command with its one sentence."""
        try:
            return super().execute(*args, **options)
        except ScoringError as error:
            if options.get("json") and not self.has_reported:
                self.report(options, {"error": error.for_terminal}, ())
            raise CommandError(error.for_terminal) from error

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
        models = OneModel()
        try:
            for evaluation in evaluations:
                if len(evaluations) == 1:
                    self._score_with(models, evaluation, options)
                else:
                    self._try(models, evaluation, options)
        except KeyboardInterrupt as interrupt:
            raise StoppedError(self._stopped()) from interrupt
        finally:
            models.close()
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
            for prompt in asked_prompts(options)
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
                self.stderr.write(
                    f"Run {run.pk} ({run.condition}) is finished: nothing is left to do."
                )
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
        """What is finished was scored with this model: its name says little, and a folder's content changes."""
        finished = [run for run in evaluation.runs if run.status == Status.FINISHED]
        if not finished:
            return
        models = OneModel()
        try:
            backend = models.open(evaluation.model.kind, evaluation.model.args)
            for run in finished:
                check_same_model(run, backend)
        finally:
            models.close()

    def _check_finished(self, run: ScoringRun) -> None:
        if run.status == Status.FAILED:
            raise ScoringError(run.error)
        if run.status == Status.CANCELLED:
            raise CommandError(
                f"Run {run.pk} was cancelled at {run.done} of {run.total}; --resume goes on."
            )
        if run.status != Status.FINISHED:
            by = f"is being worked on by {run.worker}" if run.worker else "waits for a worker"
            raise CommandError(f"Run {run.pk} {by}.")
        self._warn(run)

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
                f"Run {same.pk} with the same settings stands at {same.done} of {same.total} "
                f"({same.get_status_display()}); --resume would go on with it. Run {draft.pk} begins anew."
            )
        return draft

    def _stopped(self) -> str:
        if self.run is None:
            return "Stopped before anything was scored."
        self.run.refresh_from_db()
        return (
            f"Stopped. Run {self.run.pk} stands at {self.run.done} of {self.run.total}; "
            "the same command with --resume goes on."
        )

    def _warn(self, run: ScoringRun) -> None:
        for sentence in run.identity.get("warnings", ()):
            self.stderr.write(sentence)
        dtype = run.identity.get("dtype")  # unknown of a server
        if dtype and dtype not in EXACT:
            self.stderr.write(
                f"Scored in {dtype}: rounding may turn near-ties; float32 decides them."
            )

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
