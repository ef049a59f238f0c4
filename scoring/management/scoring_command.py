"""What `score` and `score_corpus` share: which model, with what prompt; one run after the other, to the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, add_json_argument, progress
from scoring.backends import ALIASES, parse_model_args
from scoring.domain.backend import Backend, ScoringError
from scoring.domain.prompts import PLACEHOLDER
from scoring.models import LanguageModel, ScoringRun, UnscoredText
from scoring.services.create_run import create_run, draft_run, find_finished, find_resumable, reopen
from scoring.services.execute import check_same_model, execute
from scoring.services.open_model import OneModel, default_name, language_model

Status = ScoringRun.Status
EXACT = ("float32", "float64")
INTERRUPTED = 130  # as shells report it


def batch_tokens(text: str) -> int | None:
    """`auto`, or a number."""
    return None if text == "auto" else int(text)


class ScoringCommand(ReportingCommand):
    """A command that scores with one model."""

    default_prompt = "paper"
    name_flags: tuple[str, ...] = ("--model_name",)
    run: ScoringRun | None = None  # the one that is scored now

    def add_model_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--model", choices=("hf", "completions", "embedded"))
        parser.add_argument(
            "--model_args",
            default="",
            metavar="NAME=VALUE,…",
            help="hf: pretrained, dtype, revision, peft, device, …; completions: base_url, model, tokenizer, …",
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
            help=f"none, paper, clean, chat, or a text with {PLACEHOLDER} (default: {self.default_prompt})",
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
    ) -> list[ScoringRun]:
        """Score a run for each of the settings with the model of the options; all runs are finished then.

        Raises:
            ScoringError, CommandError: with a sentence; the scores so far stay.
        """
        if not options["model"]:
            raise CommandError("Name the model: --model hf, completions or embedded.")
        kind = ALIASES.get(options["model"], options["model"])
        args = parse_model_args(options["model_args"])
        name = options["model_name"] or default_name(kind, args)
        prompt, custom = _prompt(options)
        common = {
            "backend": kind,
            "model_args": args,
            "prompt": prompt,
            "custom_prompt": custom,
            "batch_tokens": options["batch_tokens"],
        }
        for settings in all_settings:  # before a model is loaded for nothing
            draft_run(**settings, **common, language_model=LanguageModel(name=name))
        models = OneModel()
        try:
            backend = models.open(kind, args)
            common["language_model"] = language_model(kind, name)
            return [
                self._score({**settings, **common}, backend, options) for settings in all_settings
            ]
        except KeyboardInterrupt as interrupt:
            raise CommandError(self._stopped(), returncode=INTERRUPTED) from interrupt
        finally:
            models.close()

    def _score(
        self, settings: Mapping[str, Any], backend: Backend, options: Mapping[str, Any]
    ) -> ScoringRun:
        self.run = run = self._run_for(settings, options)
        if run.status == Status.FINISHED:
            check_same_model(run, backend)  # its name says little: a folder's content changes
            self.stderr.write(f"Run {run.pk} ({run.condition}) is finished: nothing is left to do.")
            return run
        with self.progress(run, options) as show:
            run = execute(run, backend=backend, on_progress=show)
        if run.status == Status.FAILED:
            raise ScoringError(run.error)
        if run.status == Status.CANCELLED:
            raise CommandError(
                f"Run {run.pk} was cancelled at {run.done} of {run.total}; --resume goes on."
            )
        if run.status != Status.FINISHED:
            raise CommandError(f"Run {run.pk} is being worked on by {run.worker}.")
        self._warn_of_rounding(run)
        return run

    def _run_for(self, settings: Mapping[str, Any], options: Mapping[str, Any]) -> ScoringRun:
        unfinished = find_resumable(**settings)
        if options["resume"]:
            same = unfinished or find_finished(**settings)
            if same is not None:
                return reopen(same, settings.get("corpus_file"))
        run = create_run(**settings)
        if unfinished is not None and not options["resume"]:
            self.stderr.write(
                f"Run {unfinished.pk} with the same settings stands at {unfinished.done} of {unfinished.total} "
                f"({unfinished.get_status_display()}); --resume would go on with it. Run {run.pk} begins anew."
            )
        return run

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


def _prompt(options: Mapping[str, Any]) -> tuple[str, str]:
    """The kind of prompt, and the text of a custom one."""
    if options["prompt_file"] is not None:
        try:
            return "custom", options["prompt_file"].read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(
                f"{options['prompt_file']} cannot be read: {getattr(error, 'strerror', '') or error}."
            ) from error
    known = {kind for kind in ScoringRun.Prompt.values if kind != ScoringRun.Prompt.CUSTOM}
    return (options["prompt"], "") if options["prompt"] in known else ("custom", options["prompt"])
