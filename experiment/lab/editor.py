"""A test case is written: a new one, or a draft; shown as participants would see it, and beside what somebody else stored."""

import uuid
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import BoundField
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiment.domain import markup
from experiment.domain.assignment import Side
from experiment.domain.item_checks.findings import Place
from experiment.domain.item_columns import DETAILS
from experiment.domain.markup import MAX_CHARACTERS, by_side
from experiment.domain.markup_between import word_diff
from experiment.domain.roles import FieldRight
from experiment.lab import editor_words
from experiment.lab.access import for_field, user_of
from experiment.models import Item, ItemScratch, ResearchField
from experiment.services.curation import reviews, writing
from experiment.services.curation.remarks import facts_of, findings_of_text
from lib.formatting import count, verb
from lib.http import either, row_number
from lib.newlines import with_unix_newlines
from lib.opened import OpenedForm
from lib.pages import CONFLICT, UnixTextField, refused, say_saved, show

SIDES: tuple[Side, ...] = ("A", "B")


def preview_of(item: Item) -> dict[str, Any]:
    """The preview of a version, or of one that is not stored yet. Places count from the first character that is no space.

    orders: the abstract with the original on each side; none where the text cannot be read: the first finding then says why.
    """
    text = item.markup.strip()
    if not text:
        return {"facts": "The preview appears here as soon as you enter a text."}
    findings = findings_of_text(text, facts_of(item))
    try:
        abstract = markup.parse(text)
    except markup.MarkupError:
        return {"facts": "This text is not a complete test case yet.", "findings": findings}
    # A finding has its place in what is typed, wherever it was found
    placed = []
    for finding in findings:
        at = finding.place
        if at is not None and at.text != "markup":
            start, end = markup.written_at(text, at.text, at.start, at.end)
            finding = replace(finding, place=Place("markup", start, end))
        placed.append(finding)
    n_words, n = len(abstract.original.split()), len(abstract.alternations)
    places = verb(n, "a place where", "places where")
    return {
        "facts": f"{n_words} words, {count(n, 'alternation')} ({places} the versions differ).",
        "orders": [
            {
                "side": side,
                "segments": by_side(abstract.segments, side),
                "id_prefix": f"{side.lower()}-",
            }
            for side in SIDES
        ],
        "findings": placed,
        "original": abstract.original,
        "altered": abstract.altered,
    }


