"""The steps of a version, from its page."""

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from experiment.domain.item_life import Move
from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.lab.items.forms import ReasonForm, RetireForm, ReviewForm
from experiment.lab.items.views import item_of, item_page
from experiment.models import Item, ResearchField
from experiment.services.curation import lifecycle, reviews

# Those that take nothing but the decision
PLAIN: Mapping[str, Callable[[Item, User], Item]] = {
    Move.SUBMIT: lifecycle.submit,
    Move.ACCEPT: reviews.accept_alone,
    Move.REVISE: lifecycle.revise,
    "take_back_verdict": reviews.take_back,
}


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def move(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """To review, accepted by its writer alone, back to draft, on to the next version; or one's verdict is taken back."""
    item, wanted = item_of(research_field, pk), request.POST.get("move", "")
    if wanted == Move.BACK:
        return _back(request, research_field, item)
    if wanted not in PLAIN:
        raise Http404
    try:
        item = PLAIN[wanted](item, user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    page = "lab:write_item" if wanted == Move.REVISE and not item.is_frozen else "lab:item"
    return redirect(page, research_field.slug, item.pk)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def retire(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    item, form = item_of(research_field, pk), RetireForm(request.POST, prefix="retire")
    if not form.is_valid():
        return item_page(request, research_field, item, retire_form=form)
    sent = form.cleaned_data
    try:
        retired = lifecycle.retire(
            item, user_of(request), sent["reason"], every_version=sent["every_version"]
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        n = len(retired)
        said = ngettext("%(n)d version is retired.", "%(n)d versions are retired.", n)
        messages.success(request, said % {"n": n})
    return redirect("lab:item", research_field.slug, pk)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def review(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """One's verdict on the text."""
    item, form = item_of(research_field, pk), ReviewForm(request.POST, prefix="review")
    if not form.is_valid():
        return item_page(request, research_field, item, review_form=form)
    sent = form.cleaned_data
    try:
        item = reviews.review(item, user_of(request), sent["verdict"], sent["text"])
    except ValidationError as error:
        form.add_error(None, error)
        return item_page(request, research_field, item, review_form=form)
    accepted = item.status == Item.Status.ACCEPTED
    said = _("With your verdict it is accepted.") if accepted else _("Your verdict is kept.")
    messages.success(request, said)
    return redirect("lab:item", research_field.slug, pk)


def _back(request: HttpRequest, research_field: ResearchField, item: Item) -> HttpResponse:
    form = ReasonForm(request.POST, prefix="back")
    if not form.is_valid():
        return item_page(request, research_field, item, back_form=form)
    try:
        lifecycle.back_to_draft(item, user_of(request), form.cleaned_data["reason"])
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("lab:item", research_field.slug, item.pk)
