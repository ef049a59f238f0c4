"""Use case: a drafting run is asked for; abstracts become drafts of test cases by way of a model; people decide on them.

Ask, check, have it mended, store: every answer is stored as it comes. A run that is taken up again reads its answers from the
database: no question is asked twice whose answer is stored.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from experiment.domain.item_checks.findings import Finding, Level
from experiment.models import ItemScratch, ResearchField
from experiment.services import work
from experiment.services.curation import writing
from scoring.domain.drafting import SCHEMA, marked_text
from scoring.domain.generating import Finish, Generated, Message
from scoring.models import DraftAttempt, DraftingRun, GeneratedDraft
from scoring.services.asking import forecast as forecasting
from scoring.services.asking.engine import Asking, Question, stored
from scoring.services.asking.settings import Asked, newest_same
from scoring.services.asking.turns import repeated
from scoring.services.drafting import texts
from scoring.services.drafting.sources import SourceAbstract
from scoring.services.drafting.texts import default_instructions

MOST_REPAIRS = 10


def draft_run(
    research_field: ResearchField,
    abstracts: Sequence[SourceAbstract],
    asked: Asked,
    *,
    instructions: str = "",
    repairs: int = 3,
    by: User | None = None,
) -> DraftingRun:
    """A run that is not stored yet.

    Raises:
        ScoringError: the model, its costs or its instructions cannot be meant like this.
    """
    asked.check()
    told = instructions.strip() or default_instructions()
    texts.opening(told, research_field, "", "")  # refuses what no abstract can be drafted with
    columns = asked.columns(told, by)
    rows = [asdict(abstract) for abstract in abstracts]
    print_ = asked.fingerprint(research_field.pk, told, repairs, rows)
    return DraftingRun(
        field=research_field, repairs=repairs, total=len(abstracts), fingerprint=print_, **columns
    )


@transaction.atomic
def store(draft: DraftingRun, abstracts: Sequence[SourceAbstract]) -> DraftingRun:
    """The run with a row for each abstract."""
    draft.save()
    GeneratedDraft.objects.bulk_create(
        GeneratedDraft(run=draft, **asdict(abstract)) for abstract in abstracts
    )
    return draft


@transaction.atomic
def start(draft: DraftingRun, abstracts: Sequence[SourceAbstract], by: User) -> DraftingRun:
    """Store it, and have a worker do it; a form that was sent twice is one run."""
    ResearchField.objects.select_for_update().get(pk=draft.field_id)
    if (same := newest_same(draft)) is not None and same.is_open:
        return same
    store(draft, abstracts)
    work.start(draft, by)
    return draft


State = GeneratedDraft.State


def _schema(job: DraftingRun) -> Mapping[str, Any] | None:
    # A lab's own instructions say themselves what an answer looks like
    return SCHEMA if job.instructions == default_instructions() else None


def _first_question(job: DraftingRun, draft: GeneratedDraft) -> Question:
    turns = texts.opening(job.instructions, job.field, draft.subfield, draft.abstract)
    return Question(draft.row, turns, len(turns), _schema(job))


class _Drafting(Asking[DraftingRun]):
    left = "Abstracts"

    @staticmethod
    def answers(job: DraftingRun) -> QuerySet[DraftAttempt]:
        return DraftAttempt.objects.filter(draft__run=job)

    @staticmethod
    def first_questions(job: DraftingRun) -> Iterator[Question]:
        waiting = job.drafts.filter(state=State.WAITING, attempts=None).order_by("row")
        return (_first_question(job, draft) for draft in waiting)

    @staticmethod
    def earlier(job: DraftingRun) -> QuerySet[DraftAttempt]:
        return DraftAttempt.objects.filter(draft__run__fingerprint=job.fingerprint, number=1)

    def go_on(self) -> None:
        waiting = self.job.drafts.filter(state=State.WAITING).order_by("row")
        self.drafts = {draft.row: draft for draft in waiting}
        for draft in self.drafts.values():
            draft.run = self.job
        questions = [q for draft in self.drafts.values() if (q := self._next_question(draft))]
        self.job.total = self.job.drafts.count()
        self._advance(total=self.job.total)
        if questions:
            self.ask(questions)

    def store(self, question: Question, answer: Generated) -> Question | None:
        draft = self.drafts[question.row]
        with transaction.atomic():
            findings = texts.judge(draft, answer.text, answer.finish)
            DraftAttempt.objects.create(
                draft=draft,
                number=draft.attempts.count() + 1,
                messages=[asdict(m) for m in question.messages[-question.new :]],
                problems=[asdict(replace(f, place=None)) for f in findings],
                **stored(answer),
            )
            following = self._next_question(draft)
            self._advance()
        self.count(answer, is_read=bool(draft.markup) if following is None else None)
        return following

    def _next_question(self, draft: GeneratedDraft) -> Question | None:
        """The question to ask now; None once the draft is settled."""
        attempts = list(draft.attempts.all())
        if not attempts:
            return _first_question(self.job, draft)
        last = attempts[-1]
        # What another answer can do something about
        wrong = [found for found in last.findings if found.code not in texts.OF_THE_ABSTRACT]
        if last.finish not in texts.FINAL and wrong and len(attempts) <= self.job.repairs:
            turns = []
            for attempt in attempts:
                turns += [Message(turn["role"], turn["content"]) for turn in attempt.messages]
                turns.append(repeated(attempt.text, None))
            return Question(draft.row, [*turns, texts.repair(wrong)], 1, _schema(self.job))
        self._settle(draft, attempts)
        return None

    def _settle(self, draft: GeneratedDraft, attempts: list[DraftAttempt]) -> None:
        """Make a draft of the best answer; what has errors left is kept for a person to decide on."""
        if attempts[-1].finish in texts.FINAL and len(attempts) == 1:
            draft.state = State.DECLINED
        else:
            chosen = texts.best([a for a in attempts if a.finish not in texts.FINAL])
            draft.markup = marked_text(chosen.text) if chosen.finish == Finish.STOP else ""
            draft.state = State.UNREPAIRED
            if not any(found.level == Level.ERROR for found in chosen.findings):
                # A draft that nobody has written: whoever asked for it may review it
                try:
                    with transaction.atomic():
                        draft.item = writing.create_draft(
                            self.job.field,
                            draft.markup,
                            by=None,
                            reason=f"drafting run {self.job.pk}, row {draft.row}",
                            source="machine",
                            generator=(chosen.model or self.job.model_name)[:80],
                            subfield=draft.subfield,
                            doi=draft.doi,
                            publication_date=draft.publication_date,
                        )
                    draft.state = State.DRAFTED
                except ValidationError as error:
                    refused = Finding("refused", Level.ERROR, " ".join(error.messages))
                    chosen.problems.append(asdict(refused))
                    chosen.save(update_fields=["problems"])
        draft.save(update_fields=["state", "markup", "item"])

    def _advance(self, **changes: object) -> None:
        self.job.done = self.job.drafts.exclude(state=State.WAITING).count()
        self.lease.advance(done=self.job.done, **changes)


forecast = partial(forecasting.forecast, _Drafting)
run, spent = _Drafting.run, _Drafting.spent
can_resume, resume = _Drafting.can_resume, _Drafting.resume


UNDECIDED = (State.UNREPAIRED, State.DECLINED)


@transaction.atomic
def take(draft: GeneratedDraft, by: User) -> ItemScratch:
    """Put the best text, or the abstract, on the person's desk, where the editor finds it."""
    draft = _undecided(draft)
    scratch = writing.scratch_named(uuid.uuid4(), draft.run.field, by)
    on = draft.publication_date
    typed = {
        "markup": draft.markup or draft.abstract,
        "kind": "test",
        "source": "machine" if draft.markup else "human",
        "generator": draft.run.model_name[:80] if draft.markup else "",
        "subfield": draft.subfield,
        "doi": draft.doi,
        "publication_date": on.isoformat() if on else "",
        "note": "",
    }
    scratch = writing.keep(scratch, typed)
    _decide(draft, State.TAKEN, by)
    return scratch


@transaction.atomic
def dismiss(draft: GeneratedDraft, by: User) -> None:
    """Refuse it; what the model answered stays."""
    _decide(_undecided(draft), State.DISMISSED, by)


def _undecided(draft: GeneratedDraft) -> GeneratedDraft:
    draft = GeneratedDraft.objects.select_for_update().select_related("run").get(pk=draft.pk)
    if draft.state not in UNDECIDED:
        raise ValidationError("This draft has already been decided.")
    return draft


def _decide(draft: GeneratedDraft, state: State, by: User) -> None:
    draft.state, draft.decided_by = state, by
    draft.save(update_fields=["state", "decided_by"])
