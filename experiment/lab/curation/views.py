"""One of a study's test cases: its text, and pausing it."""

from django import forms
from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Study
from experiment.models.items import ItemQuerySet
from experiment.services.curation.pausing import lacking_without, n_still_shown, pause, resume
from experiment.services.rights import fields_of
from lib.http import UNPROCESSABLE, either


class PauseForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Why"),
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("Kept in the study's trail."),
    )


@require_safe
@for_study(Right.SEE_ITEMS)
def test_case(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    item = get_object_or_404(_versions(study), pk=pk)
    context = {
        "study": study,
        "item": item,
        "research_field": fields_of(user_of(request)).filter(name=item.field).first(),
        "row": study.study_items.filter(item=item).first(),
    }
    return render(request, "lab/curation/test_case.html", context)


@either
@for_study(Right.CURATE)
def pause_test_case(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """Pause it, or resume one that is paused; `act` says which the sender meant."""
    row = get_object_or_404(study.study_items.select_related("item"), item=pk)
    form = PauseForm(request.POST or None)
    if form.is_valid():
        by, reason, now = user_of(request), form.cleaned_data["reason"], timezone.now()
        if request.POST.get("act") == "resume":
            resume(study, row.item, by=by, reason=reason)
            messages.success(request, _("%(item)s is drawn again.") % {"item": row.item})
        else:
            pause(study, row.item, by=by, reason=reason, now=now)
            messages.success(request, _("%(item)s is drawn no more.") % {"item": row.item})
        return redirect("lab:test_cases", study.slug)
    context = {
        "study": study,
        "row": row,
        "form": form,
        "lacking": [] if row.paused_at else lacking_without(study, row.item),
        "n_still_shown": n_still_shown(study, row.item, timezone.now()),
    }
    status = UNPROCESSABLE if form.errors else 200
    return render(request, "lab/curation/pause.html", context, status=status)


def _versions(study: Study) -> ItemQuerySet:
    """Of the test cases that the study draws from: its versions, and those that were accepted."""
    shown = Q(pk__in=study.items.values("pk")) | Q(status__in=Item.FROZEN_STATUSES)
    return Item.objects.filter(shown, key__in=study.items.values("key"))
