"""Use case: a model takes the test by choosing, or goes on with it; each answer is stored as it comes.

Each test case is asked about in both orders. What cannot be read is asked for once more; what is wrong with an answer is a
state of it, and ends no run. A run that is taken up again asks what has no answer stored, and again what failed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum

from experiment.domain.markup import Abstract
from experiment.models import Item, Study
from experiment.services.usable import is_site
from scoring.backends.opening import check_model_args
from scoring.backends.registry import WRITERS, Place, known_kind, place_of
from scoring.domain.backend import ScoringError
from scoring.domain.choosing.odds import Odds, read_odds
from scoring.domain.choosing.reading import SCHEMA, SIDES, read_choice
from scoring.domain.choosing.showing import LAYOUTS
from scoring.domain.conditions import parsed
from scoring.domain.generating import Finish, Generated
from scoring.models import ChoiceRun, ModelChoice
from scoring.models.choices import IS_READ
from scoring.models.counting import counts_in
from scoring.services.asking import forecast as forecasting
from scoring.services.asking.engine import Asking, Question, added_up, stored
from scoring.services.asking.identity import check_as_before
from scoring.services.asking.settings import Asked, Unread
from scoring.services.choosing import likelihood, prompts
from scoring.services.open_model import default_name, language_model
from scoring.services.site_wide import continued

MOST_SAMPLES = 100
SAMPLES = 5  # of an answer that is drawn by chance
DEFAULTS: Mapping[Place, Mapping[str, str]] = {
    Place.SERVER: {"max_tokens": "4096", "temperature": "0", "tries": "3"},
    Place.HERE: {"max_tokens": "1024", "temperature": "0"},
}
# That can reason before they answer, for which the demonstration model is too small
REASONERS = tuple(kind for kind in WRITERS if kind.place != Place.DEMO)
# Unread, and not asked for again yet: the run was stopped in between
HALF = ~IS_READ & Q(finish=Finish.STOP, first_text="")
Form = ChoiceRun.Form
Status = ChoiceRun.Status


def choice_run(
    study: Study,
    asked: Asked,
    *,
    name: str = "",
    prompt: str = "default",
    own_prompt: str = "",
    layout: str = "pair",
    samples: int | None = None,
    n_examples: int = 0,
    source: str = "",
    limit: int | None = None,
    by: User | None = None,
) -> ChoiceRun:
    """A run, not stored yet, on the test cases that the study holds.

    Args:
        name: of the model in tables, else as it is asked for.
        prompt: one of `prompts.PROMPTS`, or "custom" for `own_prompt`. With "reasoning" a model writes before it answers.
        samples: answers to each test case in each order; by default 1 at temperature 0, else 5.
        n_examples: how many practice items are shown with their answers first.
        source: human or machine; "" for both.
        limit: only the first so many test cases.
    Raises:
        ScoringError: the model cannot be meant like this, or there is nothing to choose.
    """
    form = _form(asked.generator, prompt)
    if form == Form.LIKELIHOOD:
        # The model is opened as one that scores, here or on a completions server
        args = likelihood.without_thinking(asked.model_args)
        check_model_args(asked.generator, args)
        if args.get("overlong", "refuse") != "refuse":
            raise ScoringError(
                "A model that chooses reads both versions whole, so overlong needs --method perplexity.",
                option="--model_args",
            )
        costs = (
            asked.prompt_price,
            asked.completion_price,
            asked.budget_tokens,
            asked.budget_money,
        )
        if any(cost is not None for cost in costs):
            raise ScoringError("Prices and budgets need a chat server.")
    else:
        asked = asked.with_defaults(DEFAULTS)
        asked.check()
    if layout not in LAYOUTS:
        raise ScoringError(f"There is no layout “{layout}”. Choose from {', '.join(LAYOUTS)}.")
    told = prompts.told(prompt, own_prompt, study.field)
    items, examples = _items(study, source, limit), examples_of(study, n_examples)
    n = _samples(samples, form, asked)
    name = name or default_name(asked.generator, asked.model_args)
    words = prompts.all_words(told, form, layout)
    about = (study.pk, name, words, form, layout, n, examples, source, limit)
    return ChoiceRun(
        study=study,
        language_model=language_model(asked.generator, name),
        items=items,
        prompt=prompt,
        form=form,
        layout=layout,
        samples=n,
        examples=examples,
        total=len(items) * len(SIDES) * n,
        is_site_wide=is_site(by),
        fingerprint=asked.fingerprint(*about),
        **asked.columns(told, by),
    )


def _form(generator: str, prompt: str) -> str:
    """How the model answers: here, where its probabilities are at hand, by them, unless it is to reason first."""
    kind = known_kind(generator)
    if prompt == prompts.REASONING:
        if kind not in REASONERS:
            able = " or ".join(kind.name for kind in REASONERS)
            raise ScoringError(
                f"--model {generator} does not write answers. The prompt “{prompt}” needs {able}.",
                option="--prompt",
            )
        return Form.REASONED.value
    return (Form.LIKELIHOOD if kind.scores else Form.WRITTEN).value


def _items(study: Study, source: str, limit: int | None) -> list[int]:
    if source not in ("", *Item.Source.values):
        raise ScoringError(f"There is no source “{source}”.")
    if limit is not None and limit < 1:
        raise ScoringError(f"limit must be 1 or more, not {limit}.")
    held = study.items.filter(kind=Item.Kind.TEST)
    held = held.filter(source=source) if source else held
    # Sorted here: databases disagree on the order of texts
    items = sorted(held.values_list("key", "pk"))
    if not items:
        raise ScoringError(f"Study {study.slug} does not have any test cases.")
    return [pk for _, pk in items[:limit]]


def examples_of(study: Study, n: int) -> list[int]:
    """The first n practice items, by key. Raises ScoringError where there are fewer."""
    held = study.items.filter(kind=Item.Kind.PRACTICE).values_list("key", "pk")
    chosen = [pk for _, pk in sorted(held)][: max(n, 0)]
    if n < 0 or len(chosen) < n:
        raise ScoringError(
            f"{n} examples were requested, but the study has {len(chosen)} practice items. Test cases are never examples.",
            option="--examples",
        )
    return chosen


def _samples(samples: int | None, form: str, asked: Asked) -> int:
    if form == Form.LIKELIHOOD:
        if samples not in (None, 1):
            raise ScoringError(
                "The probability of an answer does not need samples.", option="--samples"
            )
        return 1
    if samples is None:
        # Without a temperature, a server draws by its own, and a model in this process does not
        by_default = "1" if place_of(asked.generator) == Place.SERVER else "0"
        said = asked.model_args.get("temperature", by_default)
        return SAMPLES if float(said) > 0 else 1
    if not 1 <= samples <= MOST_SAMPLES:
        raise ScoringError(f"samples must be from 1 to {MOST_SAMPLES}.", option="--samples")
    return samples


def run(job: ChoiceRun, on_progress: Callable[[ChoiceRun], None] = lambda job: None) -> ChoiceRun:
    """Ask, as a worker does; the row says how it went."""
    work_off = likelihood.run if job.form == Form.LIKELIHOOD else _Choosing.run
    return work_off(job, on_progress)


def unread(job: ChoiceRun) -> Unread:
    came = job.choices.exclude(finish=Finish.FAILED)
    return Unread(came.exclude(IS_READ).count(), came.count())


def lost(job: ChoiceRun) -> int:
    """Requests for which nothing is stored: the process was killed, or they ended the run. Known once the run is over."""
    if job.is_open or not job.requests:
        return 0
    return max(job.requests - (job.choices.aggregate(n=Sum("tries"))["n"] or 0), 0)


def served(job: ChoiceRun) -> list[str]:
    """The names, with fingerprints, by which the server called the model: several where it changed during the run."""
    named = job.choices.exclude(model="").values_list("model", "raw__system_fingerprint").distinct()
    return sorted({" ".join(str(part) for part in one if part) for one in named.order_by()})


def abstracts(pks: list[int]) -> dict[int, Abstract]:
    """The texts of items, in the order of these keys."""
    markup = dict(Item.objects.filter(pk__in=pks).values_list("pk", "markup"))
    return {pk: parsed(markup[pk]) for pk in pks if pk in markup}


class _Choosing(Asking[ChoiceRun]):
    left = "Questions"
    keep_failures = True

    @classmethod
    def resume(cls, job: ChoiceRun, by: User) -> ChoiceRun:
        with transaction.atomic():
            job = super().resume(job, by)
            continued(job, by)
        return job

    @staticmethod
    def answers(job: ChoiceRun) -> QuerySet[ModelChoice]:
        return job.choices.all()

    @staticmethod
    def is_written(job: ChoiceRun) -> bool:
        return job.form != Form.LIKELIHOOD

    @staticmethod
    def first_questions(job: ChoiceRun) -> Iterator[Question]:
        """Test case by test case, so that a run that is stopped has both orders of those that it has begun."""
        # After reasoning, the tokens of an answer would say what it has decided
        is_written = job.form == Form.WRITTEN
        schema = SCHEMA if is_written else None
        texts, examples = abstracts(job.items), list(abstracts(job.examples).values())
        places = ((item, side) for item in job.items for side in SIDES)
        for begin, (item, side) in zip(count(0, job.samples), places, strict=False):
            if item not in texts:
                continue
            turns = prompts.conversation(job, examples, texts[item], side)
            for sample in range(job.samples):
                yield Question(begin + sample, turns, 0, schema, sample, wants_tokens=is_written)

    @staticmethod
    def earlier(job: ChoiceRun) -> QuerySet[ModelChoice]:
        seen = ModelChoice.objects.filter(counts_in([job.study], "run__"))
        return seen.filter(run__fingerprint=job.fingerprint, tries=1)

    def go_on(self) -> None:
        self.kept = self.job.choices.exclude(finish=Finish.FAILED).exclude(HALF)
        self.job.done = self.kept.count()
        self.lease.write(done=self.job.done)
        if self.job.done < self.job.total:
            self.ask(self._questions())

    def begin(self, identity: Mapping[str, Any]) -> None:
        check_as_before(self.job, self.lease, identity, has_answers=self.kept.exists())

    def sending(self, n: int) -> None:
        """First ones are counted before they are sent: what a kill loses on the way is known."""
        self.lease.write(requests=F("requests") + n)

    def _questions(self) -> Iterator[Question]:
        """Those that have no answer yet; after an answer that could not be read, the second."""
        place = ("item_id", "original_side", "sample")
        known = set(self.kept.values_list(*place))
        half = {
            tuple(key): said
            for *key, said in self.job.choices.filter(HALF).values_list(*place, "text")
        }
        for question in self.first_questions(self.job):
            where = self._place(question.row)
            if where not in known:
                yield self._again(question, half[where]) if where in half else question

    def _place(self, row: int) -> tuple[int, str, int]:
        """Item, the side of its original, and sample of a row."""
        rest, sample = divmod(row, self.job.samples)
        item, side = divmod(rest, len(SIDES))
        return self.job.items[item], SIDES[side], sample

    def _again(self, question: Question, said: str) -> Question:
        turns = prompts.again(said)
        return replace(question, messages=[*question.messages, *turns], new=len(turns))

    def store(self, question: Question, answer: Generated) -> Question | None:
        """A second answer takes the place of the first, whose text stays beside it; both are paid for."""
        is_whole = answer.finish == Finish.STOP
        chosen = read_choice(answer.text) if is_whole else None
        is_unread = is_whole and chosen is None and not question.new
        following = self._again(question, answer.text) if is_unread else None
        is_over = following is None and answer.finish != Finish.FAILED

        new = question.messages[len(question.messages) - question.new :]
        odds = Odds()
        if chosen and not answer.thought:
            odds = read_odds(answer.tokens, chosen.side, is_greedy=self.job.is_greedy)
        values: dict[str, Any] = stored(answer) | {
            "messages": [asdict(message) for message in new],
            "side": chosen.side if chosen else "",
            "confidence": chosen.confidence if chosen else None,
            "is_below_half": bool(chosen and chosen.is_below_half),
            "log_odds": odds.log_odds,
            "unused": odds.fault,
            "raw": answer.raw,
            "tries": 1 + answer.resent,
        }
        item, side, sample = self._place(question.row)
        key = {"item_id": item, "original_side": side, "sample": sample}
        with transaction.atomic():
            self.lease.advance(done=self.job.done + is_over)
            earlier = self.job.choices.filter(**key).first()
            if earlier is not None:
                values["first_text"] = earlier.text if question.new else ""
                values["tries"] += earlier.tries
                values = added_up(earlier, values)
            choice = earlier or ModelChoice(run=self.job, **key)
            for name, value in values.items():
                setattr(choice, name, value)
            choice.save()
        self.job.done += is_over
        self.count(answer, is_read=None if following else chosen is not None)
        return following


forecast = partial(forecasting.forecast, _Choosing)
spent, can_resume = _Choosing.spent, _Choosing.can_resume
start, reopen, resume = _Choosing.start, _Choosing.reopen, _Choosing.resume
