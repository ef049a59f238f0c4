"""Use case: a judge is asked to grade answers of a study, or goes on with them.

Each answer is judged once, or twice where the first text is no grade; grades are stored as they come. A run that is taken up
again asks only about what has no grade that stands.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from experiment.models import Study
from experiment.services import work
from lib.jobs import leases
from scoring.backends.opening import stays_here
from scoring.backends.registry import WRITERS, Place, known_kind
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Generated, Message
from scoring.domain.grading.reading import exact_points, read_points, schema
from scoring.domain.grading.rubric import Rubric
from scoring.models import AnsweringRun, GradingRun, JudgeGrade
from scoring.models.answers import Kind
from scoring.services.asking import forecast as forecasting
from scoring.services.asking.engine import Asking, Question, added_up, stored
from scoring.services.asking.settings import Asked, Unread
from scoring.services.grading import prompts, targets
from scoring.services.grading.plans import plan_of, rubric_of
from scoring.services.grading.targets import Target
from scoring.services.open_model import default_name, language_model

# A grade is short; a model that reasons before it needs more, and says so in its arguments
DEFAULTS: Mapping[Place, Mapping[str, str]] = {
    Place.SERVER: {"temperature": "0", "max_tokens": "1024", "tries": "3"},
    Place.HERE: {"max_tokens": "32"},
    Place.DEMO: {"max_tokens": "8"},
}
# Names and words of the judges
JUDGES = {kind.name: kind.label for kind in WRITERS} | {Kind.EXACT.value: Kind.EXACT.label}


def grading_run(
    study: Study,
    asked: Asked,
    *,
    runs: Sequence[int] | None = None,
    models: Sequence[str] = (),
    people: bool = False,
    rubric: Rubric | None = None,
    prompt: str = "",
    by: User | None = None,
) -> GradingRun:
    """A run, not stored yet.

    Args:
        runs: answering runs by number; None for all that have answers and are not under way.
        models: of these runs only those of models that have one of these names, where there is one.
        people: also what valid participants wrote.
        rubric: else that of the study's plan.
        prompt: what the judge is told, with {rubric} where the rubric is to stand; else ours.
    Raises:
        ScoringError: the judge cannot be meant like this, participants were not told of it, or there is nothing to grade.
    """
    asked = asked.with_defaults(DEFAULTS)
    if asked.generator not in JUDGES:
        raise ScoringError(f"“{asked.generator}” is not a judge. Choose from {', '.join(JUDGES)}.")
    if asked.generator != Kind.EXACT:
        asked.check()
    elif asked.model_args:
        raise ScoringError("The exact-match judge does not accept arguments.")
    if people:
        _check_told(study, asked)
    rubric = rubric or rubric_of(plan_of(study))
    told = prompts.instructions(prompt.strip() or prompts.default_prompt(), rubric)
    chosen: list[int | str] = [
        *_numbers(study, runs, models),
        *([targets.PEOPLE] if people else []),
    ]
    # The exact-match judge is no model
    judge = None
    if asked.generator != Kind.EXACT:
        kind = known_kind(asked.generator)
        named = (
            asked.model_args[kind.named_by]
            if kind.place == Place.SERVER
            else default_name(asked.generator, asked.model_args)
        )
        judge = language_model(asked.generator, named)
    run = GradingRun(
        study=study,
        language_model=judge,
        rubric=rubric.to_json(),
        runs=chosen,
        fingerprint=asked.fingerprint(study.pk, told, rubric.sha256),
        **asked.columns(told, by),
    )
    run.total = targets.count(run)
    if not run.total:
        raise ScoringError("There is nothing to grade yet.")
    return run


def newest_same(draft: GradingRun) -> GradingRun | None:
    """The newest run of the same judge, prompt, rubric and answers."""
    return next((run for run in _of_same_judge(draft) if run.runs == draft.runs), None)


def newest_like(draft: GradingRun, models: Sequence[str]) -> tuple[GradingRun | None, list[Any]]:
    """A run to go on with in place of a draft about all runs: the newest with something left, else the newest.

    With it, of the draft's runs those that no such run has: they came since, and it can take them in.

    Args:
        models: as in `grading_run`.
    """
    own = AnsweringRun.objects.filter(study=draft.study)
    asked = own.filter(language_model__name__in=models) if models else own
    elsewhere: set[Any] = {targets.PEOPLE, *own.values_list("pk", flat=True)}
    elsewhere -= {*asked.values_list("pk", flat=True), *draft.runs}
    # One that is deleted is nobody's
    like = [run for run in _of_same_judge(draft) if elsewhere.isdisjoint(run.runs)]
    left = (run for run in like if run.is_open or can_resume(run))
    known = {number for run in like for number in run.runs}
    return next(left, next(iter(like), None)), [n for n in draft.runs if n not in known]


def has_said_all(judge: str, same: GradingRun | None) -> bool:
    """True if another run would store the same grades again: the exact-match judge says of an answer what it said before."""
    return judge == Kind.EXACT and same is not None and not (same.is_open or can_resume(same))


def take_in(run: GradingRun, more: Sequence[int | str]) -> GradingRun:
    """Have a run that nobody works on grade these answering runs too."""
    if more and not leases.is_held(run):
        numbers = sorted({n for n in (*run.runs, *more) if n != targets.PEOPLE})
        has_people = targets.PEOPLE in (*run.runs, *more)
        run.runs = [*numbers, *([targets.PEOPLE] if has_people else [])]
        run.save(update_fields=["runs"])
    return run


def _of_same_judge(draft: GradingRun) -> QuerySet[GradingRun]:
    """Runs of the same judge, prompt and rubric, the newest first."""
    return GradingRun.objects.filter(fingerprint=draft.fingerprint).order_by("-pk")


@transaction.atomic
def start(draft: GradingRun, by: User) -> GradingRun:
    """Store it, and have a worker do it; a form that was sent twice is one run, and so is what a run has said already."""
    Study.objects.select_for_update().get(pk=draft.study_id)
    same = newest_same(draft)
    if same is not None and (same.is_open or has_said_all(draft.generator, same)):
        return same
    draft.save()
    work.start(draft, by)
    return draft


def _check_told(study: Study, asked: Asked) -> None:
    """Checks that participants' words go to no other machine, unless the consent page says so."""
    if not study.answers_read_by and not stays_here(asked.generator, asked.model_args):
        raise ScoringError(
            "Participants were not informed that a model on another server reads their answers. Name it in the study's "
            "set-up (General) before they take part, or use a judge on this machine.",
            option="--people",
        )


