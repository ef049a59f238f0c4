"""Questions, answers and people for tests of grades."""

import uuid
from collections.abc import Sequence
from typing import Any

from experiment.models import Item, Judgment, Study, StudyItem, Trial, WrittenAnswer
from experiment.services.study_setup import create_study
from scoring.models import Answer, AnsweringRun, GradingRun, LanguageModel
from scoring.services.asking.settings import Asked
from scoring.services.grading import runs
from tests.factories import make_item, make_participant
from tests.scoring.backends.chat.stub import ChatStub


def make_question(number: int, **fields: Any) -> Item:
    values = {
        "kind": "question",
        "markup": f"Which gene is number {number}?",
        "expert_answer": f"Gene {number}.",
        "categories": {"topic": ["genes"]},
        "subfield": "",
    }
    return make_item(f"question-{number}", **(values | fields))


def make_answers(
    study: Study,
    texts: Sequence[str | tuple[str, str]],
    name: str = "lab/secret-model-9",
    **fields: Any,
) -> AnsweringRun:
    """A finished run whose answers are these texts; an answer may be a pair of text and finish."""
    known = {"display_name": name.rpartition("/")[2], "family": "Secretive"}
    model, _ = LanguageModel.objects.get_or_create(name=name, defaults=known)
    items = [
        Item.objects.filter(key=f"question-{n}").first() or make_question(n)
        for n in range(1, len(texts) + 1)
    ]
    values = {
        "generator": "chat", "model_args": {"model": name}, "status": "finished", "fingerprint": name, "instructions": "Answer.",
        "items": [item.pk for item in items], "total": len(items), "done": len(items),
    }  # fmt: skip
    run = AnsweringRun.objects.create(study=study, language_model=model, **(values | fields))
    for item, said in zip(items, texts, strict=True):
        StudyItem.objects.get_or_create(study=study, item=item)
        text, finish = (said, "stop") if isinstance(said, str) else said
        Answer.objects.create(run=run, item=item, text=text, finish=finish, model=name, seconds=1.0)
    return run


def make_empty_study(slug: str = "genes") -> Study:
    return create_study(slug, "brainbench", contact="lab@example.org")


def make_written(study: Study, text: str, number: int = 1, **participant: Any) -> Judgment:
    """A valid participant who wrote this of a question; nothing is "I do not know"."""
    item = Item.objects.filter(key=f"question-{number}").first() or make_question(number)
    StudyItem.objects.get_or_create(study=study, item=item)
    person = make_participant(study, judged=0, stage="finished", **participant)
    trial = Trial.objects.create(participant=person, position=1, stratum="question", item=item)
    judgment = Judgment.objects.create(
        trial=trial, idempotency_key=uuid.uuid4(), confidence_moved=True, expertise_moved=False
    )
    WrittenAnswer.objects.create(judgment=judgment, text=text, abstained=not text)
    return judgment


def judged_by(stub: ChatStub, **changed: Any) -> Asked:
    return Asked("chat", stub.args(concurrency="2", max_tokens="50"), **changed)


def grading(study: Study, asked: Asked, **settings: Any) -> GradingRun:
    """A stored run that nobody has begun."""
    run = runs.grading_run(study, asked, **settings)
    run.save()
    return run
