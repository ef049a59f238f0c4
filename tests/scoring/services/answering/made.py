"""A study with questions, and runs of a stub server on them."""

from typing import Any

from experiment.models import Item, Study
from experiment.services.study_setup import pin_items
from scoring.models import AnsweringRun
from scoring.services import answering
from scoring.services.asking.settings import Asked
from tests.factories import make_item, make_study
from tests.scoring.backends.chat.stub import ChatStub

CATEGORIES = ({"bio": ["Genes", "Drugs"]}, {"bio": ["Genes"]}, {"bio": ["Drugs"], "reasoning": ["Yes or no"]})  # fmt: skip


def make_question(key: str, **fields: Any) -> Item:
    """An accepted question with its answer."""
    values = {
        "kind": Item.Kind.QUESTION,
        "markup": f"Which gene is behind {key}?",
        "expert_answer": f"Gene {key.upper()} is.",
        "categories": {"bio": ["Genes"]},
        "generator": "",
    }
    return make_item(key, **(values | fields))


def study_with_questions(n: int = 3, slug: str = "memory", **fields: Any) -> Study:
    """A study of no more than so many questions, q-001 and on, in categories of two dimensions."""
    study = make_study(slug, human=1, machine=1, catch=0, **fields)
    keys = [f"{slug}-q{number:03}" for number in range(1, n + 1)]
    pin_items(study, [make_question(k, categories=CATEGORIES[i % 3]) for i, k in enumerate(keys)])
    return study


def stored_run(
    stub: ChatStub, study: Study, *, args: dict[str, str] | None = None, **settings: Any
) -> AnsweringRun:
    names = ("limit", "instructions", "name", "asks_confidence")
    how = {name: settings.pop(name) for name in names if name in settings}
    asked = Asked("chat", stub.args(**(args or {})), **settings)
    run = answering.answering_run(study, asked, **how)
    run.save()
    return run
