"""One page of the study, with what stands in the set-up's form and is not saved yet."""

import copy
from collections.abc import Callable
from typing import cast

from csp.constants import SELF
from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_http_methods

from experiment.domain.roles import Right
from experiment.lab.access import View, for_study
from experiment.lab.setup_forms import PREVIEWED, SettingsForm
from experiment.lab.wording import typed_text
from experiment.models import ConsentVersion, Study
from experiment.participant import showing
from experiment.participant.entry import render_consent
from experiment.participant.identity import Entry
from experiment.preview.made_up import participant, question_page, results, trial_page, visitor
from experiment.services.study_language import (
    Texts,
    newest_text,
    own_texts,
    speaking_language,
    text_problem,
)

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
    if message is None or not message.is_translated or text_problem(message) is not None:
        return own
    return {**own, message.key: message.forms}


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


def practice(request: HttpRequest, study: Study) -> HttpResponse:
    page = trial_page(study, is_practice=True)
    return showing.render_trial(request, participant(study, "practice"), page)


def trial(request: HttpRequest, study: Study) -> HttpResponse:
    return showing.render_trial(request, participant(study, "trial"), trial_page(study))


def question(request: HttpRequest, study: Study) -> HttpResponse:
    return showing.render_trial(request, participant(study, "trial"), question_page(study))


def debrief(request: HttpRequest, study: Study) -> HttpResponse:
    context = {"debrief": results(study)}
    return showing.render_page(request, participant(study, "debrief"), "debrief", context)


def done(request: HttpRequest, study: Study) -> HttpResponse:
    return showing.done(request, participant(study, "finished"))


PAGES: dict[str, Callable[[HttpRequest, Study], HttpResponse]] = {
    "consent": lambda request, study: consent(request, study, None),
    "demographics": demographics,
    "practice": practice,
    "trial": trial,
    "question": question,
    "debrief": debrief,
    "done": done,
}
