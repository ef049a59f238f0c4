"""The work of a grading run: each answer is judged once, or twice where the first text is no grade; stored as it comes.

A run that is taken up again asks only about what has no grade that stands.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import Q

from lib.jobs.leases import Lease
from lib.jobs.running import run_job
from scoring.backends.generating import open_generator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Generated, Message, Usage
from scoring.domain.grading.matching import exact_points
from scoring.domain.grading.reading import read_points, schema
from scoring.domain.grading.rubric import Rubric
from scoring.models import GradingRun, JudgeGrade
from scoring.models.generating import Kind
from scoring.services.generating.asking import Question, ask_all, stored
from scoring.services.generating.spending import BudgetSpentError, Spending, spending_of
from scoring.services.grading import prompts, targets
from scoring.services.grading.targets import Target

OnProgress = Callable[[GradingRun], None]
MOST_FAILURES = 10  # one after the other
EXACT = {"generator": "exact", "version": 1}
OF_UNASKED = ("points", "tries", "text", "finish", "detail", "messages", "prompt_tokens", "completion_tokens", "seconds")  # fmt: skip


def run(job: GradingRun, on_progress: OnProgress = lambda job: None) -> GradingRun:
    """Have the answers graded, as a worker does; the row says how it went."""

    def work(job: GradingRun, lease: Lease) -> None:
        _Grading(job, lease, on_progress).go_on()

    return run_job(job, work, expected=(ScoringError,))


def spent(job: GradingRun) -> Spending:
    return spending_of(job, job.grades.filter(tries__gt=0))


class _Grading:
    def __init__(self, job: GradingRun, lease: Lease, on_progress: OnProgress) -> None:
        self.job, self.lease, self.on_progress = job, lease, on_progress
        self.rubric = Rubric.from_json(job.rubric)
        self.schema = schema(self.rubric)
        self.second = set[int]()  # rows that are asked about again, of those under way
        self.spending = spent(job)
        self.failures = 0  # since the last answer

    def go_on(self) -> None:
        self.job.total = targets.count(self.job)
        self.job.done = self.job.total - targets.n_open(self.job)
        self.lease.write(total=self.job.total, done=self.job.done)
        if self.job.generator == Kind.EXACT:
            self._begin(EXACT)
            list(self._questions())  # none: all is known
            return
        generator = open_generator(self.job.generator, self.job.model_args)
        try:
            self._begin(generator.identity())
            check = self.lease.check
            ask_all(generator, self._questions(), self._store, self.spending, check, keep_failures=True)  # fmt: skip
        except BudgetSpentError as error:
            sentence = f"{error} Answers left: {self.job.total - self.job.done}."
            self.lease.end(GradingRun.Status.CANCELLED, sentence)
        finally:
            generator.close()

    def _begin(self, judge: Mapping[str, Any]) -> None:
        """Say by whom and by what is graded; who goes on must be who began."""
        text = json.dumps(judge, sort_keys=True, default=str)
        identity = {
            "judge": hashlib.sha256(text.encode()).hexdigest(),
            "prompt": prompts.prompt_sha256(self.job.instructions),
            "rubric": self.rubric.sha256,
            "of_judge": json.loads(text),
        }
        begun = self.job.identity
        is_other = any(begun.get(k) != identity[k] for k in ("judge", "prompt"))
        if is_other and self.job.grades.filter(tries__gt=0).exists():
            raise ScoringError(
                "The judge, or what it is told, is not what this run began with: begin another run."
            )
        self.lease.write(identity=identity)
        self.job.identity = identity

    def _questions(self) -> Iterator[Question]:
        """What the judge is to be asked; what needs no judge is graded on the way."""
        for chunk in targets.unsettled(self.job):
            self.lease.check()
            known = {t.row: points for t in chunk if (points := self._known(t)) is not None}
            without = [t for t in chunk if t.row in known or not t.has_text]
            self._store_unasked(without, known)
            asked = [t for t in chunk if t.has_text and t.row not in known]
            said = self._said_first([t.row for t in asked])
            for target in asked:
                turns = prompts.opening(self.job.instructions, target)
                if (first := said.get(target.row)) is None:
                    yield Question(target.row, turns, 0, self.schema)
                else:
                    yield self._again(target.row, turns, first)

    def _known(self, target: Target) -> float | None:
        """Points that need no model: a participant's "I do not know", and all of the exact-match judge's."""
        if target.abstained:
            return 0.0 if self.rubric.abstention is None else self.rubric.abstention
        if self.job.generator == Kind.EXACT and target.has_text:
            return exact_points(target.text, target.expert_answer, self.rubric)
        return None

    def _store_unasked(self, rows: Sequence[Target], known: Mapping[int, float]) -> None:
        """Of what no model was asked: tries is 0; without points where there is no text, with how the answer ended."""
        if not rows:
            return
        is_exact = self.job.generator == Kind.EXACT
        grades = [
            JudgeGrade(
                run=self.job,
                points=known.get(target.row),
                tries=int(is_exact and target.has_text),
                text=str(known.get(target.row, "")),
                finish=Finish.STOP if target.row in known else _without_text(target),
                prompt_tokens=0,
                completion_tokens=0,
                seconds=0.0,
                **targets.column(target.row),
            )
            for target in rows
        ]
        about = "answer" if rows[0].row > 0 else "judgment"  # a chunk is of one kind
        with transaction.atomic():
            self.lease.advance(done=self.job.done + len(grades))
            JudgeGrade.objects.bulk_create(
                grades,
                update_conflicts=True,  # its row says how the answer ended before
                unique_fields=["run", about],
                update_fields=OF_UNASKED,
            )
        self.job.done += len(grades)
        self.on_progress(self.job)

    def _said_first(self, rows: Sequence[int]) -> dict[int, str]:
        """What was stored before the run was stopped, and was no grade."""
        answers = [row for row in rows if row > 0]
        judgments = [-row for row in rows if row < 0]
        was_first = Q(tries=1) & ~Q(finish=Finish.FAILED)
        second_failed = Q(tries__gt=1, finish=Finish.FAILED)
        about = Q(answer__in=answers) | Q(judgment__in=judgments)
        known = self.job.grades.filter(about, was_first | second_failed)
        return {
            targets.row_of(grade): grade.first_text or grade.text
            for grade in known.only("answer_id", "judgment_id", "first_text", "text")
        }

    def _again(self, row: int, turns: Sequence[Message], said: str) -> Question:
        self.second.add(row)
        return Question(row, [*turns, *prompts.again(said, self.rubric)], 2, self.schema)

    def _store(self, question: Question, answer: Generated) -> Question | None:
        """Keep what the judge said, and the progress, in one transaction."""
        is_second, has_failed = question.row in self.second, answer.finish == Finish.FAILED
        points = read_points(answer.text, self.rubric) if answer.finish == Finish.STOP else None
        is_final = points is not None or is_second or answer.finish in targets.NOT_RETRIED
        is_over = is_final and not has_failed
        with transaction.atomic():
            # Who withdrew meanwhile leaves no words, in a judge's either
            is_there = targets.hold(question.row)
            self.lease.advance(done=self.job.done + (is_over and is_there))
            if is_there:
                self._keep(question, answer, points, 2 if is_second else 1, is_final=is_final)
        self.job.done += is_over and is_there
        self.second.discard(question.row)
        self.on_progress(self.job)
        # What a failed one took is not known, and asks for no end where a budget is kept
        self.spending.add(Usage() if has_failed else answer.usage, answer.seconds)
        self._count_failures(has_failed, answer.detail)
        if is_over or has_failed or not is_there:
            return None
        return self._again(question.row, question.messages, answer.text)

    def _keep(
        self,
        question: Question,
        answer: Generated,
        points: float | None,
        tries: int,
        *,
        is_final: bool,
    ) -> None:
        """A second answer takes the place of the first, whose text stays beside it; both are paid for."""
        key = targets.column(question.row)
        turns = question.messages[len(question.messages) - question.new :]
        values: dict[str, Any] = {
            "points": points,
            "tries": tries,
            "messages": [asdict(message) for message in turns],
            **stored(answer),
        }
        if not is_final and answer.finish != Finish.FAILED:
            values["first_text"] = answer.text
        earlier = self.job.grades.filter(**key).first()
        if earlier is not None:
            values["seconds"] += earlier.seconds
            for name in ("prompt_tokens", "completion_tokens"):
                taken = (getattr(earlier, name), values[name])
                values[name] = None if taken == (None, None) else sum(n or 0 for n in taken)
        grade = earlier or JudgeGrade(run=self.job, **key)
        for name, value in values.items():
            setattr(grade, name, value)
        grade.save()

    def _count_failures(self, has_failed: bool, detail: str) -> None:
        self.failures = self.failures + 1 if has_failed else 0
        if self.failures >= min(MOST_FAILURES, self.job.total):
            so_far = f" So it was with {self.failures} answers in a row."
            raise ScoringError(detail + (so_far if self.failures > 1 else ""))


def _without_text(target: Target) -> str:
    return Finish.EMPTY.value if target.finish in targets.GRADED else target.finish
