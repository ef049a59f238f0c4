"""Test cases one by one: a version in its field, with all that may be done there, and one that a study draws from."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.item_columns import READ
from experiment.domain.item_life import Move
from experiment.domain.roles import FieldRight, Right
from experiment.lab import item_words
from experiment.lab.access import LabRequest, for_field, for_study, user_of
from experiment.models import (
    Comment,
    Explanation,
    Item,
    ResearchField,
    Review,
    Study,
    StudyItem,
)
from experiment.services import audit
from experiment.services.curation import remarks, reviews, writing
from experiment.services.curation.remarks import history, standing
from experiment.services.curation.reviews import open_moves, studies_drawing, writers_of
from experiment.services.curation.together import queue
from experiment.services.rights import fields_of, studies_with
from experiment.services.study_setup import lacking_without, n_still_shown, set_paused
from experiment.services.usable import known_items
from lib.formatting import count, verb
from lib.http import either
from lib.opened import OPENED, Edit, check_seen, seen
from lib.pages import refused, show


class ReviewForm(forms.Form):
    verdict = forms.ChoiceField(
        label="Verdict", choices=Review.Verdict.choices, widget=forms.RadioSelect
    )
    text = forms.CharField(
        label="Why",
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Required if you ask for a revision or reject the text.",
    )


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label="Why", max_length=2_000, widget=forms.Textarea(attrs={"rows": 3})
    )


class RetireForm(ReasonForm):
    every_version = forms.BooleanField(
        label="also its other versions", required=False, initial=True
    )


class CommentForm(forms.ModelForm[Comment]):
    class Meta:
        model = Comment
        fields = ("quote", "text")
        widgets = {
            "quote": forms.Textarea(attrs={"rows": 2}),
            "text": forms.Textarea(attrs={"rows": 4}),
        }
        help_texts = {
            "quote": "Select words of the text above, or copy them here. Leave this empty to comment on the whole text."
        }


class AnswerForm(forms.ModelForm[Comment]):
    class Meta:
        model = Comment
        fields = ("text",)


def item_of(research_field: ResearchField, pk: int) -> Item:
    """The version, where it is one of the field's."""
    rows = Item.objects.select_related("created_by")
    return get_object_or_404(rows, field=research_field.name, pk=pk)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def item(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    return _page(request, research_field, item_of(research_field, pk))


def _page(
    request: HttpRequest, research_field: ResearchField, item: Item, **sent: forms.BaseForm
) -> HttpResponse:
    """The page of a version; `sent` are forms with errors."""
    user = user_of(request)
    awaited = reviews.is_awaited(item, research_field, user)
    own = reviews.own(item, user)
    is_in_review = item.status == Item.Status.IN_REVIEW
    is_in_queue = own is not None or (awaited and is_in_review)
    versions = list(Item.objects.filter(key=item.key, field=item.field).order_by("-version"))
    accepted = (v.version for v in versions if v.status == Item.Status.ACCEPTED)
    counted, newest = reviews.count(item, research_field), max(accepted, default=0)
    drawing, mine = studies_drawing(item), studies_with(user, Right.SEE_ITEMS)
    moves = open_moves(item, research_field, user)
    # On the present text, each beside its reviewer's first
    firsts = reviews.first_verdicts(item)
    verdicts = [
        VerdictLine(
            each,
            "-" if each.reviewer is None else each.reviewer.get_username(),
            item_words.verdict(each.get_verdict_display(), firsts.get(each.reviewer_id or 0)),
            each == own and Move.REVIEW in moves,
        )
        for each in reviews.current(item)
    ]
    context: dict[str, Any] = {
        "item": item,
        "about": item_words.about(item, writers_of(item)),
        "standing": standing(item),
        "next_step": item_words.next_step(
            item, research_field, counted, newest, is_awaited=awaited
        ),
        "buttons": item_words.buttons(moves),
        "may_go_back": Move.BACK in moves,
        "may_retire": Move.RETIRE in moves,
        "retiring": item_words.retiring(item, drawing.count()),
        "awaited": awaited,
        "reviews": verdicts,
        "shows_reviews": is_in_review or (verdicts and not awaited),
        "queue": queue(item, user) if is_in_queue else None,
        "history": history(item, without_verdicts=awaited),
        "versions": [
            (
                each,
                "" if each == item else reverse("lab:item", args=[research_field.slug, each.pk]),
            )
            for each in versions
        ],
        "studies": drawing.filter(pk__in=mine.values("pk")),
        "unfinished": item.scratches.exclude(values={}).select_related("user"),
        "threads": remarks.threads(item),
        "unexplained": seen(Explanation(), "text"),
        "comment_form": CommentForm(),
        "opened": seen(item, *READ),
        "review_form": ReviewForm(prefix="review"),
        "back_form": ReasonForm(prefix="back"),
        "retire_form": RetireForm(prefix="retire"),
        "has_errors": any(form.errors for form in sent.values()),
    }
    context |= sent
    if len(versions) == 1:
        del context["retire_form"].fields["every_version"]
    return show(request, "lab/items/item.html", **context)


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """A verdict as the page lists it."""

    review: Review
    by: str
    verdict: str
    may_withdraw: bool


def check_read(request: HttpRequest, stored: Item, opened_as: str = OPENED) -> None:
    """Raises ValidationError where somebody has changed the text since the page was shown."""
    edits = partial(writing.last_changes, stored)
    check_seen(request.POST, stored, *READ, edits=edits, opened_as=opened_as)


@contextmanager
def as_read(request: HttpRequest, item: Item) -> Iterator[None]:
    """Nobody changes the version until the block ends. Raises ValidationError where somebody has since the page was shown."""
    with reviews.held(item) as stored:
        check_read(request, stored)
        yield


# Those that take nothing but the decision
PLAIN: Mapping[str, Callable[[Item, User], Item]] = {
    Move.SUBMIT: reviews.submit,
    Move.ACCEPT: reviews.accept_alone,
    Move.REVISE: reviews.revise,
    "take_back_verdict": reviews.take_back,
}


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def move(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """To review, accepted by its writer alone, back to draft, on to the next version; or one's verdict is taken back."""
    item, wanted = item_of(research_field, pk), request.POST.get("move", "")
    if wanted == Move.BACK:
        form = ReasonForm(request.POST, prefix="back")
        if not form.is_valid():
            return _page(request, research_field, item, back_form=form)
        with refused(request), as_read(request, item):
            reviews.back_to_draft(item, user_of(request), form.cleaned_data["reason"])
        return redirect("lab:item", research_field.slug, item.pk)
    if wanted not in PLAIN:
        raise Http404
    with refused(request), as_read(request, item):
        item = PLAIN[wanted](item, user_of(request))
    page = "lab:write_item" if wanted == Move.REVISE and not item.is_frozen else "lab:item"
    return redirect(page, research_field.slug, item.pk)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def retire(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    item, form = item_of(research_field, pk), RetireForm(request.POST, prefix="retire")
    if not form.is_valid():
        return _page(request, research_field, item, retire_form=form)
    sent = form.cleaned_data
    with refused(request), as_read(request, item):
        retired = reviews.retire(
            item, user_of(request), sent["reason"], every_version=sent["every_version"]
        )
        n = len(retired)
        messages.success(request, f"{count(n, 'version')} {verb(n, 'is', 'are')} retired.")
    return redirect("lab:item", research_field.slug, pk)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def review(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """One's verdict on the text."""
    item, form = item_of(research_field, pk), ReviewForm(request.POST, prefix="review")
    if form.is_valid():
        sent = form.cleaned_data
        with refused(form), as_read(request, item):
            item = reviews.review(item, user_of(request), sent["verdict"], sent["text"])
            is_accepted = item.status == Item.Status.ACCEPTED
            kept = "Your verdict is saved."
            said = "With your verdict, it is accepted." if is_accepted else kept
            messages.success(request, f"{item}: {said}")
            # On to the next text that waits for a verdict where that was asked for, and there is one
            waiting = queue(item, user_of(request)).next if "next" in request.POST else None
            return redirect("lab:item", research_field.slug, waiting or item.pk)
    return _page(request, research_field, item, review_form=form)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def comment(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """A new thread."""
    item, form = item_of(research_field, pk), CommentForm(request.POST)
    if form.is_valid():
        sent = form.cleaned_data
        with refused(form):
            new = remarks.add_comment(item, user_of(request), sent["text"], sent["quote"])
            return _to(research_field, item, new)
    return _page(request, research_field, item, comment_form=form)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def answer(
    request: HttpRequest, research_field: ResearchField, pk: int, comment: int
) -> HttpResponse:
    """An answer; or the thread is resolved, or opened again."""
    item, user = item_of(research_field, pk), user_of(request)
    thread = get_object_or_404(item.comments, pk=comment, parent=None)
    if "resolve" in request.POST:
        remarks.resolve(thread, user)
    elif "reopen" in request.POST:
        remarks.reopen(thread)
    elif (form := AnswerForm(request.POST)).is_valid():
        remarks.answer(thread, user, form.cleaned_data["text"])
    else:
        messages.error(request, "Write an answer of at most 5,000 characters.")
    return _to(research_field, item, thread)


def _to(research_field: ResearchField, item: Item, thread: Comment) -> HttpResponse:
    place = reverse("lab:item", args=[research_field.slug, item.pk])
    return redirect(f"{place}#comment-{thread.pk}")


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def explain_finding(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    item = get_object_or_404(Item, pk=pk, field=research_field.name)
    sent = request.POST

    def check(stored: Explanation) -> None:
        by = "" if stored.by is None else stored.by.get_username()
        edits = {} if stored.pk is None else {"text": Edit(by, stored.at)}
        check_seen(sent, stored, "text", edits=lambda names: edits)

    with refused(request), reviews.held(item) as stored:
        finding, text = sent.get("finding", ""), sent.get("text", "")
        remarks.explain(stored, finding, text, user_of(request), check)
        messages.success(request, "Explained.")
    return redirect(f"{reverse('lab:item', args=[research_field.slug, pk])}#checks")


class PauseForm(forms.Form):
    reason = forms.CharField(
        label="Why",
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Stored in the study's audit trail.",
    )


@require_safe
@for_study(Right.SEE_ITEMS)
def test_case(request: LabRequest, study: Study, pk: int) -> HttpResponse:
    # What the study shows or has shown, and of its test cases the other accepted versions that the user may know
    shown = Q(pk__in=Item.objects.shown_by([study]).values("pk"))
    others = known_items(user_of(request)).filter(
        status__in=Item.FROZEN_STATUSES, key__in=study.items.values("key")
    )
    known = Item.objects.filter(shown | Q(pk__in=others.values("pk")))
    item = get_object_or_404(known, pk=pk)
    research_field = fields_of(user_of(request)).filter(name=item.field).first()
    row = study.study_items.filter(item=item).first()
    return show(
        request,
        "lab/curation/test_case.html",
        item=item,
        heading=item_words.heading_of_text(item),
        research_field=research_field,
        row=row,
        may_pause=row is not None and Right.CURATE in request.rights,
        act=_act(row),
    )


@either
@for_study(Right.CURATE)
def pause_test_case(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Pause it, or resume one that is paused; `act` says which the sender meant."""
    row = get_object_or_404(study.study_items.select_related("item"), item=pk)
    form = PauseForm(request.POST or None)
    if form.is_valid():
        resumes = request.POST.get("act") == "resume"
        edits = partial(audit.last_changes, study=study, item=str(row.item))
        with refused(request):
            set_paused(
                study,
                row.item,
                by=user_of(request),
                reason=form.cleaned_data["reason"],
                now=None if resumes else timezone.now(),
                check=lambda stored: check_seen(request.POST, stored, "paused_at", edits=edits),
            )
            done = "drawn again" if resumes else "no longer drawn"
            messages.success(request, f"{row.item} is {done}.")
        return redirect("lab:test_cases", study.slug)
    return show(
        request,
        "lab/curation/pause.html",
        row=row,
        form=form,
        act=_act(row),
        lacking=[] if row.paused_at else lacking_without(study, row.item),
        still_shown=item_words.still_shown(n_still_shown(study, row.item, timezone.now())),
    )


def _act(row: StudyItem | None) -> str:
    return "Resume" if row is not None and row.paused_at else "Pause"
