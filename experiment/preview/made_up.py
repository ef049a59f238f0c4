"""A visitor and a participant who are in no database, and what they see."""

import uuid

from experiment.domain import markup
from experiment.models import Item, Participant, Study
from experiment.participant.identity import Entry
from experiment.participant.showing import Result, Results, TrialPage, original_segments
from experiment.services.channels import SAMPLE_CODE
from experiment.services.item_choice import read_items

MOST_RESULTS = 20
SIDES = "AB"
QUESTION = "What rises first: the dough, or the sun?"


def visitor() -> Entry:
    return Entry(uuid.uuid4(), code=SAMPLE_CODE)


def participant(study: Study, stage: str) -> Participant:
    """Somebody on a page of this stage; never saved."""
    strata = [stratum for stratum, n in study.trial_counts.items() for _ in range(n)]
    person = Participant(
        study=study,
        kind=Participant.Kind.PILOT,
        stage=stage,
        position=1,
        plan=[[stratum, "A"] for stratum in strata],
        seed=0,
    )
    person.give_code(SAMPLE_CODE)
    return person


def trial_page(study: Study, *, is_practice: bool = False) -> TrialPage:
    """The study's first test case; a built-in one where it has none yet."""
    kind = Item.Kind.PRACTICE if is_practice else Item.Kind.TEST
    item = study.accepted_items.filter(kind=kind).order_by("key").first()
    text = item.markup if item else _builtin_markup(kind)
    return TrialPage(str(uuid.UUID(int=0)), text, "A", is_practice=is_practice)


def question_page(study: Study) -> TrialPage:
    """The study's first question; a made-up one where it has none yet."""
    item = study.accepted_items.filter(kind=Item.Kind.QUESTION).order_by("key").first()
    text = item.markup if item else QUESTION
    return TrialPage(str(uuid.UUID(int=0)), text, "", is_question=True)


def _builtin_markup(kind: str) -> str:
    return next(str(entry["markup"]) for entry in read_items() if entry["kind"] == kind)


def results(study: Study) -> Results:
    """As many as a participant judges, every third of them wrong."""
    n_catch = study.catch_items
    n_tests = min(study.n_abstracts - n_catch, MOST_RESULTS)
    n_listed = n_tests + (n_catch if study.debrief_catch_trials else 0)
    items = list(study.accepted_items.filter(kind=Item.Kind.TEST).order_by("key")[:n_listed])
    text = _builtin_markup(Item.Kind.TEST)
    found = []
    for n in range(n_listed):
        item = items[n] if n < len(items) else None
        segments = item.segments if item else markup.parse(text).segments
        doi_url, subfield = (item.doi_url, item.subfield) if item else ("", "")
        listed = original_segments(segments)
        found.append(Result(n + 1, n % 3 != 2, SIDES[n % 2], listed, doi_url, subfield))
    return Results(found, 0 if study.debrief_catch_trials else n_catch, study.question_items)
