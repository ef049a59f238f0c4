"""The texts of participants' pages in the study's own words: one by one, or as the file of a translator."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup import PREVIEWS, framing, preview_context, setup_context
from experiment.models import Study
from experiment.services.study_language import (
    LONGEST_TEXT,
    WORDED_ONCE,
    load_texts,
    participant_texts,
    set_text,
    texts_of,
)
from lib import po
from lib.confined import ConfinedError
from lib.http import UNPROCESSABLE, either
from lib.newlines import with_unix_newlines
from lib.pages import LimitedFileField, attached, show

MAX_FILE = 1024 * 1024
SHOWN = ("all", "own", "english")


@dataclass(frozen=True, slots=True)
class Wording:
    """A text of the pages: what stands in its address, where it is used, and what the study shows for it."""

    number: str
    message: po.Message
    is_own: bool

    @property
    def shown(self) -> str:
        return self.message.forms[0] if self.message.forms else self.message.source


def number_of(message: po.Message) -> str:
    return hashlib.sha256(message.key.encode()).hexdigest()[:16]


def wordings(study: Study) -> list[Wording]:
    own = set(study.texts.values_list("source", flat=True))
    return [
        Wording(number_of(message), message, message.key in own)
        for message in texts_of(study)
        if not message.note.startswith(WORDED_ONCE)
    ]


class LoadForm(forms.Form):
    file = LimitedFileField(
        MAX_FILE,
        _("The file is larger than 1 MB."),
        label=_("PO file"),
        widget=forms.FileInput(attrs={"accept": ".po"}),
        help_text=_("Its texts replace all of the study's own texts."),
    )

    def clean_file(self) -> list[po.Message]:
        file = self.cleaned_data["file"]
        try:
            return po.read_sent(file.read())
        except UnicodeDecodeError as error:
            raise forms.ValidationError(_("The file is not UTF-8 text.")) from error
        except po.PoError as error:
            found = {"line": error.number}
            raise forms.ValidationError(
                _("Line %(line)d does not belong to a PO file.") % found
            ) from error
        except ConfinedError as error:
            raise forms.ValidationError(str(error)) from error


@require_safe
@for_study(Right.SET_UP)
def wording(request: HttpRequest, study: Study) -> HttpResponse:
    return _list(request, study, LoadForm())


@require_safe
@for_study(Right.SET_UP)
def file(request: HttpRequest, study: Study) -> HttpResponse:
    """For translators."""
    content = po.write(study.language, texts_of(study))
    name = f"{study.slug}-{study.language}.po"
    return attached(content, name, "text/x-gettext-translation; charset=utf-8")


@require_POST
@for_study(Right.SET_UP)
def load(request: HttpRequest, study: Study) -> HttpResponse:
    form = LoadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list(request, study, form)
    loaded = load_texts(study, form.cleaned_data["file"], user_of(request))
    said = ngettext(
        "The study now has its own wording for %(n)d text.",
        "The study now has its own wording for %(n)d texts.",
        loaded.n,
    )
    messages.success(request, said % {"n": loaded.n})
    for problem in loaded.problems[:20]:
        messages.error(request, str(problem))
    return redirect("lab:setup_wording", slug=study.slug)


@either
@for_study(Right.SET_UP)
@framing
def text(request: HttpRequest, study: Study, number: str) -> HttpResponse:
    """One text, and the page that shows it."""
    found = next((each for each in wordings(study) if each.number == number), None)
    if found is None:
        raise Http404
    fields, problem = found.message.forms, ""
    typed = typed_text(request.POST) if request.method == "POST" else None
    if typed is not None and typed.key == found.message.key:
        fault = set_text(study, typed, user_of(request))
        if fault is None:
            messages.success(request, gettext("Saved."))
            return redirect("lab:setup_wording", slug=study.slug)
        fields, problem = typed.forms, str(fault)
    n_forms = max(2, len(fields)) if found.message.plural else 1
    return show(
        request,
        "lab/setup/text.html",
        UNPROCESSABLE if problem else 200,
        wording=found,
        fields=[*fields, *[""] * n_forms][:n_forms],
        problem=problem,
        **setup_context(study, "wording"),
        **preview_context(request, study, _page_of(found.message)),
    )


def typed_text(sent: Mapping[str, Any]) -> po.Message | None:
    """The text of a form of this page; without forms where a field is empty: the built-in one."""
    message = next((m for m in participant_texts() if number_of(m) == sent.get("number")), None)
    if message is None:
        return None
    names = sorted((name for name in sent if name.startswith("form-")), key=lambda n: (len(n), n))
    typed = [with_unix_newlines(str(sent[name]))[: LONGEST_TEXT + 1] for name in names[:8]]
    return replace(message, forms=tuple(typed) if all(typed) else ())


def _page_of(message: po.Message) -> str:
    """The page that shows it, as far as its file tells."""
    name = message.note.removeprefix("participant/").removesuffix(".html")
    of_consent = ("_stored", "_length", "_ethics", "_until_when", "_contact")
    pages = {"_result": "debrief", "_why": "debrief", "start": "practice", "_field": "demographics"}
    pages |= {"survey": "survey_before", "scale": "survey_before"}
    pages |= dict.fromkeys(of_consent, "consent") | {"_question_texts": "question"}
    return name if name in PREVIEWS else pages.get(name, "trial")


def _list(request: HttpRequest, study: Study, form: LoadForm) -> HttpResponse:
    every, chosen = wordings(study), request.GET.get("show", "all")
    asked = request.GET.get("q", "").strip()[:200]
    is_english = study.language.lower().split("-")[0] == "en"
    listed = [
        each
        for each in every
        if (chosen != "own" or each.is_own)
        and (chosen != "english" or not each.message.is_translated)
        and asked.casefold() in f"{each.message.source} {each.shown}".casefold()
    ]
    return show(
        request,
        "lab/setup/wording.html",
        form=form,
        wordings=listed,
        n_all=len(every),
        n_own=sum(each.is_own for each in every),
        n_english=0 if is_english else sum(not e.message.is_translated for e in every),
        is_english=is_english,
        show=chosen if chosen in SHOWN else "all",
        q=asked,
        **setup_context(study, "wording"),
    )
