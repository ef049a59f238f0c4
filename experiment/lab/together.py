"""One step with the test cases that are ticked in a field's list: a page that says what it would do, and the step."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from experiment.domain.item_columns import READ
from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.lab.items import ReasonForm, RetireForm, check_read
from experiment.models import Item, ResearchField
from experiment.services.curation import together as services
from experiment.services.curation.together import Act, Plan, Words
from lib.formatting import count, verb
from lib.http import row_number
from lib.opened import seen
from lib.pages import show

MOST = 200  # test cases at a time; a page of the list has fewer


class ExplainForm(forms.Form):
    """A text for each kind of warning."""

    def __init__(self, plan: Plan, data: Any = None) -> None:
        super().__init__(data, prefix="explain")
        for warnings in plan.warnings:
            label = "Why these texts are correct as they are"
            self.fields[warnings.code] = forms.CharField(label=label, max_length=500)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def together(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """The page; and with `sure` the step, where everything is said that it needs."""
    # Those that are ticked, or with `every` all that were shown; in their order in the list, which keeps its filters
    names = request.POST.getlist("shown" if "every" in request.POST else "item")[:MOST]
    numbers = [*map(row_number, names)]
    found = Item.objects.filter(field=research_field.name).in_bulk(numbers)
    items = [found[pk] for pk in dict.fromkeys(numbers) if pk in found]
    query = request.POST.get("query", "")
    back = _list_of(research_field, query)
    if not items:
        messages.error(request, "Select at least one test case.")
        return redirect(back)
    if (sent := request.POST.get("act", "")) not in set(Act):
        raise Http404
    act = Act(sent)
    plan = services.plan(items, act, user_of(request))
    data = request.POST if "sure" in request.POST else None
    form: forms.Form
    if act == Act.BACK:
        form = ReasonForm(data, prefix="back")
    elif act == Act.RETIRE:
        form = RetireForm(data, prefix="retire")
    else:
        form = ExplainForm(plan, data)
    if form.is_valid():
        said = form.cleaned_data
        words = Words(explanations=said)
        if act in (Act.BACK, Act.RETIRE):
            words = Words(said["reason"], every_version=said.get("every_version", False))
        outcome = services.take(
            items,
            act,
            user_of(request),
            words,
            lambda stored: check_read(request, stored, _opened(stored)),
        )
        if outcome.done:
            messages.success(request, _done(act, outcome.done))
        for why, refused in outcome.refused.items():
            messages.error(request, f"{', '.join(map(str, refused))}: {why}")
        return redirect(back)
    return _page(request, research_field, act, items, plan, form, query)


def submit_all(
    request: HttpRequest, research_field: ResearchField, items: Sequence[Item]
) -> HttpResponse:
    """Send drafts to review that their writer has just seen; where a warning is to be explained first, the page that asks."""
    items = items[:MOST]
    plan = services.plan(items, Act.SUBMIT, user_of(request))
    if plan.warnings or plan.outcome.refused:
        return _page(request, research_field, Act.SUBMIT, items, plan, ExplainForm(plan))
    outcome = services.take(items, Act.SUBMIT, user_of(request), Words())
    messages.success(request, _done(Act.SUBMIT, outcome.done))
    return redirect("lab:field", research_field.slug)


def _page(
    request: HttpRequest,
    research_field: ResearchField,
    act: Act,
    items: Sequence[Item],
    plan: Plan,
    form: forms.Form,
    query: str = "",
) -> HttpResponse:
    done = plan.outcome.done
    is_read = act == Act.ACCEPT  # whoever accepts texts reads them first
    return show(
        request,
        "lab/items/together.html",
        act=act,
        items=items,
        opened=[seen(item, *READ, opened_as=_opened(item)) for item in items],
        done=done,
        refused=plan.outcome.refused,
        read=done if is_read else (),
        chosen=() if is_read else done,
        note=_note(act, plan) if done else "",
        explained=[(each, form[each.code]) for each in plan.warnings],
        form=form,
        back=_list_of(research_field, query),
        query=query,
    )


def _list_of(research_field: ResearchField, query: str) -> str:
    return reverse("lab:field", args=[research_field.slug]) + (f"?{query}" if query else "")


def _note(act: Act, plan: Plan) -> str:
    """A word before the step; empty where none is needed."""
    match act:
        case Act.SUBMIT if plan.warnings:
            return "Explain each kind of warning once. The explanation is stored with every test case that has this warning."
        case Act.ACCEPT:
            return "Your verdict on each of these texts will be “accept”. Read both wordings first."
        case Act.RETIRE:
            return "This cannot be undone: participants no longer receive these test cases. You can still write new versions."
    return ""


def _opened(item: Item) -> str:
    return f"item-{item.pk}-opened"


def _done(act: Act, items: Sequence[Item]) -> str:
    n, cases = len(items), count(len(items), "test case")
    match act:
        case Act.SUBMIT:
            return f"{cases} {verb(n, 'is', 'are')} in review now."
        case Act.BACK:
            return f"{cases} {verb(n, 'is a draft', 'are drafts')} again."
        case Act.RETIRE:
            return f"{cases} {verb(n, 'is', 'are')} retired."
    saved = f"Your verdict on {cases} is saved."
    accepted = sum(item.status == Item.Status.ACCEPTED for item in items)
    if not accepted:
        return saved
    enough = verb(accepted, "has enough verdicts and is", "have enough verdicts and are")
    return f"{saved} {count(accepted, 'test case')} now {enough} accepted."