def _numbers(study: Study, runs: Sequence[int] | None, models: Sequence[str]) -> list[int]:
    """Raises ScoringError where one is not the study's, or is under way: what it has yet to answer would be left out."""
    own = AnsweringRun.objects.filter(study=study)
    for name in models:
        if not own.filter(language_model__name=name).exists():
            raise ScoringError(f"“{name}” has not answered any question of this study.")
    if models:
        own = own.filter(language_model__name__in=models)
    if runs is None:
        over = own.exclude(status__in=AnsweringRun.OPEN_STATUSES).filter(answers__isnull=False)
        return sorted(set(over.values_list("pk", flat=True)))
    found = {run.pk: run for run in own.filter(pk__in=runs)}
    if missing := [number for number in runs if number not in found]:
        raise ScoringError(f"The study does not have an answering run {missing[0]}.")
    if still := [number for number in found if found[number].is_open]:
        raise ScoringError(
            f"Answering run {still[0]} is in progress. Grade it when it has finished."
        )
    return sorted(found)


EXACT = {"generator": "exact", "version": 1}
OF_UNASKED = (
    *("points", "tries", "text", "finish", "detail", "messages"),
    *("prompt_tokens", "completion_tokens", "seconds"),
)


class _Grading(Asking[GradingRun]):
    left = "Answers"
    keep_failures = True

    @staticmethod
    def answers(job: GradingRun) -> QuerySet[JudgeGrade]:
        return job.grades.filter(tries__gt=0)

    @classmethod
    def can_resume(cls, job: GradingRun) -> bool:
        """True if it is over with answers left: new ones, or some at which the judge failed."""
        if job.is_open or job.generator not in JUDGES:
            return False
        return job.status != GradingRun.Status.FINISHED or targets.has_open(job)

    @staticmethod
    def first_questions(job: GradingRun) -> Iterator[Question]:
        if job.generator == Kind.EXACT:
            return
        form = schema(Rubric.from_json(job.rubric))
        for target in chain.from_iterable(targets.unsettled(job)):
            if target.has_text:
                yield Question(target.row, prompts.opening(job.instructions, target), 0, form)

    @staticmethod
    def earlier(job: GradingRun) -> QuerySet[JudgeGrade]:
        return JudgeGrade.objects.filter(run__fingerprint=job.fingerprint, tries=1)

    def go_on(self) -> None:
        self.rubric = Rubric.from_json(self.job.rubric)
        self.schema = schema(self.rubric)
        # A judge may repeat a participant's words, which are forgotten where they are kept as such
        self.may_quote = targets.PEOPLE not in self.job.runs
        self.second = set[int]()  # rows that are asked about again, of those under way
        self.job.total = targets.count(self.job)
        self.job.done = self.job.total - targets.n_open(self.job)
        self.lease.write(total=self.job.total, done=self.job.done)
        if self.job.generator == Kind.EXACT:
            self.begin(EXACT)
            list(self._questions())  # none: all is known
        else:
            self.ask(self._questions())

    def begin(self, judge: Mapping[str, Any]) -> None:
        """Say by whom and by what is graded; who goes on must be who began."""
        now = json.loads(json.dumps(judge, default=str))
        identity = {
            "judge": hashlib.sha256(json.dumps(now, sort_keys=True).encode()).hexdigest(),
            "prompt": prompts.prompt_sha256(self.job.instructions),
            "rubric": self.rubric.sha256,
            "of_judge": now,
        }
        begun = self.job.identity
        is_other = any(begun.get(name) != identity[name] for name in ("judge", "prompt"))
        if is_other and self.job.grades.filter(tries__gt=0).exists():
            raise ScoringError(
                "The judge or its instructions have changed since this run began. Start another run."
            )
        self.lease.write(identity=identity)
        self.job.identity = identity

    def _questions(self) -> Iterator[Question]:
        """The questions to the judge; what needs no judge is graded on the way."""
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
        """Stores grades that no model was asked for: tries is 0; without points where there is no text, with how the answer ended."""
        if not rows:
            return
        is_exact = self.job.generator == Kind.EXACT
        grades = []
        for target in rows:
            # Without a text, the row says how the answer ended
            ending = Finish.EMPTY if target.finish in targets.GRADED else target.finish
            grade = JudgeGrade(
                run=self.job,
                points=known.get(target.row),
                tries=int(is_exact and target.has_text),
                text=str(known.get(target.row, "")),
                finish=Finish.STOP if target.row in known else ending,
                prompt_tokens=0,
                completion_tokens=0,
                seconds=0.0,
                **targets.column(target.row),
            )
            grades.append(grade)
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
        """The texts that were stored before the run was stopped, and were no grade."""
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

    def store(self, question: Question, answer: Generated) -> Question | None:
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
        self.count(answer, is_read=points is not None if is_final else None)
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
            values = added_up(earlier, values)
        grade = earlier or JudgeGrade(run=self.job, **key)
        for name, value in values.items():
            setattr(grade, name, value)
        grade.save()


forecast = partial(forecasting.forecast, _Grading)
run, spent, can_resume = _Grading.run, _Grading.spent, _Grading.can_resume
reopen, resume = _Grading.reopen, _Grading.resume


def unread(run: GradingRun) -> Unread:
    said = _Grading.answers(run).exclude(finish=Finish.FAILED)
    return Unread(said.filter(points__isnull=True).count(), said.count())
