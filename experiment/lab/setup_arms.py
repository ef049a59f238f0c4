"""The arms of a study: the list, one of them, and its removal."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup import LABELS, setup_context
from experiment.lab.setup_forms import OfStudy, TrialsForm
from experiment.models import Arm, Item, Study
from experiment.models.arms import COUNTS_OF_ARM, FIXED
from experiment.services import audit
from experiment.services.arms import arms_of, remove_arm, save_arm
from experiment.services.counts import n_asked
from lib.formatting import count
from lib.http import either
from lib.opened import check_seen, held
from lib.pages import UnixTextField, refused, say_saved, show

AS_IN_STUDY = ("unknown", "as in the study")


class ArmForm(OfStudy, forms.ModelForm[Arm]):
    """The settings of an arm by itself; only the name once the study has begun."""

    class Meta:
        model = Arm
        fields = (
            "name",
            "share",
            "advice",
            "advised_items",
            *COUNTS_OF_ARM,
            "ratings_required",
            "subfields",
            "instructions",
            "debriefing",
        )
        field_classes = {"instructions": UnixTextField, "debriefing": UnixTextField}
        widgets = {
            "advice": forms.RadioSelect,
            "instructions": forms.Textarea(attrs={"rows": 4}),
            "debriefing": forms.Textarea(attrs={"rows": 4}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        study = self.study = self.instance.study
        self.row = {"arm": self.instance.name}
        for name in COUNTS_OF_ARM:
            if n := getattr(study, name):
                label = self.fields[name].label
                said = f"If empty, as in the study: {n}."
                self.fields[name] = forms.IntegerField(
                    required=False, min_value=0, max_value=TrialsForm.MOST, label=label,
                    help_text=said,
                )  # fmt: skip
            else:
                del self.fields[name]
        rating = forms.NullBooleanSelect()
        rating.choices = [AS_IN_STUDY, ("true", "yes"), ("false", "no")]
        self.fields["ratings_required"].widget = rating
        # Those of the study's test cases, and what the arm names
        items = study.accepted_items.filter(kind=Item.Kind.TEST).exclude(subfield="")
        known = items.order_by().values_list("subfield", flat=True).distinct()
        subfields = sorted({*known, *self.instance.subfields})
        self.fields["subfields"] = forms.MultipleChoiceField(
            choices=[(name, name) for name in subfields],
            required=False,
            widget=forms.CheckboxSelectMultiple,
            label="Subfields",
            help_text="If none is chosen, the test cases come from all subfields.",
        )
        if len(subfields) < 2:
            del self.fields["subfields"]
        if study.has_begun:
            for name, field in self.fields.items():
                field.disabled = name != "name"


@require_safe
@for_study(Right.SET_UP)
def arms(request: HttpRequest, study: Study) -> HttpResponse:
    listed = arms_of(study)
    shares = sum(arm.share for arm in listed)
    rows = []
    for arm in listed:
        trials = f" ({count(arm.advised_items, 'trial')})" if arm.advised_items else ""
        n_abstracts, n_questions = n_asked(study, arm)
        each = [count(n_abstracts, "abstract")] if n_abstracts else []
        each += [count(n_questions, "question")] if n_questions else []
        row = {
            "arm": arm,
            "percent": 100 * arm.share / shares,
            "advice": f"{arm.get_advice_display()}{trials}",
            "each": ", ".join(each),
        }
        rows.append(row)
    return _show(request, study, "arms", rows=rows)


@either
@for_study(Right.SET_UP)
def new_arm(request: HttpRequest, study: Study) -> HttpResponse:
    return _edit(request, study, lambda stored: Arm(study=stored))


@either
@for_study(Right.SET_UP)
def arm(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    return _edit(request, study, lambda stored: get_object_or_404(stored.arms, number=number))


@require_POST
@for_study(Right.SET_UP)
def remove(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    with refused(request), held(study) as stored:
        removed = get_object_or_404(stored.arms, number=number)
        edits = partial(audit.last_changes, study=study, arm=removed.name)
        check_seen(request.POST, removed, "name", *FIXED, edits=edits)
        remove_arm(removed, by=user_of(request))
        messages.success(request, f"“{removed.name}” was removed.")
    return redirect("lab:setup_arms", study.slug)


def _edit(request: HttpRequest, study: Study, find: Callable[[Study], Arm]) -> HttpResponse:
    with held(study, when=request.method == "POST") as stored:
        form = ArmForm(request.POST or None, instance=find(stored))
        if form.is_valid():
            with refused(form):
                save_arm(form.instance, by=user_of(request))
                say_saved(request, form)
                return redirect("lab:setup_arms", study.slug)
    is_new = form.instance.pk is None
    title = "New arm" if is_new else form.instance.name
    heading = title if is_new else f"Arm “{form.initial['name']}”"
    return _show(request, study, "arm", form=form, title=title, heading=heading)


def _show(request: HttpRequest, study: Study, template: str, **more: Any) -> HttpResponse:
    context = setup_context(study, "arms") | {"title": LABELS["arms"]} | more
    return show(request, f"lab/setup/{template}.html", **context)
