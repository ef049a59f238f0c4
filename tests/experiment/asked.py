"""Studies that ask questions, and people who are asked."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from experiment.models import Item, Participant, Study, Trial
from experiment.services import drawing, taking_part
from experiment.services.study_setup import pin_items
from tests.experiment.people import AtPage, answer, client_of, read, start
from tests.factories import make_study

EXPERT = "The expert says that the dough rises, by about 40 percent."
MEASURED = {
    "rt_ms": "75250",
    "confidence_first_ms": "66000",
    "confidence_last_ms": "68000",
    "answer_first_ms": "9000",
    "answer_last_ms": "61000",
    "changes": "2",
    "blur_count": "0",
    "hidden_ms": "0",
    "reloads": "0",
    "viewport_width": "1280",
    "viewport_height": "800",
    "translated": "no",
}


def make_questions(slug: str, n: int) -> list[Item]:
    return [
        Item.objects.create(
            key=f"{slug}-question-{number}",
            kind=Item.Kind.QUESTION,
            markup=f"What happens to dough no. {number} <overnight>?",
            expert_answer=EXPERT,
            categories={"topic": ["Bread"]},
            status=Item.Status.ACCEPTED,
        )
        for number in range(1, n + 1)
    ]


def make_asking_study(
    slug: str = "baking", *, questions: int = 4, asked: int = 2, counts: Sequence[int] = (2, 0, 1)
) -> Study:
    """An open study of `asked` questions and so many human, machine and catch trials for each participant."""
    study = make_study(slug, recruitment="open")
    human, machine, catch = counts
    pins = [*study.items.all(), *make_questions(slug, questions)]
    Study.objects.filter(pk=study.pk).update(
        human_items=human, machine_items=machine, catch_items=catch, question_items=asked
    )
    study.refresh_from_db()
    pin_items(study, pins)
    return study


def position_of(person: Participant, stratum: str) -> int:
    """The first place of the stratum in their plan."""
    return [planned for planned, _ in person.plan].index(stratum) + 1


def sent(trial: Trial, written: taking_part.Written, **given: Any) -> taking_part.Sent:
    """The answer to a question, as its page sends it."""
    reply, now = taking_part.Answer("", **given), timezone.now()
    return taking_part.Sent(trial.position, trial.token, uuid.uuid4(), reply, now, written)


def finish_with(study: Study, *replies: tuple[str, int], is_rated: bool = True) -> Participant:
    """Somebody who took the whole study: each question is answered with the next words and time, "" for not knowing.

    The last of the replies is that to all further questions, too.
    """
    person, left = start(study), list(replies)
    for position in range(1, study.n_trials + 1):
        if not person.is_asked(position):
            person = answer(person, until=position)
            continue
        words, rt_ms = left.pop(0) if len(left) > 1 else left[0]
        rating = {"confidence": 70, "confidence_moved": True} if words and is_rated else {}
        written = taking_part.Written(words, not words, first_ms=9_000, last_ms=61_000)
        trial = drawing.show_trial(person, position, timezone.now())
        read(person)
        taking_part.judge(person, sent(trial, written, rt_ms=rt_ms, **rating))
        person.refresh_from_db()
    return taking_part.finish(person, cheated=False, comments="", now=timezone.now())


def open_question(person: Participant, **options: Any) -> AtPage:
    """This person at the question that they are on, with an answer written."""
    trial = drawing.show_trial(person, person.position, timezone.now())
    assert trial.stratum == "question"
    read(person)
    fields = {
        "trial_token": str(trial.token),
        "idempotency_key": str(uuid.uuid4()),
        "reminded": "",
        "answer_text": "It rises.",
        "confidence": "70",
        **MEASURED,
    }
    address = f"{person.study.get_absolute_url()}trial/{person.position}/"
    return AtPage(client_of(person, **options), address, fields, person)
