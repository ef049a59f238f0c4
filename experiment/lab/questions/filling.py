"""What a template makes of a table: the first 20 pairs, what they change and the rows without one; the questions once they are wanted."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from experiment.domain.questions.filling import TemplateFaultsError
from experiment.domain.roles import FieldRight
from experiment.imports.read.items import FileRefusedError
from experiment.imports.store.bulk.difference import Action
from experiment.imports.store.questions.apply import QuestionsRefusedError, import_questions
from experiment.imports.store.questions.filling import FilledTemplate, Wanted, fill_template
from experiment.imports.store.questions.plan import QuestionPlan, plan_questions
from experiment.imports.store.questions.report import PREVIEWED
from experiment.lab.access import for_field, user_of
from experiment.lab.questions.imports import CONFLICT, GONE, AcceptForm, is_lead, said
from experiment.lab.questions.templates import template_of
from experiment.models import ResearchField
from experiment.services import kept_uploads
from lib.http import UNPROCESSABLE, either

SHOWN = 50  # rows without a pair
MOST = 20_000  # questions that a page makes


class FillingForm(AcceptForm):
    n = forms.IntegerField(
        label=gettext_lazy("How many"),
        min_value=1,
        max_value=MOST,
        required=False,
        help_text=gettext_lazy("Empty: all that the table gives."),
    )
    strata = forms.CharField(
        label=gettext_lazy("Spread evenly over"),
        max_length=500,
        required=False,
        help_text=gettext_lazy(
            "Columns, with commas between them; “rule” is the rule that gave the answer."
        ),
    )
    seed = forms.IntegerField(
        label=gettext_lazy("Seed"),
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        required=False,
        help_text=gettext_lazy("The same seed draws the same rows."),
    )
    same_answers = forms.BooleanField(
        label=gettext_lazy("Keep questions that share an answer"), required=False
    )
    field_order = ("n", "strata", "seed", "same_answers", "accept")

    @property
    def wanted(self) -> Wanted:
        """Of a valid form."""
        sent = self.cleaned_data
        strata = tuple(name for part in sent["strata"].split(",") if (name := part.strip()))
        seed = 1 if sent["seed"] is None else sent["seed"]
        return Wanted(sent["n"], strata, seed, not sent["same_answers"])

    @property
    def query(self) -> str:
        return urlencode(
            {name: v for name, v in self.cleaned_data.items() if v not in ("", None, False)}
        )


@either
@for_field(FieldRight.CURATE_FIELD)
def filling(
    request: HttpRequest, research_field: ResearchField, pk: int, upload: str
) -> HttpResponse:
    """GET shows it; POST with the same choices makes the questions, where they are what was shown."""
    template, user = template_of(research_field, pk), user_of(request)
    is_asked = request.method == "POST"
    form = FillingForm(request.POST if is_asked else request.GET, is_lead=is_lead(request))
    again = reverse("lab:question_template", args=[research_field.slug, pk])
    context: dict[str, Any] = {
        "research_field": research_field,
        "template": template,
        "form": form,
        "again": again,
        "section": "fields",
    }
    try:
        data = kept_uploads.read(research_field, user, upload)
    except FileNotFoundError:
        return render(request, "lab/questions/gone.html", context, status=GONE)
    filled: FilledTemplate | None = None
    if form.is_valid():
        try:
            filled = fill_template(template, data, form.wanted)
        except (FileRefusedError, TemplateFaultsError) as error:
            faults = getattr(error, "faults", (str(error),))
            form.add_error(None, list(faults))
    if filled is not None and len(filled.pairs) > MOST:
        form.add_error("n", _("A page makes at most 20,000 questions: use fill_template."))
    elif filled is not None:
        shown = request.POST.get("shown", "") if is_asked else None
        plan, is_done = _planned(filled, research_field, form.reason, user, shown)
        if is_done:
            kept_uploads.forget(research_field, user, upload)
            messages.success(request, said(plan))
            listed = reverse("lab:questions", args=[research_field.slug])
            return redirect(f"{listed}?{urlencode({'template': template.key})}")
        context |= _about(plan) | {"has_changed": is_asked}
    if filled is not None:
        left = filled.filling.left_out
        context |= {
            "filled": filled,
            "preview": filled.pairs[:PREVIEWED],
            "left": left[:SHOWN],
            "n_more": max(0, len(left) - SHOWN),
        }
    status = UNPROCESSABLE if form.errors else CONFLICT if context.get("has_changed") else 200
    return render(request, "lab/questions/filling.html", context, status=status)


def _planned(
    filled: FilledTemplate,
    research_field: ResearchField,
    accept: str,
    user: User,
    shown: str | None,
) -> tuple[QuestionPlan, bool]:
    """What the questions would do; done where this is what was `shown`, which is None where nothing is to be done yet."""
    if shown is None:
        return plan_questions(filled.as_file, research_field, accept), False
    try:
        file = filled.as_file
        return import_questions(file, research_field, accept, by=user, shown=shown), True
    except QuestionsRefusedError as refused:
        return refused.plan, False


def _about(plan: QuestionPlan) -> dict[str, Any]:
    updates = [row for row in plan.rows if row.action == Action.UPDATE]
    return {
        "plan": plan,
        **{f"n_{action}": plan.count(action) for action in Action},
        "updates": updates[:PREVIEWED],
        "problems": plan.problems[:PREVIEWED],
    }