DOI_PREFIXES = ("https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "doi:")


def subfield_choice(item: Item, research_field: ResearchField, **options: Any) -> forms.ChoiceField:
    """A field's subfields, and the one that the item has."""
    names = list(research_field.subfields.values_list("name", flat=True))
    if item.subfield and item.subfield not in names:
        names.append(item.subfield)
    choices = [("", "none"), *((name, name) for name in names)]
    return forms.ChoiceField(choices=choices, required=False, **options)


class ItemForm(OpenedForm, forms.ModelForm[Item]):
    """merges: whether what was sent is compared with what `scratch` holds, which nobody changes meanwhile."""

    merges = False

    markup = UnixTextField(
        max_length=MAX_CHARACTERS,
        label="Abstract",
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "true"}),
    )

    class Meta:
        model = Item
        fields = ("markup", *DETAILS)
        labels = {
            "source": "Altered by",
            "generator": "Name of the person or model",
            "note": "Note",
        }
        help_texts = {"generator": "The writer, or the model and its version."}
        widgets = {
            "publication_date": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            "note": forms.Textarea(attrs={"rows": 3}),
        }

    def __init__(
        self, *args: Any, scratch: ItemScratch, merges: bool = False, **kwargs: Any
    ) -> None:
        kwargs["instance"] = copy(scratch.item) or Item(field=scratch.field.name)
        super().__init__(*args, **kwargs)
        self.scratch, self.merges = scratch, merges
        label = Item._meta.get_field("subfield").verbose_name
        kinds = [(value, label) for value, label in Item.Kind.choices if value != "question"]
        self.fields["kind"] = forms.ChoiceField(
            choices=kinds, label=Item._meta.get_field("kind").verbose_name
        )
        self.fields["subfield"] = subfield_choice(self.instance, scratch.field, label=label)
        # A browser cuts pasted texts at maxlength without a word: the server says what is too long
        self.fields["markup"].widget.attrs.pop("maxlength", None)

    def stored(self, name: str) -> Any:
        typed = self.scratch.values
        return typed.get(name, "") if typed else super().stored(name)

    def replaces(self) -> Mapping[str, tuple[str, str, str]]:
        """Typed words that could not be saved, over the draft as it was then."""
        item = self.scratch.item
        if item is None or not self.scratch.values:
            return {}
        return {"draft": ("The draft", str(item), str(item.edits))}

    def clean_doi(self) -> str:
        doi: str = self.cleaned_data["doi"]
        for prefix in DOI_PREFIXES:
            if doi.lower().startswith(prefix):
                return doi[len(prefix) :].strip()
        return doi

    def clean_note(self) -> str:
        return str(UnixTextField(required=False).to_python(self.cleaned_data["note"]))

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a valid form."""
        return {name: self.cleaned_data[name] for name in self._meta.fields or ()}

    @property
    def typed(self) -> dict[str, str]:
        """As it came, right or wrong."""
        return {name: str(self.data.get(name, "")) for name in self.fields}

    @property
    def why(self) -> str:
        """The problem, besides the text that the preview speaks of."""
        wrong = {name: messages for name, messages in self.errors.items() if name != "markup"}
        return " ".join(str(message) for messages in wrong.values() for message in messages)

    @property
    def as_typed(self) -> Item:
        """The test case with what is right of the form, and the text as it is."""
        if self.is_bound:
            self.is_valid()
            self.instance.markup = with_unix_newlines(self.typed["markup"])
        return self.instance


def form_of(scratch: ItemScratch, *, as_stored: bool = False) -> ItemForm:
    """The form that the writer finds: what was typed last and could not be saved, or what the draft holds, `as_stored`."""
    if scratch.values and not as_stored:
        return ItemForm(scratch.values, scratch=scratch)
    return ItemForm(scratch=scratch)


def comparison(stored: ItemForm, typed: ItemForm) -> dict[str, Any]:
    """The pieces of the text, from the one that is stored to the one that was typed; and other values that differ, in words; who changed each last."""
    item = stored.scratch.item
    edits = {} if item is None else writing.last_changes(item, typed.fields)
    pairs = [(stored[name], typed[name]) for name in typed.fields if name != "markup"]
    details = [
        {
            "label": str(mine.label),
            "stored": _said(theirs),
            "typed": _said(mine),
            "edit": edits.get(mine.name),
        }
        for theirs, mine in pairs
        if _said(theirs) != _said(mine)
    ]
    pieces = word_diff(_said(stored["markup"]), _said(typed["markup"]))
    return {"pieces": pieces, "details": details, "edit": edits.get("markup")}


def _said(bound: BoundField) -> str:
    """A value as the page shows it."""
    value = with_unix_newlines(str(bound.field.prepare_value(bound.value()) or ""))
    choices = dict(getattr(bound.field, "choices", ()))
    return str(choices.get(value, value))


@either
@for_field(FieldRight.CURATE_FIELD)
def new_item(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """`begun` names what was typed on this page before, and is no test case yet."""
    scratch = _begun(request, research_field)
    if request.method != "POST":
        return _page(request, scratch) if scratch.item is None else redirect(_url(scratch))
    if "discard" in request.POST:
        writing.discard(scratch)
        return redirect("lab:new_item", research_field.slug)
    return _save(request, scratch)


@either
@for_field(FieldRight.CURATE_FIELD)
def write_item(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    item = get_object_or_404(Item, pk=pk, field=research_field.name)
    if item.is_question:
        return redirect("lab:write_question", research_field.slug, pk)
    scratch = writing.scratch_of(item, research_field, user_of(request))
    if request.method == "POST" and "discard" in request.POST:
        writing.discard(scratch)
        return redirect(_url(scratch))
    if request.method == "POST":
        return _save(request, scratch)
    if item.status != Item.Status.DRAFT:
        messages.error(
            request,
            "An accepted text cannot change. Start a new version of it."
            if item.is_frozen
            else "Only a draft can be edited. Return it to draft first.",
        )
        return redirect("lab:item", research_field.slug, pk)
    return _page(request, scratch)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def preview(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """The preview of what is typed: of a `draft`, or of what a page has begun, which may be a draft since."""
    pk = row_number(request.POST.get("draft", ""))
    drafts = Item.objects.filter(field=research_field.name, pk=pk)
    item = drafts.first()
    scratch = (
        writing.scratch_of(item, research_field, user_of(request))
        if item
        else _begun(request, research_field)
    )
    form = ItemForm(request.POST, scratch=scratch)
    return render(request, "lab/editor/_preview.html", {"preview": preview_of(form.as_typed)})


def _begun(request: HttpRequest, research_field: ResearchField) -> ItemScratch:
    named = (request.POST or request.GET).get("begun")
    try:
        uid = uuid.UUID(named) if named else uuid.uuid4()
        return writing.scratch_named(uid, research_field, user_of(request))
    except (ValueError, ItemScratch.DoesNotExist) as error:
        raise Http404 from error


def _save(request: HttpRequest, scratch: ItemScratch) -> HttpResponse:
    """Keeps whatever was typed: as the draft, or as it is where it is none yet."""
    try:
        scratch, form = _kept(request, scratch)
    except EditedSinceError:
        return _conflict(request, scratch)
    if _is_autosave(request):
        return JsonResponse(_state(scratch) | {"is_finished": not form.errors, "why": form.why})
    if form.errors:
        return _page(request, scratch, form)
    if "to_review" in request.POST and scratch.item is not None:
        with refused(request):
            reviews.submit(scratch.item, user_of(request))
        return redirect("lab:item", scratch.field.slug, scratch.item.pk)
    say_saved(request, form)
    return redirect(_url(scratch))


class EditedSinceError(Exception):
    """Somebody else, or another window, has changed what the page has shown."""


def _kept(request: HttpRequest, scratch: ItemScratch) -> tuple[ItemScratch, ItemForm]:
    """The stored words then, and the form.

    Raises:
        EditedSinceError: two have changed the same; or the page saves by itself, and would not show what somebody else has changed.
    """
    window = request.POST.get("window", "")[:36]
    with writing.held(scratch) as stored:
        merges = not writing.is_own(stored, window)
        form = ItemForm(request.POST, scratch=stored, merges=merges)
        is_valid = form.is_valid()
        if form.conflicts or (form.taken and _is_autosave(request)):
            raise EditedSinceError
        if is_valid:
            try:
                item = writing.finish(stored, window=window, **form.columns)
                return writing.scratch_of(item, stored.field, stored.user), form
            except ValidationError as error:
                form.add_error(None, error.messages)
        return writing.keep(stored, form.typed, window=window), form


def _conflict(request: HttpRequest, scratch: ItemScratch) -> HttpResponse:
    """The stored words beside those that were typed, of which nothing is stored."""
    if scratch.item is None:
        scratch = writing.scratch_named(scratch.uid, scratch.field, scratch.user)
    else:
        item = Item.objects.get(pk=scratch.item.pk)
        scratch = writing.scratch_of(item, scratch.field, scratch.user)
    form = ItemForm(request.POST, scratch=scratch)
    theirs = comparison(form_of(scratch), form)
    if not _is_autosave(request):
        return _page(request, scratch, form, status=CONFLICT, theirs=theirs)
    context = {"theirs": theirs, "url": _url(scratch)}
    html = render_to_string("lab/editor/_conflict.html", context, request)
    return JsonResponse(_state(scratch) | {"html": html}, status=CONFLICT)


def _state(scratch: ItemScratch) -> dict[str, str | bool]:
    return {"url": _url(scratch), "opened": form_of(scratch).stamped}


def _page(
    request: HttpRequest,
    scratch: ItemScratch,
    form: ItemForm | None = None,
    status: int | None = None,
    theirs: dict[str, Any] | None = None,
) -> HttpResponse:
    shown = form or form_of(scratch)
    if form is None and writing.is_overtaken(scratch):
        theirs = comparison(form_of(scratch, as_stored=True), shown)
    return show(
        request,
        "lab/editor/page.html",
        status,
        scratch=scratch,
        about=editor_words.about(scratch),
        url=_url(scratch),
        form=shown,
        details=[field for field in shown if field.name != "markup"],
        tools=editor_words.TOOLS,
        texts=editor_words.TEXTS,
        theirs=theirs,
        preview=preview_of(shown.as_typed),
        begun=writing.begun(scratch.field, scratch.user).exclude(pk=scratch.pk),
    )


def _url(scratch: ItemScratch) -> str:
    """Where the writer goes on."""
    if scratch.item is not None:
        return reverse("lab:write_item", args=[scratch.field.slug, scratch.item.pk])
    address = reverse("lab:new_item", args=[scratch.field.slug])
    return f"{address}?begun={scratch.uid}"


def _is_autosave(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "") == "application/json"
