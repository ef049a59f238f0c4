"""`score --method choice`: models that take the test by choosing, one after the other."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import find_study
from experiment.models import Study
from lib.commands import table_lines
from lib.shapes import Shape
from scoring.backends import parse_model_args
from scoring.management.asked_models import written_models
from scoring.management.writing import (
    COSTS,
    RUN_SHAPE,
    ModelCommand,
    add_costs,
    check_over,
    content_of,
    run_data,
    spending_lines,
    unread_lines,
)
from scoring.models import ChoiceRun
from scoring.services.asking.settings import Asked, newest_same
from scoring.services.choosing import runs
from scoring.services.choosing.prompts import CUSTOM, PROMPTS
from scoring.services.choosing.summary import READ, summarise

# Options that mean something for one method only
OF_CHOICE = ("samples", "layout", "examples", "dry_run", "count_tokens", *COSTS)
OF_PERPLEXITY = (
    "output_path",
    "workers",
    "batch_tokens",
    "batch_size",
    "queue",
    "watch",
    "runs",
    "adapters",
)


CHOICE_RUN_SHAPE: dict[str, Shape] = {
    **RUN_SHAPE,
    "model": str,
    "form": str,
    "layout": str,
    "prompt": str,
    "samples": int,
    "test_cases": int,
    "judged": int,
    "accuracy": float | None,
    "accuracy_of_all": float | None,
    "ties": int,
    "flips": int,
    "share_a": float | None,
    "states": {str: int},
    "unused": {str: int},
    "without_confidence": int,
    "confidence_below_50": int,
    "served": [str],
    "lost_requests": int,
}


class ChoosingCommand(ModelCommand):
    """A command that has models choose."""

    def add_choice_arguments(self, parser: CommandParser) -> None:
        choice = parser.add_argument_group(
            "--method choice", f"Its prompts: {', '.join(PROMPTS)}; see docs/models.md."
        )
        choice.add_argument(
            "--samples", type=int, metavar="N",
            help="answers per test case and order (default: 1 at temperature 0, otherwise 5)",
        )  # fmt: skip
        choice.add_argument(
            "--layout", choices=ChoiceRun.Layout.values,
            help="pair: two whole versions (default); marked: one text with marked passages",
        )  # fmt: skip
        choice.add_argument(
            "--examples", type=int, metavar="N", help="first show N practice items with their answers"
        )  # fmt: skip
        add_costs(choice)  # type: ignore[arg-type]

    def choose(self, options: Mapping[str, Any]) -> None:
        """Have each of the models choose in a study's test cases; or list runs, or remove some."""
        if options["action"] == "rm" and not options["numbers"]:
            raise CommandError("No run was removed: give the numbers of the runs.")
        wrong = next((name for name in OF_PERPLEXITY if options[name]), None)
        if wrong is None and options["conditions"] != "full":
            wrong = "conditions"
        if wrong is not None:
            raise CommandError(f"--{wrong} needs --method perplexity.")
        if options["action"]:
            self._list_or_remove(options)
            return
        if not options["study"]:
            raise CommandError("Name the study with --study SLUG.")
        study, written = find_study(options["study"]), written_models(options)
        if options["model_name"] and len(written) > 1:
            raise CommandError(f"--name can name only one model, but {len(written)} were given.")
        drafts = [partial(self._draft, study, word, text, options) for word, text in written]
        if self.foretells(options, runs.forecast, drafts):
            return
        done = []
        how = (runs.can_resume, runs.reopen, options)
        for draft in [draft() for draft in drafts]:
            run = self.go_on_or_begin(draft, newest_same(draft), *how)
            done.append(self.work_off(run, runs.run, ("choices", "questions"), options))
        self.report(options, {"runs": [_data(run) for run in done]}, _lines(done))
        for run in done:
            check_over(run, run.choices.all())

    def _list_or_remove(self, options: Mapping[str, Any]) -> None:
        found = ChoiceRun.objects.select_related("language_model")
        if options["study"]:
            found = found.filter(study=find_study(options["study"]))
        if options["action"] == "ls":
            listed = list(found)
            lines = list(_lines(listed)) if listed else ["No model has chosen yet."]
            self.report(options, {"runs": [_data(run) for run in listed]}, lines)
            return
        named = list(found.filter(pk__in=options["numbers"]))
        missing = sorted(set(options["numbers"]) - {run.pk for run in named})
        at_work = [run.pk for run in named if run.status == ChoiceRun.Status.RUNNING]
        if missing or at_work:
            why = (
                f"there is no run {missing[0]}"
                if missing
                else f"run {at_work[0]} is being worked on"
            )
            raise CommandError(f"No run was removed: {why}.")
        removed = [f"{run.pk} ({run.language_model})" for run in named]
        for run in named:
            run.delete()
        self.report(options, {"removed": options["numbers"]}, [f"Removed: {', '.join(removed)}."])

    def _draft(self, study: Study, word: str, text: str, options: Mapping[str, Any]) -> ChoiceRun:
        own = content_of(options["prompt_file"])
        costs = {column: options[column] for column in COSTS}
        return runs.choice_run(
            study,
            Asked(word, parse_model_args(text), **costs),
            name=options["model_name"] or "",
            prompt=options["prompt"] or "default" if options["prompt_file"] is None else CUSTOM,
            own_prompt=own,
            layout=options["layout"] or "pair",
            samples=options["samples"],
            n_examples=options["examples"] or 0,
            source=options["source"],
            limit=options["limit"],
        )


