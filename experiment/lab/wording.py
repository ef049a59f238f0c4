"""The texts of participants' pages in the study's own words: one by one, or as the file of a translator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup import LABELS, PREVIEWS, framing, preview_context, setup_context
from experiment.lab.wording_read import as_read, parts
from experiment.models import Study
from experiment.services.study_language import (
    LONGEST_TEXT,
    OPENED,
    WORDED_ONCE,
    TextsChangedError,
    as_file,
    last_change,
    line_of_forms,
    merge_texts,
    number_of,
    participant_texts,
    set_text,
    texts_of,
)
from lib import po
from lib.confined import ConfinedError
from lib.formatting import count
from lib.http import UNPROCESSABLE, either
from lib.newlines import with_unix_newlines
from lib.opened import KEEP, THEIRS, Conflict, Merged, held, hidden, merge, read_stamp, stamp
from lib.opened import OPENED as OPENED_FIELD
from lib.pages import CONFLICT, LimitedFileField, attached, show

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

    @property
    def read(self) -> str:
        """As participants read it."""
        return as_read(self.shown)

    @property
    def source(self) -> str:
        """The built-in text as read, where the study shows another; else empty."""
        return "" if self.shown == self.message.source else as_read(self.message.source)

    @property
    def built_in(self) -> list[str]:
        """The forms of the built-in text as read."""
        return [as_read(text) for text in (self.message.source, self.message.plural) if text]

    @property
    def parts(self) -> list[tuple[str, str]]:
        return [*parts(f"{self.message.source}{self.message.plural}")]


@dataclass(frozen=True, slots=True)
class Tab:
    """A part of the list of texts; `name` stands in its address."""

    name: str
    label: str
    n: int
    is_current: bool

    @property
    def url(self) -> str:
        return f"?show={self.name}"


def wordings(study: Study) -> list[Wording]:
    own = set(study.texts.values_list("source", flat=True))
    return [
        Wording(number_of(message), message, message.key in own)
        for message in texts_of(study)
        if not message.note.startswith(WORDED_ONCE)
    ]


class LoadForm(forms.Form):
    """`header` once it is valid: what the file says that it was written from."""

    header: str | None = None
    # As of an OpenedForm; set where others have changed its texts
    opened = SafeString()
    conflicts: Sequence[Conflict] = ()
    file = LimitedFileField(
        MAX_FILE,
        "The file is larger than 1 MB.",
        label="File of a translator (PO)",
        widget=forms.FileInput(attrs={"accept": ".po"}),
        help_text="Its texts replace the study's own texts, except for those that others have changed since you downloaded it.",
    )

    def clean_file(self) -> list[po.Message]:
        file = self.cleaned_data["file"]
        try:
            sent = po.read_sent(file.read())
            self.header = sent.header.get(OPENED)
            return sent.messages
        except UnicodeDecodeError as error:
            raise forms.ValidationError("The file is not UTF-8 text.") from error
        except po.PoError as error:
            said = f"Line {error.number} does not belong to a PO file."
            raise forms.ValidationError(said) from error
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
    content, name = as_file(study), f"{study.slug}-{study.language}.po"
    return attached(content, name, "text/x-gettext-translation; charset=utf-8")


@require_POST
@for_study(Right.SET_UP)
def load(request: HttpRequest, study: Study) -> HttpResponse:
    form = LoadForm(request.POST, request.FILES)
    if not form.is_valid():
        return _list(request, study, form)
    sent, shown = form.cleaned_data["file"], request.POST.get(OPENED_FIELD, "")
    try:
        loaded = merge_texts(study, sent, form.header, user_of(request), shown)
    except TextsChangedError as changed:
        form.opened, form.conflicts = hidden(changed.opened), changed.conflicts
        form.add_error(
            "file",
            "Others have changed these texts. Load the file again to replace them all the same.",
        )
        return _list(request, study, form, CONFLICT)
    texts = count(loaded.n, "text")
    messages.success(request, f"The study now has its own wording for {texts}.")
    for problem in loaded.problems[:20]:
        messages.error(request, str(problem))
    return redirect("lab:setup_wording", slug=study.slug)


@either
@for_study(Right.SET_UP)
@framing
def text(request: HttpRequest, study: Study, number: str) -> HttpResponse:
    """One text, and the page that shows it."""
    problem, typed = "", typed_text(request.POST) if request.method == "POST" else None
    with held(study, when=typed is not None) as stored:
        found = next((each for each in wordings(stored) if each.number == number), None)
        if found is None:
            raise Http404
        form, fields = OpenedText(study, found), found.message.forms
        if typed is not None and typed.key == found.message.key:
            fields = typed.forms
            if form.merges(request.POST, typed):
                fault = set_text(stored, form.message, user_of(request))
                if fault is None:
                    messages.success(request, "Saved.")
                    return redirect("lab:setup_wording", slug=study.slug)
                problem = str(fault)
    # One field for each form of the text: one, or the singular and as many plurals as the language has
    n_forms = max(2, len(fields)) if found.message.plural else 1
    plurals = [f"In this study, plural (form {n})" for n in range(2, n_forms + 1)]
    labels = ["In this study, singular", *plurals] if plurals else ["In this study"]
    return show(
        request,
        "lab/setup/text.html",
        CONFLICT if form.conflicts else UNPROCESSABLE if problem else 200,
        wording=found,
        form=form,
        title=LABELS["wording"],
        fields=zip(labels, [*fields, *[""] * n_forms], strict=False),
        problem=problem,
        **setup_context(study, "wording"),
        **preview_context(request, study, _page_of(found.message)),
    )


class OpenedText:
    """The text that its page was opened with, as of an OpenedForm: all its forms are one field."""

    def __init__(self, study: Study, wording: Wording) -> None:
        self.study, self.message = study, wording.message
        self.stored = [*self.message.forms]
        self.conflicts: list[Conflict] = []

    @property
    def opened(self) -> SafeString:
        return hidden(stamp({"text": self.stored}))

    def merges(self, sent: Mapping[str, Any], typed: po.Message) -> bool:
        """True if it is decided what the text is to be: `message` then says it."""
        opened = (read_stamp(sent.get(OPENED_FIELD)) or {}).get("text")
        mine = self.stored if sent.get(f"{KEEP}text") == THEIRS else [*typed.forms]
        whose = merge(opened, self.stored, mine)
        if whose is Merged.LOST:
            edit = last_change(self.study, self.message)
            said, now = line_of_forms(mine), line_of_forms(self.stored)
            self.conflicts = [Conflict("text", "In this study", said, now, edit)]
        elif whose is Merged.SENT:
            self.message = typed
        return whose is not Merged.LOST


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
    pages |= {"experiment/participant/identity.py": "consent"}
    return name if name in PREVIEWS else pages.get(name, "trial")


def _list(
    request: HttpRequest, study: Study, form: LoadForm, status: int | None = None
) -> HttpResponse:
    every, chosen = wordings(study), request.GET.get("show", "")
    chosen = chosen if chosen in SHOWN else "all"
    asked = request.GET.get("q", "").strip()[:200]
    is_english = study.language.lower().split("-")[0] == "en"
    listed = [
        each
        for each in every
        if (chosen != "own" or each.is_own)
        and (chosen != "english" or not each.message.is_translated)
        and asked.casefold()
        in f"{each.message.source} {each.shown} {each.read} {each.source}".casefold()
    ]
    parts = [("all", "All", len(every)), ("own", "Own", sum(each.is_own for each in every))]
    if not is_english:
        n_english = sum(not each.message.is_translated for each in every)
        parts.append(("english", "English only", n_english))
    return show(
        request,
        "lab/setup/wording.html",
        status,
        form=form,
        wordings=listed,
        title=LABELS["wording"],
        tabs=[Tab(name, label, n, name == chosen) for name, label, n in parts],
        show=chosen,
        q=asked,
        **setup_context(study, "wording"),
    )
