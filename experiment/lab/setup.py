"""The pages of a study's set-up, one for each section; the list of sections, and what is missing where."""

import copy
from collections.abc import Iterator
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab import setup_forms as forms
from experiment.lab.access import View, for_study, user_of
from experiment.lab.menus import Link
from experiment.models import Participant, Study, SurveyQuestion
from experiment.services.counts import default_kind
from experiment.services.readiness import preflight
from experiment.services.study_file import as_bytes
from experiment.services.study_setup import change_study
from experiment.services.study_versions import ReasonRequiredError, Revision, compare_rules
from experiment.services.survey import survey_questions
from lib.formatting import count, verb
from lib.http import either
from lib.opened import OpenedForm, held
from lib.pages import attached, refused, say_saved, show

LABELS: dict[str, str] = {
    "general": "General",
    "texts": "Texts",
    "wording": "Wording of the pages",
    "items": "Choice of test cases",
    "trials": "Trials and ratings",
    "arms": "Arms",
    "advice": "Advice",
    "survey": "Survey questions",
    "rules": "Exclusion rules",
    "target": "Dates and target",
    "pay": "Payment",
}
OVERVIEW = "Before it opens"


def setup_context(study: Study, current: str = "") -> dict[str, Any]:
    """The content of every page of the set-up."""
    found = preflight(study)
    if n_blocking := sum(finding.is_blocking for finding in found):
        note = (
            f"{count(n_blocking, 'requirement')} {verb(n_blocking, 'is', 'are')} not met yet. Participants cannot be admitted until "
            f"{verb(n_blocking, 'it is', 'they are')}."
        )
    else:
        note = "Nothing is missing. Please note:" if found else "Nothing is missing."
    sections = []
    for name, label in LABELS.items():
        here = [finding.is_blocking for finding in found if finding.section == name]
        state = "missing" if any(here) else "look" if here else "done"
        section = {
            "name": name,
            "label": label,
            "url": url_of(study, name),
            "state": state,
            "mark": MARKS[state],
            "is_current": name == current,
        }
        sections.append(section)
    return {
        "current": current,
        "here": LABELS.get(current, OVERVIEW),
        "overview": Link(OVERVIEW, reverse("lab:setup", args=[study.slug]), not current),
        "findings_note": note,
        "findings": [
            {
                "url": url_of(study, section),
                "label": LABELS.get(section) or "Recruitment",
                "problems": [finding for finding in found if finding.section == section],
            }
            for section in dict.fromkeys(finding.section for finding in found)
        ],
        "sections": sections,
    }


MARKS = {"missing": "missing", "look": "check", "done": ""}


def url_of(study: Study, section: str) -> str:
    """The page on which a section's findings are corrected."""
    if section == "recruitment":
        return reverse("lab:recruiting", args=[study.slug])
    return reverse(f"lab:setup_{section}", args=[study.slug])


FIRST_PREVIEW = {"general": "consent", "texts": "consent", "trials": "trial", "pay": "consent"}
PREVIEWS = {
    "consent": "Consent",
    "demographics": "About you",
    "survey_before": "Questions before",
    "practice": "Practice",
    "trial": "Trial",
    "question": "Question",
    "survey_after": "Questions after",
    "debrief": "Debrief",
    "done": "End",
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
    said = {"form": form, "title": LABELS[name], "note": _note_of(study, name)}
    context = setup_context(study, name) | said | more
    if name in FIRST_PREVIEW:
        context |= preview_context(request, study, FIRST_PREVIEW[name])
    template = name if name in ("items", "rules") else "section"
    return show(request, f"lab/setup/{template}.html", **context)


def _note_of(study: Study, name: str) -> str:
    """The note above a section's form."""
    if name == "general":
        return "Information about the study for participants and readers."
    if name == "target":
        return "Dates of recruitment, target number of participants, and how long participants may pause."
    if name == "pay":
        return (
            "What participants are promised, in the currency of your recruitment site. The consent page, the debriefing, the "
            "pre-registration and the methods text say it. After the first real participant, amounts can only rise."
        )
    return " ".join(_trials_told(study)) if name == "trials" else ""


def _trials_told(study: Study) -> Iterator[str]:
    if study.shows_abstracts:
        yield f"Each participant judges {count(study.n_abstracts, 'abstract')}, after a practice abstract."
    if study.shows_abstracts and (n := study.catch_items):
        yield f"{n} of them {verb(n, 'is a catch trial', 'are catch trials')}."
    if study.question_items:
        yield f"Each participant answers {count(study.question_items, 'question')}."
    if study.arms.exists():
        yield "Arms can have other numbers."


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
            "Participants who are under way see their next page in the new language. Texts that you have written, "
            "consent among them, are not translated."
        )
    if revision.version is not None:
        said.append(f"This is version {revision.version.number} of the study.")
    if revision.excluded is not None:
        said.append(
            "The rules were applied again. Number of participants who are excluded, included again, or excluded for other "
            f"reasons: {revision.excluded.participants}. Number of such trials: {revision.excluded.trials}."
        )
    if not revision.is_applied:
        said.append(
            "The rules are being applied to all participants who finished. The study's page shows the progress."
        )
    say_saved(request, form, *said)
