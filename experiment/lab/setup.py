"""The pages of a study's set-up, one for each section; the list of sections, and what is missing where."""

import copy
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django_stubs_ext import StrPromise

from experiment.domain.roles import Right
from experiment.lab import setup_forms as forms
from experiment.lab.access import View, for_study, user_of
from experiment.models import Participant, Study, SurveyQuestion
from experiment.services.counts import default_kind
from experiment.services.readiness import StudyProblem, preflight
from experiment.services.study_file import as_bytes
from experiment.services.study_setup import change_study
from experiment.services.study_versions import ReasonRequiredError, Revision, compare_rules
from experiment.services.survey import survey_questions
from lib.http import either
from lib.opened import OpenedForm, held
from lib.pages import attached, refused, say_saved, show

LABELS: dict[str, StrPromise] = {
    "general": _("General"),
    "texts": _("Texts"),
    "wording": _("Wording of the pages"),
    "items": _("Choice of test cases"),
    "trials": _("Trials and ratings"),
    "arms": _("Arms"),
    "advice": _("Advice"),
    "survey": _("Survey questions"),
    "rules": _("Exclusion rules"),
    "target": _("Dates and target"),
}


def setup_context(study: Study, current: str = "") -> dict[str, Any]:
    """What every page of the set-up shows."""
    found = preflight(study)
    return {
        "current": current,
        "findings": [
            {
                "problem": finding,
                "is_blocking": finding.is_blocking,
                "url": url_of(study, finding.section),
                "label": LABELS.get(finding.section) or _("Recruitment"),
            }
            for finding in found
        ],
        "n_blocking": sum(finding.is_blocking for finding in found),
        "sections": [_listed(study, name, current, found) for name in LABELS],
    }


def _listed(study: Study, name: str, current: str, found: list[StudyProblem]) -> dict[str, Any]:
    """`state` is missing, look or done."""
    here = [finding.is_blocking for finding in found if finding.section == name]
    state = "missing" if any(here) else "look" if here else "done"
    return {
        "name": name,
        "label": LABELS[name],
        "url": url_of(study, name),
        "state": state,
        "is_current": name == current,
    }


def url_of(study: Study, section: str) -> str:
    """The page on which a section's findings are mended."""
    if section == "recruitment":
        return reverse("lab:recruiting", args=[study.slug])
    return reverse(f"lab:setup_{section}", args=[study.slug])


FIRST_PREVIEW = {"general": "consent", "texts": "consent", "trials": "trial"}
PREVIEWS = {
    "consent": _("Consent"),
    "demographics": _("About you"),
    "survey_before": _("Questions before"),
    "practice": _("Practice"),
    "trial": _("Trial"),
    "question": _("Question"),
    "survey_after": _("Questions after"),
    "debrief": _("Debrief"),
    "done": _("End"),
}


def framing(view: View) -> View:
    """Lets the page hold frames of this site."""
    allowed: Any = csp_update({"frame-src": [SELF]})
    wrapped: View = allowed(view)
    return wrapped


@require_safe
@for_study(Right.SET_UP)
def overview(request: HttpRequest, study: Study) -> HttpResponse:
    return show(request, "lab/setup/overview.html", **setup_context(study))


@either
@for_study(Right.SET_UP)
@framing
def previewed(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """A section whose values participants see."""
    return _section(request, study, name, forms.PREVIEWED[name])


@either
@for_study(Right.SET_UP)
def rules(request: HttpRequest, study: Study) -> HttpResponse:
    """Saved, or only compared with those that hold."""
    if "compare" not in request.POST:
        return _section(request, study, "rules", forms.RulesForm)
    form = forms.RulesForm(request.POST, instance=copy.copy(study))
    if not form.is_valid():
        return show_section(request, study, "rules", form)
    kind = default_kind(study)
    compared = compare_rules(study, kind, form.rules)
    kind_label = Participant.Kind(kind).label
    return show_section(request, study, "rules", form, compared=compared, kind_label=kind_label)


@either
@for_study(Right.SET_UP)
def target(request: HttpRequest, study: Study) -> HttpResponse:
    return _section(request, study, "target", forms.TargetForm)


@require_safe
@for_study(Right.SET_UP)
def file(request: HttpRequest, study: Study) -> HttpResponse:
    """The whole study, as it is set up."""
    return attached(as_bytes(study), f"{study.slug}.study.json", "application/json")


def _section(
    request: HttpRequest, study: Study, name: str, form_class: type[forms.SettingsForm]
) -> HttpResponse:
    # A form that is refused leaves its values in the row that it was given
    with held(study, when=request.method == "POST") as stored:
        form = form_class(request.POST or None, instance=stored)
        if form.is_valid():
            with refused(form), refused(form, ReasonRequiredError, field="reason"):
                revision = change_study(
                    stored, form.columns, by=user_of(request), reason=form.reason, **form.revised
                )
                say_revised(request, study, form, revision)
                return redirect(f"lab:setup_{name}", slug=study.slug)
    return show_section(request, study, name, form)


def show_section(
    request: HttpRequest, study: Study, name: str, form: Any, **more: Any
) -> HttpResponse:
    """The section's page: of its own, or the one that all have which are a form alone."""
    context = setup_context(study, name) | {"form": form, "title": LABELS[name]} | more
    if name in FIRST_PREVIEW:
        context |= preview_context(request, study, FIRST_PREVIEW[name])
    template = name if name in ("items", "rules") else "section"
    return show(request, f"lab/setup/{template}.html", **context)


def preview_context(request: HttpRequest, study: Study, first: str) -> dict[str, Any]:
    """The page that the preview shows, and those that it can show: of a study that asks them, questions too."""
    offered = dict(PREVIEWS)
    if not study.question_items:
        del offered["question"]
    places = {question.place for question in survey_questions(study)}
    for place in SurveyQuestion.Place:
        if place not in places:
            del offered[f"survey_{place.value}"]
    asked = request.GET.get("preview", "")
    return {"previews": offered.items(), "preview": asked if asked in offered else first}


def say_revised(request: HttpRequest, study: Study, form: OpenedForm, revision: Revision) -> None:
    said = []
    if "language" in form.changed_data and study.has_begun:
        said.append(
            gettext(
                "Participants who are under way see their next page in the new language. Texts that you have written, consent among them, are not translated."
            )
        )
    if revision.version is not None:
        said.append(gettext("This is version %(n)d of the study.") % {"n": revision.version.number})
    if revision.excluded is not None:
        counts = {"people": revision.excluded.participants, "trials": revision.excluded.trials}
        said.append(
            gettext(
                "The rules were applied again. Number of participants who are excluded, included again, or excluded for other reasons: %(people)d. Number of such trials: %(trials)d."
            )
            % counts
        )
    if not revision.is_applied:
        said.append(
            gettext(
                "The rules are being applied to all participants who finished. The study's page shows the progress."
            )
        )
    say_saved(request, form, *said)
