"""The demo studies, from the texts that come with the project: one of pairs of abstracts, one of questions."""

from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from experiment.imports.store.filling import FOLDER, ensure_questions
from experiment.models import Channel, Item, Study
from experiment.models.channels import PLAIN
from experiment.models.studies import DEMO_SLUGS
from experiment.services.channels import save_channel
from experiment.services.item_choice import ensure_items
from experiment.services.study_setup import create_study, pin_items, set_recruitment, unused_title
from lib.locks import hold

SLUG, QUESTIONS_SLUG = DEMO_SLUGS
DEMO: dict[str, Any] = {
    "title": "BrainBench Live demo",
    "briefing": (FOLDER / "briefing.txt").read_text().strip(),
    "is_demo": True,
}
QUESTIONS: dict[str, Any] = {
    "title": "Questions about the elements",
    "field": "chemistry of the elements",
    "human_items": 0,
    "machine_items": 0,
    "catch_items": 0,
    "question_items": 6,
    "is_demo": True,
}
PLAIN_CHANNEL = {"code": PLAIN, "label": "Plain link", "completion_code": "DEMO-THANKS"}
CONTACT = "the person who showed you this demonstration"


@transaction.atomic
def ensure_demo(by: User | None = None) -> tuple[Study, Study]:
    """Both, open to anyone with their links; those of an earlier release draw from this one's texts.

    Raises:
        ValidationError: somebody's own study has the short name of one.
    """
    hold("demo")
    demo = _ensure(SLUG, DEMO, ensure_items(tuple(Item.Kind.values)), by)
    asked = [*ensure_questions(), *ensure_items((Item.Kind.PRACTICE,))]
    return demo, _ensure(QUESTIONS_SLUG, QUESTIONS, asked, by)


def _ensure(slug: str, settings: dict[str, Any], items: list[Item], by: User | None) -> Study:
    study = Study.objects.filter(slug=slug).first()
    if study is not None and not study.is_demo:
        whose = (
            f"the study “{study.title}”, which is not demo material, has its short name “{slug}”"
        )
        raise ValidationError([f"The demo cannot be loaded: {whose}."])
    if study is not None:
        pin_items(study, items, reason="load_demo: this release's texts")
        return study
    settings = settings | {"title": unused_title(settings["title"], slug)}
    study = create_study(slug, "brainbench", contact=CONTACT, by=by, **settings)
    pin_items(study, items)
    save_channel(Channel(study=study, **PLAIN_CHANNEL))
    study.refresh_from_db()
    return set_recruitment(study, Study.Recruitment.OPEN)
