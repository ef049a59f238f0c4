"""Use case: a model is asked a study's questions: each once, and each answer is stored as it comes.

What is wrong with an answer is a state of it, and ends no run. A run that is taken up again asks what has no answer stored,
and again what failed.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

from experiment.models import Item, Study
from scoring.backends.registry import Place
from scoring.domain.backend import ScoringError
from scoring.domain.choosing.reading import read_percent
from scoring.domain.generating import Finish, Generated, Message
from scoring.domain.prompts import filled
from scoring.models import Answer, AnsweringRun
from scoring.services.asking import forecast as forecasting
from scoring.services.asking.engine import Asking, Question, added_up, stored
from scoring.services.asking.identity import check_as_before
from scoring.services.asking.settings import ANY_FIELD, Asked, Unread
from scoring.services.open_model import default_name, language_model

# As the method has it; the demonstration model's window is smaller than such an answer
DEFAULTS: Mapping[Place, Mapping[str, str]] = {
    Place.SERVER: {"max_tokens": "1024", "temperature": "0", "tries": "3"},
    Place.HERE: {"max_tokens": "1024", "temperature": "0"},
}
CHUNK = 100  # questions in memory
OF_USAGE = ("seconds", "prompt_tokens", "completion_tokens", "thought_tokens")
# The model wrote, and no answer came of it
WITHOUT_ANSWER = (Finish.EMPTY, Finish.THINKING)
Status = AnsweringRun.Status


def default_instructions() -> str:
    return render_to_string("scoring/answering/system_prompt.txt").strip()


def confidence_question() -> str:
    return render_to_string("scoring/answering/confidence.txt").strip()


def answering_run(
    study: Study,
    asked: Asked,
    *,
    name: str = "",
    instructions: str = "",
    limit: int | None = None,
    asks_confidence: bool = False,
    by: User | None = None,
) -> AnsweringRun:
    """A run, not stored yet, on the accepted questions that the study holds.

    Args:
        name: of the model in tables, else as it is asked for.
        instructions: the system prompt, whose place is {field}.
        limit: only the first so many questions.
        asks_confidence: ask after each answer how confident the model is, which takes a second request.
    Raises:
        ScoringError: the model cannot be meant like this, or there is nothing to answer.
    """
    asked = asked.with_defaults(DEFAULTS)
    asked.check()
    if limit is not None and limit < 1:
        raise ScoringError(f"limit must be 1 or more, not {limit}.")
    questions = Item.objects.drawable_in(study).filter(kind=Item.Kind.QUESTION)
    items = list(questions.order_by("key", "version").values_list("pk", flat=True)[:limit])
    if not items:
        raise ScoringError(
            "There is nothing to answer, because the study does not have an accepted question."
        )
    told = filled(instructions.strip() or default_instructions(), field=study.field or ANY_FIELD)
    name = name or default_name(asked.generator, asked.model_args)
    about = (study.pk, name, told, limit)
    return AnsweringRun(
        study=study,
        language_model=language_model(asked.generator, name),
        items=items,
        total=len(items),
        asks_confidence=asks_confidence,
        fingerprint=asked.fingerprint(
            *about, *([confidence_question()] if asks_confidence else [])
        ),
        **asked.columns(told, by),
    )


class _Answering(Asking[AnsweringRun]):
    left = "Questions"
    keep_failures = True

    @staticmethod
    def answers(job: AnsweringRun) -> QuerySet[Answer]:
        return job.answers.all()

    @staticmethod
    def first_questions(
        job: AnsweringRun, kept: QuerySet[Answer] | None = None
    ) -> Iterator[Question]:
        """In the run's order, read as they are asked.

        Args:
            kept: answers whose questions are left out.
        """
        system = Message("system", job.instructions)
        left = iter(job.items)
        while chunk := list(islice(left, CHUNK)):
            done = set[int]()
            if kept is not None:
                done.update(kept.filter(item__in=chunk).values_list("item", flat=True))
            todo = [pk for pk in chunk if pk not in done]
            texts = dict(Item.objects.filter(pk__in=todo).values_list("pk", "markup"))
            for pk in (pk for pk in todo if pk in texts):
                turns = [system, Message("user", texts[pk])]
                yield Question(pk, turns, len(turns))

    @classmethod
    def following(cls, job: AnsweringRun, question: Question, text: str) -> Question | None:
        """The question about the confidence in an answer."""
        if not job.asks_confidence:
            return None
        turns = (Message("assistant", text), Message("user", confidence_question()))
        return Question(question.row, [*question.messages, *turns], len(turns))

    @staticmethod
    def earlier(job: AnsweringRun) -> QuerySet[Answer]:
        return Answer.objects.filter(run__fingerprint=job.fingerprint)

    def go_on(self) -> None:
        self.kept = self.job.answers.exclude(finish=Finish.FAILED)
        self.of_confidence = set[int]()  # rows of answers whose confidence is asked for
        self.job.total, self.job.done = len(self.job.items), self.kept.count()
        self.lease.write(total=self.job.total, done=self.job.done)
        unasked = self.kept.filter(finish=Finish.STOP, confidence=None)
        if self.job.done < self.job.total or (self.job.asks_confidence and unasked.exists()):
            self.ask(chain(self._unsaid(), self.first_questions(self.job, self.kept)))

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Say who answers; who goes on must be who began."""
        check_as_before(self.job, self.lease, identity, has_answers=self.kept.exists())

    def _unsaid(self) -> Iterator[Question]:
        """The confidence of answers that were stored before the run was stopped."""
        if not self.job.asks_confidence:
            return
        unasked = self.kept.filter(finish=Finish.STOP, confidence=None)
        for item, markup, text in list(unasked.values_list("item", "item__markup", "text")):
            turns = [Message("system", self.job.instructions), Message("user", markup)]
            question = self.following(self.job, Question(item, turns, len(turns)), text)
            if question is not None:
                self.of_confidence.add(item)
                yield question

    def store(self, question: Question, answer: Generated) -> Question | None:
        """The turns before an answer are the run's and the question's."""
        if question.row in self.of_confidence:
            # Beside the answer, which stays as it is; what both took is added up
            kept = self.job.answers.get(item_id=question.row)
            kept.confidence = read_percent(answer.text) if answer.finish == Finish.STOP else None
            for name, value in added_up(kept, stored(answer)).items():
                if name in OF_USAGE:
                    setattr(kept, name, value)
            with transaction.atomic():
                self.lease.advance()
                kept.save()
            self.of_confidence.discard(question.row)
            self.count(answer)
            return None
        with transaction.atomic():
            self.lease.advance(done=self.job.done + 1)
            columns = stored(answer) | {"raw": answer.raw, "at": timezone.now()}
            # What failed keeps its row: judges' and people's grades are of it
            Answer.objects.update_or_create(columns, run=self.job, item_id=question.row)
        self.job.done += 1
        self.count(answer, is_read=answer.finish not in WITHOUT_ANSWER)
        if answer.finish != Finish.STOP:
            return None
        if (second := self.following(self.job, question, answer.text)) is not None:
            self.of_confidence.add(question.row)
        return second


forecast = partial(forecasting.forecast, _Answering)
run, spent, can_resume = _Answering.run, _Answering.spent, _Answering.can_resume
start, reopen, resume = _Answering.start, _Answering.reopen, _Answering.resume


def unread(run: AnsweringRun) -> Unread:
    came = run.answers.exclude(finish=Finish.FAILED)
    return Unread(came.filter(finish__in=WITHOUT_ANSWER).count(), came.count())


def counted(runs: Collection[AnsweringRun], questions: QuerySet[Item]) -> list[AnsweringRun]:
    """One of each model's runs with an answer: no simulated one before a real one, most of the questions, the newest.

    Args:
        runs: that are over.
        questions: of the study.
    """
    rows = Answer.objects.filter(run__in=[run.pk for run in runs], item__in=questions.values("pk"))
    n: dict[Any, int] = dict(rows.order_by().values_list("run").annotate(n=Count("pk")))
    best: dict[int, AnsweringRun] = {}
    for run in sorted(runs, key=lambda run: (not run.is_simulated, n.get(run.pk, 0), run.pk)):
        if run.pk in n:
            best[run.language_model_id] = run
    return list(best.values())
