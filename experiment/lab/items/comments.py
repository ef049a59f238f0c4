"""Comments on a version, from its page."""

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.lab.items.forms import AnswerForm, CommentForm
from experiment.lab.items.views import item_of, item_page
from experiment.models import Comment, Item, ResearchField
from experiment.services.curation import comments


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def comment(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """A new thread."""
    item, form = item_of(research_field, pk), CommentForm(request.POST)
    if form.is_valid():
        sent = form.cleaned_data
        try:
            new = comments.add(item, user_of(request), sent["text"], sent["quote"])
            return _to(research_field, item, new)
        except ValidationError as error:
            form.add_error(None, error)
    return item_page(request, research_field, item, comment_form=form)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def answer(
    request: HttpRequest, research_field: ResearchField, pk: int, comment: int
) -> HttpResponse:
    """An answer; or the thread is resolved, or opened again."""
    item, user = item_of(research_field, pk), user_of(request)
    thread = get_object_or_404(item.comments, pk=comment, parent=None)
    if "resolve" in request.POST:
        comments.resolve(thread, user)
    elif "reopen" in request.POST:
        comments.reopen(thread)
    elif (form := AnswerForm(request.POST)).is_valid():
        comments.answer(thread, user, form.cleaned_data["text"])
    else:
        messages.error(request, _("An answer says something, in 5,000 characters at most."))
    return _to(research_field, item, thread)


def _to(research_field: ResearchField, item: Item, thread: Comment) -> HttpResponse:
    place = reverse("lab:item", args=[research_field.slug, item.pk])
    return redirect(f"{place}#comment-{thread.pk}")
