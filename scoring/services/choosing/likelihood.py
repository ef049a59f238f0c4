"""The side that a model is likelier to name: the log-likelihoods of the answers A and B after the same words.

As lm-evaluation-harness does for a choice between texts: words and answer are tokenised together, and the tokens that the
words alone have are no part of the answer. With a chat template the model's turn begins with the letter, else after a space.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from django.db import transaction

from experiment.models import Item
from lib.jobs.leases import Lease, renew_connection, run_job
from scoring.backends.opening import open_backend
from scoring.backends.options import read_writing
from scoring.backends.reading import Reading
from scoring.domain.backend import Backend, GroupResult, ScoringError, TextError, TokenText, planned
from scoring.domain.choosing.odds import ROUNDING
from scoring.domain.choosing.reading import SIDES
from scoring.domain.conditions import parsed
from scoring.domain.generating import Finish, Message, Usage
from scoring.domain.prompts import applied
from scoring.domain.thinking import USUAL
from scoring.models import ChoiceRun, ModelChoice
from scoring.services import servers
from scoring.services.asking.identity import check_as_before
from scoring.services.choosing.prompts import conversation, plain_text

THINKING = "enable_thinking"
Place = tuple[int, str]  # item, side of its original


@dataclass(frozen=True)
class _Case:
    """A test case in one order: how many tokens stand before the answer, and the whole with each answer."""

    place: Place
    n_before: int
    group: Sequence[TokenText]


def run(job: ChoiceRun, on_progress: Callable[[ChoiceRun], None] = lambda job: None) -> ChoiceRun:
    """Read off what is missing, as a worker does; the row says how it went."""

    def work(job: ChoiceRun, lease: Lease) -> None:
        allowance = servers.begin(job, lease)
        with closing(open_backend(job.generator, without_thinking(job.model_args))) as model:
            _read_off(job, lease, model, on_progress, allowance)

    return run_job(job, work, expected=(ScoringError,))


def without_thinking(args: Mapping[str, str]) -> dict[str, str]:
    """Arguments of the model itself: `enable_thinking` is one of its chat template."""
    return {name: value for name, value in args.items() if name != THINKING}


def encoded(
    tokenizer: Any, turns: Sequence[Message], how: Mapping[str, Any]
) -> tuple[int, list[list[int]]]:
    """How many tokens a model reads before its answer, and all tokens with each answer.

    Args:
        how: arguments of its chat template.
    Raises:
        ScoringError: the template cannot write the turns, or begins a thought, within which no answer stands.
        TextError: the words with an answer do not begin with the tokens of the words alone.
    """
    if getattr(tokenizer, "chat_template", None):
        from jinja2 import TemplateError

        said = [{"role": turn.role, "content": turn.content} for turn in turns]
        space, own = "", False
        try:
            before = applied(tokenizer, said, add_generation_prompt=True, **how)
        except (TemplateError, ValueError, TypeError) as error:
            raise ScoringError("The model's chat template cannot write these messages.") from error
        if USUAL.begun_in(before):
            raise ScoringError(
                "The model's chat template begins with a thought, so the next token is not an answer: use --prompt reasoning, or "
                "enable_thinking=False if the model knows it."
            )
    else:
        before, space, own = plain_text(turns), " ", True

    def ids(text: str) -> list[int]:
        found = [int(i) for i in tokenizer(text, add_special_tokens=own)["input_ids"]]
        # A template has written the special tokens; what a tokenizer adds behind, an end token, is not read
        if not own:
            return found
        plain = tokenizer("", add_special_tokens=True)["input_ids"]
        end = getattr(tokenizer, "eos_token_id", None)
        is_longer = len(found) > len(plain) > 0
        return found[:-1] if is_longer and found[-1] == plain[-1] == end else found

    n = len(ids(before))
    whole = [ids(f"{before}{space}{side}") for side in SIDES]
    if any(len(tokens) <= n for tokens in whole) or whole[0][:n] != whole[1][:n]:
        raise TextError("cannot be tokenised so that the answers follow the same words")
    return n, whole


def _read_off(
    job: ChoiceRun,
    lease: Lease,
    model: Backend,
    on_progress: Callable[[ChoiceRun], None],
    allowance: servers.Allowance | None,
) -> None:
    cases, unfit = _cases(job, model)
    groups = [case.group for case in cases]
    if groups:
        model.prepare(groups)
    kept = job.choices.exclude(finish=Finish.FAILED)
    check_as_before(job, lease, model.identity(), has_answers=kept.exists())
    job.choices.filter(finish=Finish.FAILED).delete()
    stored = set(kept.values_list("item_id", "original_side"))
    _keep(job, lease, [row for row in unfit if (row.item_id, row.original_side) not in stored])
    if not cases:
        return
    for batch in planned(model, groups, Reading.of(job.model_args).batch_tokens(groups)):
        members = [cases[n] for n in batch]
        if all(case.place in stored for case in members):
            continue
        lease.check()
        if allowance is not None and (allowance := allowance.again()) is not None:
            texts = [text for case in members for text in case.group]
            if not allowance.fits(Usage(sum(len(text.ids) for text in texts), len(texts))):
                sentence = f"{allowance.refusal} Answers left: {job.total - job.done}."
                lease.end(ChoiceRun.Status.CANCELLED, sentence)
                return
        began = perf_counter()
        # The whole batch, also what is stored: the same batch gives the same bits
        results = model.score([case.group for case in members])
        seconds = (perf_counter() - began) / len(members)
        rows = [
            _row(job, case, result, seconds)
            for case, result in zip(members, results, strict=True)
            if case.place not in stored
        ]
        renew_connection()
        _keep(job, lease, rows)
        on_progress(job)


def _keep(job: ChoiceRun, lease: Lease, rows: Sequence[ModelChoice]) -> None:
    with transaction.atomic():
        ModelChoice.objects.bulk_create(rows)
        job.done = job.choices.count()
        lease.advance(done=job.done)


def _cases(job: ChoiceRun, model: Backend) -> tuple[list[_Case], list[ModelChoice]]:
    """The texts that the model reads, in the run's order; and rows for those that it cannot read."""
    held = Item.objects.filter(pk__in=[*job.items, *job.examples])
    texts = {pk: parsed(markup) for pk, markup in held.values_list("pk", "markup")}
    examples = [texts[pk] for pk in job.examples if pk in texts]
    cases, unfit = [], []
    thinking = {name: job.model_args[name] for name in job.model_args if name == THINKING}
    how = read_writing(thinking).template_arguments
    for place in ((pk, side) for pk in job.items if pk in texts for side in SIDES):
        pk, side = place
        try:
            turns = conversation(job, examples, texts[pk], side)
            n, whole = encoded(model.tokenizer, turns, how)
        except TextError as error:
            unfit.append(_without(job, place, str(error), Finish.FAILED))
            continue
        try:
            longest, window = max(map(len, whole)), model.context_tokens
            if window is not None and longest > window:
                raise TextError(f"has {longest:,} tokens, but the model's window has {window:,}")
        except TextError as error:
            unfit.append(_without(job, place, str(error), Finish.TOO_LONG))
            continue
        group = [
            TokenText(f"item {pk}, answer {answer}", np.array(ids, dtype=np.int64))
            for answer, ids in zip(SIDES, whole, strict=True)
        ]
        cases.append(_Case(place, n, group))
    return cases, unfit


def _row(job: ChoiceRun, case: _Case, result: GroupResult, seconds: float) -> ModelChoice:
    sums = []
    for logprobs in result:
        if isinstance(logprobs, TextError):
            return _without(job, case.place, str(logprobs), Finish.FAILED)
        sums.append(math.fsum(logprobs[case.n_before :].tolist()))
    a, b = sums
    if not all(math.isfinite(one) and one <= ROUNDING for one in (a, b)):
        return _without(job, case.place, "an answer does not have a probability", Finish.FAILED)
    odds = a - b
    item, side = case.place
    return ModelChoice(
        run=job,
        item_id=item,
        original_side=side,
        side="" if odds == 0 else SIDES[odds < 0],
        log_odds=odds,
        finish=Finish.STOP,
        raw={"log_likelihood": {"A": a, "B": b}},
        prompt_tokens=max(len(text.ids) for text in case.group),
        completion_tokens=0,
        seconds=seconds,
    )


def _without(job: ChoiceRun, place: Place, why: str, finish: Finish) -> ModelChoice:
    item, side = place
    about: Mapping[str, Any] = {"run": job, "item_id": item, "original_side": side}
    return ModelChoice(**about, finish=finish, detail=why, seconds=0.0)