def refuse_choice_options(options: Mapping[str, Any]) -> None:
    """Raises CommandError for what goes with --method choice alone."""
    wrong = next((name for name in OF_CHOICE if options[name]), None)
    if wrong is not None:
        raise CommandError(f"--{wrong} needs --method choice.")


def _data(run: ChoiceRun) -> dict[str, Any]:
    found = summarise(run)
    return {
        **run_data(run, runs.spent(run)),
        "requests": run.requests,
        "model": run.language_model.name,
        "form": run.form,
        "layout": run.layout,
        "prompt": run.prompt,
        "samples": run.samples,
        "test_cases": found.n_items,
        "judged": found.n_judged,
        "accuracy": found.accuracy,
        "accuracy_of_all": found.accuracy_of_all,
        "ties": found.n_ties,
        "flips": found.n_flips,
        "share_a": found.share_a,
        "states": found.states,
        "unused": found.unused,
        "without_confidence": found.n_unstated,
        "confidence_below_50": found.n_below_half,
        "served": runs.served(run),
        "lost_requests": runs.lost(run),
    }


def _lines(done: list[ChoiceRun]) -> Iterator[Any]:
    found = [(run, summarise(run)) for run in done]

    def share(value: float | None) -> str:
        return "" if value is None else f"{value:.1%}"

    cells = (
        {
            "run": str(run.pk),
            "model": run.language_model.name,
            "answer": run.form,
            "judged": f"{one.n_judged} of {one.n_items}",
            "correct": share(one.accuracy),
            "ties": str(one.n_ties),
            "flips": str(one.n_flips),
            "chose A": share(one.share_a),
        }
        for run, one in found
    )
    yield from table_lines(cells, left=("model", "answer"))
    for run, one in found:
        unread = {state: n for state, n in one.states.items() if state != READ}
        if unread:
            told = ", ".join(f"{n} {state}" for state, n in unread.items())
            yield f"{run.language_model.name}: {one.n_answers} answers, of which {told}."
        if one.unused:
            yield (
                f"{run.language_model.name}: the probabilities of tokens that came with {one.n_unused:,} of {one.n_answers:,} answers "
                f"cannot be true and are not used. Their test cases are decided by the sides alone ({one.why_unused})."
            )
        if one.n_unstated or one.n_below_half:
            yield (
                f"{run.language_model.name}: {one.n_unstated:,} answers choose a side without a confidence, and {one.n_below_half:,} with "
                "a confidence below 50%, which contradicts the choice. The sides count, and the confidence of these answers does not."
            )
        yield from unread_lines(runs.unread(run))
        if len(names := runs.served(run)) > 1:
            yield f"The server changed the model during run {run.pk}: {', '.join(names)}."
        if run.form != ChoiceRun.Form.LIKELIHOOD:
            yield from spending_lines(runs.spent(run))
