"""What `score` and `score_corpus` share: which models, with what prompts; one run after the other, to the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, add_json_argument, progress
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import PLACEHOLDER
from scoring.management.asked import (
    WORDS,
    AskedModel,
    AskedPrompt,
    asked_models,
    asked_prompts,
)
from scoring.models import LanguageModel, ScoringRun, UnscoredText
from scoring.services.create_run import draft_run, newest_same, reopen
from scoring.services.execute import check_same_model, execute
from scoring.services.open_model import OneModel, language_model

Status = ScoringRun.Status
EXACT = ("float32", "float64")
INTERRUPTED = 130  # as shells report it


@dataclass
class Evaluation:
    """One model with one prompt: its runs, one for each of the command's settings, or why there is not every one."""

    model: AskedModel
    prompt: AskedPrompt
    drafts: Sequence[ScoringRun]
    runs: list[ScoringRun] = field(default_factory=list)
    error: str = ""


def batch_tokens(text: str) -> int | None:
    """`auto`, or a number."""
    return None if text == "auto" else int(text)


class ScoringCommand(ReportingCommand):
    """A command that scores with one model after the other."""

    default_prompt = "paper"
    name_flags: tuple[str, ...] = ("--model_name",)
    run: ScoringRun | None = None  # the one that is scored now

    def add_model_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", choices=WORDS)
        parser.add_argument(
            "--model_args",
            action="append",
            metavar="NAME=VALUE,…",
            help="hf: pretrained, dtype, revision, peft, device, …; completions: base_url, model, tokenizer, …; "
            "once for each model",
        )
        parser.add_argument(
            "--models",
            type=Path,
            metavar="FILE",
            help="a model on each line: its arguments, after its kind where that is not --model's",
        )
        parser.add_argument(
            *self.name_flags,
            dest="model_name",
            metavar="NAME",
            help="what the model is called; default: as its arguments name it",
        )
        parser.add_argument(
            "--prompt",
            default=self.default_prompt,
            help=f"of none, paper, clean, chat, separated by commas; or a text with {PLACEHOLDER} "
            f"(default: {self.default_prompt})",
        )
        parser.add_argument(
            "--prompt_file", type=Path, help=f"a file with such a text, {PLACEHOLDER}"
        )
        parser.add_argument(
            "--batch_tokens",
            type=batch_tokens,
            metavar="N|auto",
            help="how many tokens are scored at once (default: auto)",
        )
        parser.add_argument(
            "--batch_size",
            metavar="N|auto",
            help="the same in texts: N times the tokens of the longest one",
        )
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
        models = OneModel()
        try:
            for evaluation in evaluations:
                if len(evaluations) == 1:
                    self._score_with(models, evaluation, options)
                else:
                    self._try(models, evaluation, options)
        except KeyboardInterrupt as interrupt:
            raise CommandError(self._stopped(), returncode=INTERRUPTED) from interrupt
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

    def _check_finished(self, run: ScoringRun) -> None:
        if run.status == Status.FAILED:
            raise ScoringError(run.error)
        if run.status == Status.CANCELLED:
            raise CommandError(
                f"Run {run.pk} was cancelled at {run.done} of {run.total}; --resume goes on."
            )
        if run.status != Status.FINISHED:
            raise CommandError(f"Run {run.pk} is being worked on by {run.worker}.")
        self._warn_of_rounding(run)

    def _run_for(self, draft: ScoringRun, options: Mapping[str, Any]) -> ScoringRun:
        """The run to go on with, or the draft, stored."""
        same = newest_same(draft)
        if same is not None and options["resume"]:
            return reopen(same, draft.corpus_file or None)
        draft.save()
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

    def _warn_of_rounding(self, run: ScoringRun) -> None:
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
