"""One page of the study as it will be, with what stands in the set-up's form and is not saved yet; who looks is in no database."""

import copy
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

from csp.constants import SELF
from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods

from experiment.domain import markup
from experiment.domain.roles import Right
from experiment.lab.access import View, for_study
from experiment.lab.setup_forms import PREVIEWED, SettingsForm
from experiment.lab.wording import typed_text
from experiment.models import Adviser, ConsentVersion, Item, Participant, Study
from experiment.participant import showing
from experiment.participant.entry import render_consent
from experiment.participant.identity import Entry
from experiment.participant.pay import bonus_told
from experiment.participant.rendering import render_page
from experiment.participant.results import Result, Results, original_segments, told_of_groups
from experiment.participant.showing import TrialPage
from experiment.participant.survey_form import SurveyForm
from experiment.services.advised import EXAMPLE_SIDE, example_of, planted_percent
from experiment.services.advisers import adviser_of, is_advised
from experiment.services.channels import SAMPLE_CODE
from experiment.services.item_choice import read_items
from experiment.services.study_language import (
    Texts,
    newest_text,
    own_texts,
    speaking_language,
    usable,
)
from experiment.services.survey import survey_questions

MOST_RESULTS = 20
SIDES = "AB"
QUESTION = "What rises first: the dough, or the sun?"
SAMPLE_ADVISER = "a language model"


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
    """As many as a participant judges, every third of them wrong; in an advised study, as who had advice on each sees them."""
    n_catch = study.catch_items
    n_tests = min(study.n_abstracts - n_catch, MOST_RESULTS)
    n_listed = n_tests + (n_catch if study.debrief_catch_trials else 0)
    items = list(study.accepted_items.filter(kind=Item.Kind.TEST).order_by("key")[:n_listed])
    text = _builtin_markup(Item.Kind.TEST)
    found, side = [], EXAMPLE_SIDE if is_advised(study) and adviser_of(study) else ""
    for n in range(n_listed):
        item = items[n] if n < len(items) else None
        segments = item.segments if item else markup.parse(text).segments
        doi_url, subfield = (item.doi_url, item.subfield) if item else ("", "")
        listed = original_segments(segments)
        result = Result(n + 1, n % 3 != 2, SIDES[n % 2], listed, doi_url, subfield)
        found.append(replace(result, advice_side=side) if n < n_tests else result)
    n_unlisted = 0 if study.debrief_catch_trials else n_catch
    planted = planted_percent(study) if side else None
    n_right = sum(result.correct for result in found[:n_tests])
    bonus = bonus_told(participant(study, "debrief"), n_right)
    told = told_of_groups(study)
    return Results(found, n_unlisted, study.question_items, planted, *told, bonus)


# The decorator's own type knows views without arguments only
framed_here = cast(Callable[[View], View], csp_replace({"frame-ancestors": [SELF]}))


@require_http_methods(["GET", "HEAD", "POST"])
@for_study(Right.SET_UP)
@xframe_options_sameorigin
@framed_here
def preview(request: HttpRequest, study: Study, page: str) -> HttpResponse:
    if page not in PAGES:
        raise Http404
    request.is_preview = True  # type: ignore[attr-defined]
    form = unsaved(request, study)
    shown = study if form is None else form.instance
    with speaking_language(shown.language, words(request, shown)):
        if page == "consent":
            return consent(request, shown, form)
        return PAGES[page](request, shown)


def words(request: HttpRequest, study: Study) -> Texts:
    """The study's own words, and one that is typed, where it can stand there."""
    own = own_texts(study.pk, newest_text(study))
    message = typed_text(request.POST)
    if message is None or not message.is_translated:
        return own
    return {**own, **usable({message.key: message.forms})}


def unsaved(request: HttpRequest, study: Study) -> SettingsForm | None:
    """The form that was sent along: its instance has what is right of it, and what is stored of the rest."""
    form_class = PREVIEWED.get(request.POST.get("section", ""))
    if form_class is None:
        return None
    form = form_class(request.POST, instance=copy.copy(study))
    form.is_valid()
    return form


def consent(request: HttpRequest, study: Study, form: SettingsForm | None) -> HttpResponse:
    stored = study.consent
    text = "" if form is None else form.cleaned_data.get("consent", "")
    if text and (stored is None or stored.text != text):
        number = 1 if stored is None else stored.number + 1
        stored = ConsentVersion(study=study, number=number, text=text, created_at=timezone.now())
    entry: Entry = visitor()
    return render_consent(request, study, entry, consent=stored)


def demographics(request: HttpRequest, study: Study) -> HttpResponse:
    return showing.demographics(request, participant(study, "demographics"))


def survey(request: HttpRequest, study: Study, *, place: str) -> HttpResponse:
    """All questions there, whoever is asked them."""
    questions = [each for each in survey_questions(study) if each.place == place]
    context = {"form": SurveyForm(questions=questions)}
    person = participant(study, f"asked_{place}")
    return render_page(request, person, "survey", context)


def practice(request: HttpRequest, study: Study) -> HttpResponse:
    page = trial_page(study, is_practice=True)
    return showing.render_trial(request, participant(study, "practice"), page)


def trial(request: HttpRequest, study: Study) -> HttpResponse:
    return showing.render_trial(request, participant(study, "trial"), trial_page(study))


def advised(request: HttpRequest, study: Study, *, follows: bool) -> HttpResponse:
    """The trial with advice, beside the abstract or after a choice; of a study without an adviser, made up."""
    page = trial_page(study)
    advice = example_of(adviser_of(study) or Adviser(shown_name=str(SAMPLE_ADVISER)))
    if follows:
        advice = replace(advice, first_side="B", first_confidence=60)
    shown = replace(page, advice=advice)
    return showing.render_trial(request, participant(study, "trial"), shown)


def question(request: HttpRequest, study: Study) -> HttpResponse:
    return showing.render_trial(request, participant(study, "trial"), question_page(study))


def debrief(request: HttpRequest, study: Study) -> HttpResponse:
    context = {"debrief": results(study)}
    return render_page(request, participant(study, "debrief"), "debrief", context)


def done(request: HttpRequest, study: Study) -> HttpResponse:
    return showing.done(request, participant(study, "finished"))


PAGES: dict[str, Callable[[HttpRequest, Study], HttpResponse]] = {
    "consent": lambda request, study: consent(request, study, None),
    "demographics": demographics,
    "survey_before": partial(survey, place="before"),
    "practice": practice,
    "trial": trial,
    "advice_after": partial(advised, follows=True),
    "advice_before": partial(advised, follows=False),
    "question": question,
    "survey_after": partial(survey, place="after"),
    "debrief": debrief,
    "done": done,
}
