"""The pages of a study's set-up, one for each section."""

import copy
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_update
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import View, for_study
from experiment.lab.setup import forms
from experiment.lab.setup.sections import setup_context
from experiment.models import Participant, Study
from experiment.services.participant_kinds import default_kind
from experiment.services.study_file.write import as_bytes
from experiment.services.study_settings import change_study
from experiment.services.study_versions import ReasonRequiredError, Revision
from experiment.services.version_comparison import compare_rules
from lib.http import UNPROCESSABLE, either

FIRST_PREVIEW = {"general": "consent", "texts": "consent", "trials": "trial"}
PREVIEWS = {
    "consent": _("Consent"),
    "demographics": _("About you"),
    "practice": _("Practice"),
    "trial": _("Trial"),
    "question": _("Question"),
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
    return render(request, "lab/setup/overview.html", setup_context(study))


@either
@for_study(Right.SET_UP)
@framing
def general(request: HttpRequest, study: Study) -> HttpResponse:
    return _section(request, study, "general", forms.GeneralForm)


@either
@for_study(Right.SET_UP)
@framing
def texts(request: HttpRequest, study: Study) -> HttpResponse:
    return _section(request, study, "texts", forms.TextsForm)


@either
@for_study(Right.SET_UP)
@framing
def trials(request: HttpRequest, study: Study) -> HttpResponse:
    return _section(request, study, "trials", forms.TrialsForm)


@either
@for_study(Right.SET_UP)
def rules(request: HttpRequest, study: Study) -> HttpResponse:
    """Saved, or only compared with those that hold."""
    if "compare" not in request.POST:
        return _section(request, study, "rules", forms.RulesForm)
    form = forms.RulesForm(request.POST, instance=copy.copy(study))
    if not form.is_valid():
        return show(request, study, "rules", form, UNPROCESSABLE)
    kind = default_kind(study)
    compared = compare_rules(study, kind, form.rules)
    kind_label = Participant.Kind(kind).label
    return show(request, study, "rules", form, compared=compared, kind_label=kind_label)


@either
@for_study(Right.SET_UP)
def target(request: HttpRequest, study: Study) -> HttpResponse:
    return _section(request, study, "target", forms.TargetForm)


@require_safe
@for_study(Right.SET_UP)
def file(request: HttpRequest, study: Study) -> HttpResponse:
    """The whole study, as it is set up."""
    name = f"{study.slug}.study.json"
    return HttpResponse(
        as_bytes(study),
        content_type="application/json",
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )


def _section(
    request: HttpRequest, study: Study, name: str, form_class: type[forms.SettingsForm]
) -> HttpResponse:
    # A form that is refused leaves its values in the row that it was given
    own = copy.copy(study)
    if request.method != "POST":
        return show(request, study, name, form_class(instance=own))
    form = form_class(request.POST, instance=own)
    if form.is_valid() and (revision := _saved(request, study, form)) is not None:
        say_saved(request, revision)
        return redirect(f"lab:setup_{name}", slug=study.slug)
    return show(request, study, name, form, UNPROCESSABLE)


def _saved(request: HttpRequest, study: Study, form: forms.SettingsForm) -> Revision | None:
    assert isinstance(request.user, User)
    try:
        return change_study(
            copy.copy(study), form.columns, by=request.user, reason=form.reason, **form.revised
        )
    except ReasonRequiredError as error:
        form.add_error("reason", error)
    except ValidationError as error:
        form.add_error(None, error)
    return None


def show(
    request: HttpRequest, study: Study, name: str, form: Any, status: int = 200, **more: Any
) -> HttpResponse:
    context = setup_context(study, name) | {"form": form} | more
    if name in FIRST_PREVIEW:
        context |= preview_context(request, study, FIRST_PREVIEW[name])
    return render(request, f"lab/setup/{name}.html", context, status=status)


def preview_context(request: HttpRequest, study: Study, first: str) -> dict[str, Any]:
    """The page that the preview shows, and those that it can show: of a study that asks them, questions too."""
    offered = dict(PREVIEWS)
    if not study.question_items:
        del offered["question"]
    asked = request.GET.get("preview", "")
    return {"previews": offered.items(), "preview": asked if asked in offered else first}


def say_saved(request: HttpRequest, revision: Revision) -> None:
    said = [gettext("Saved.")]
    if revision.version is not None:
        said.append(gettext("This is version %(n)d of the study.") % {"n": revision.version.number})
    if revision.excluded is not None:
        counts = {"people": revision.excluded.participants, "trials": revision.excluded.trials}
        said.append(
            gettext(
                "The rules were applied again: the exclusion of %(people)d participants and of %(trials)d trials changed."
            )
            % counts
        )
    if not revision.is_applied:
        said.append(
            gettext(
                "The rules are being applied to all who finished, a few at a time: the study's page shows how far that is."
            )
        )
    messages.success(request, " ".join(said))
