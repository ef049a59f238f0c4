"""Templates of a field's questions: listed and written, filled from a table that is sent, and made questions as was shown."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from experiment.domain.questions.filling import MOST_RULES, TemplateFaultsError
from experiment.domain.questions.language import LONGEST
from experiment.domain.roles import FieldRight
from experiment.imports.read.rows import MOST_OF_PAGE, ChooseSheetError, FileRefusedError
from experiment.imports.store.filling import PREVIEWED, FilledTemplate, Wanted, fill_template
from experiment.imports.store.plans import Action
from experiment.imports.store.question_plans import QuestionOptions, QuestionPlan
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.lab.access import for_field, is_lead, user_of
from experiment.lab.differences import said
from experiment.lab.item_files import gone, kept
from experiment.lab.question_files import AcceptForm
from experiment.lab.questions import CategoriesField, between_commas, seed_field
from experiment.models import QuestionTemplate, ResearchField
from experiment.services import audit, item_files
from experiment.services.questions import as_toml, is_fixed, save_template
from lib.formatting import count, number, verb
from lib.http import UNPROCESSABLE, either
from lib.name_fields import is_name
from lib.newlines import with_unix_newlines
from lib.opened import Edit, OpenedForm, held
from lib.pages import CONFLICT, LimitedFileField, UnixTextField, attached, say_saved, show

MAX_BYTES = 10 * 1024 * 1024
BLANK_RULES = 3


class TemplateForm(OpenedForm, forms.Form):
    """`rules`, which a formset asks for, are one of its fields: two people's do not mix."""

    key = forms.CharField(
        label="Key",
        max_length=80,
        validators=[is_name],
        help_text="Keys of its questions begin with it.",
    )
    question = UnixTextField(
        label="Question",
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="With slots for columns of a table: Is {{ name }} a gas?",
    )
    categories = CategoriesField()
    rules = forms.CharField(widget=forms.HiddenInput, required=False, label="Rules")

    def __init__(self, *args: Any, template: QuestionTemplate | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.template = template

    @property
    def merges(self) -> bool:
        return self.template is not None

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        if self.template is None:
            return {}
        field, key = self.template.field.name, self.template.key
        return audit.last_changes(names, field=field, question_template=key)


def in_a_line(rules: Iterable[Mapping[str, str]]) -> str:
    """
    >>> in_a_line([{"when": "n < 3", "answer": "Few."}, {"when": "", "answer": " "}])
    'n < 3: Few.'
    """
    texts = ((rule["when"].strip(), with_unix_newlines(rule["answer"]).strip()) for rule in rules)
    return "; ".join(f"{when}: {answer}" for when, answer in texts if when or answer)


def rules_sent(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """As they came, right or wrong."""
    given = range(MOST_RULES)
    return [
        {name: str(data.get(f"rules-{n}-{name}", "")) for name in ("when", "answer")} for n in given
    ]


class RuleForm(forms.Form):
    when = forms.CharField(
        label="Condition",
        max_length=LONGEST,
        required=False,
        help_text=("For example: boils < 25 and group == 18. Leave this empty to match every row."),
    )
    answer = UnixTextField(
        label="Answer",
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class TableForm(forms.Form):
    file = LimitedFileField(
        MAX_BYTES,
        "The table is larger than 10 MB. Use the command fill_template.",
        label="Table",
        help_text="A spreadsheet (.xlsx, .ods), CSV or JSONL in UTF-8, or Parquet; 10 MB at most.",
    )


RuleForms = forms.formset_factory(
    RuleForm, extra=BLANK_RULES, max_num=MOST_RULES, absolute_max=MOST_RULES, min_num=0
)


def template_of(research_field: ResearchField, pk: int) -> QuestionTemplate:
    """A template of the field, with how many questions it has made as `n`."""
    rows = QuestionTemplate.objects.annotate(n=Count("questions"))
    return get_object_or_404(rows, field=research_field, pk=pk)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def templates(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    rows = QuestionTemplate.objects.filter(field=research_field).annotate(n=Count("questions"))
    return show(request, "lab/questions/templates.html", templates=rows.order_by("key"))


@either
@for_field(FieldRight.CURATE_FIELD)
def new_template(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _written(request, research_field, None)


@either
@for_field(FieldRight.CURATE_FIELD)
def write_template(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    with held(research_field, when=request.method == "POST"):
        template = template_of(research_field, pk)
        if is_fixed(template):
            messages.error(request, "This template has created questions and cannot change.")
            return redirect("lab:question_template", research_field.slug, pk)
        return _written(request, research_field, template)


@either
@for_field(FieldRight.CURATE_FIELD)
def template(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """A template, and a table that is sent to fill it."""
    row = template_of(research_field, pk)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = TableForm(*sent)
    if form.is_valid():
        sent = form.cleaned_data["file"]
        return kept(request, research_field, sent, "lab:question_filling", pk, n=20)
    return show(
        request,
        "lab/questions/template.html",
        template=row,
        is_fixed=is_fixed(row),
        write_label="Change" if row.rules else "Write its texts",
        form=form,
    )


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def template_file(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    row = template_of(research_field, pk)
    return attached(as_toml(row), f"{row.key}.toml", "application/toml")


def _written(
    request: HttpRequest, research_field: ResearchField, row: QuestionTemplate | None
) -> HttpResponse:
    start: dict[str, Any] = {}
    if row is not None:
        start = {"key": row.key, "question": row.question, "categories": row.categories}
        start["rules"] = in_a_line(row.rules)
    data = None
    if request.method == "POST":
        data = request.POST.copy()
        data["rules"] = in_a_line(rules_sent(data))
    form = TemplateForm(data, initial=start, template=row)
    if row is not None:
        form.fields["key"].disabled = True
    stored = row.rules if row else []
    # Where others alone have changed the rules, or mine are given up, the page goes on with those that are stored
    keeps = data is not None and not form.errors.get("rules") and "rules" in form.taken
    rules = RuleForms(None if keeps else data, initial=stored, prefix="rules")
    if form.is_valid() and (keeps or rules.is_valid()):
        sent = form.cleaned_data
        given = stored if keeps else [rule for rule in rules.cleaned_data if rule]
        named = QuestionTemplate.objects.filter(field=research_field, key=sent["key"])
        if row is None and named.exists():
            form.add_error("key", "The field already has a template with this key.")
        else:
            asked = (sent["key"], sent["question"], given, sent["categories"])
            try:
                saved = save_template(research_field, *asked, by=user_of(request))
                say_saved(request, form)
                return redirect("lab:question_template", research_field.slug, saved.pk)
            except ValidationError as error:
                form.add_error(None, error.messages)
    status = UNPROCESSABLE if form.is_bound else 200
    heading = "New template" if row is None else row.key
    context: dict[str, Any] = {"heading": heading, "form": form, "rules": rules}
    return show(request, "lab/questions/write_template.html", status, **context)


SHOWN = 50  # rows without a pair


class FillingForm(AcceptForm):
    n = forms.IntegerField(
        label="How many",
        min_value=1,
        max_value=MOST_OF_PAGE,
        required=False,
        help_text="Leave this empty to use all questions that the table makes.",
    )
    strata = forms.CharField(
        label="Spread evenly over",
        max_length=500,
        required=False,
        help_text=("Columns separated by commas; “rule” is the rule that gave the answer."),
    )
    seed = seed_field("The same seed draws the same rows.")
    same_answers = forms.BooleanField(label="Keep questions that share an answer", required=False)
    sheet = forms.CharField(label="Sheet", required=False, widget=forms.HiddenInput)
    field_order = ("n", "strata", "seed", "same_answers", "accept")

    @property
    def wanted(self) -> Wanted:
        """The wish in a valid form."""
        sent = self.cleaned_data
        strata = tuple(between_commas(sent["strata"]))
        seed = 1 if sent["seed"] is None else sent["seed"]
        return Wanted(sent["n"], strata, seed, not sent["same_answers"], sent["sheet"])

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The values of a valid form, as it is sent once more."""
        chosen = ((name, value) for name, value in self.cleaned_data.items() if value != "")
        told = ((name, value) for name, value in chosen if value is not None)
        return [(name, "on" if v is True else str(v)) for name, v in told if v is not False]


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
    context: dict[str, Any] = {"template": template, "form": form, "again": again}
    try:
        data = item_files.read_upload(research_field, user, upload)
    except FileNotFoundError:
        return gone(request, "questions", "lab:question_template", research_field.slug, pk)
    filled: FilledTemplate | None = None
    if form.is_valid():
        try:
            filled = fill_template(template, data, form.wanted, MOST_OF_PAGE)
        except ChooseSheetError as error:
            form.add_error(None, str(error))
            sheets = [(name, name) for name in error.sheets]
            form.fields["sheet"].widget = forms.Select(choices=sheets)
        except (FileRefusedError, TemplateFaultsError) as error:
            faults = getattr(error, "faults", (str(error),))
            form.add_error(None, list(faults))
    if filled is not None:
        shown = request.POST.get("shown", "") if is_asked else None
        options = QuestionOptions(accepted_before=form.reason)
        plan, is_done = _planned(filled, research_field, options, user, shown)
        if is_done:
            item_files.forget_upload(research_field, user, upload)
            messages.success(request, said(plan, "question"))
            listed = reverse("lab:questions", args=[research_field.slug])
            return redirect(f"{listed}?{urlencode({'template': template.key})}")
        context |= _about(plan) | {"has_changed": is_asked}
    if filled is not None:
        left, n_drawn = filled.filling.left_out, len(filled.pairs)
        drawn = (
            f"{number(filled.n_rows, 0)} rows make {number(len(filled.filling.pairs), 0)} questions, of which "
            f"{number(n_drawn, 0)} are drawn."
        )
        if n_drawn > PREVIEWED:
            drawn += f" The first {PREVIEWED} are shown."
        context |= {
            "filled": filled,
            "drawn": drawn,
            "preview": filled.pairs[:PREVIEWED],
            "left": left[:SHOWN],
            "n_more": max(0, len(left) - SHOWN),
        }
    status = UNPROCESSABLE if form.errors else CONFLICT if context.get("has_changed") else 200
    return show(request, "lab/questions/filling.html", status, **context)


def _planned(
    filled: FilledTemplate,
    research_field: ResearchField,
    options: QuestionOptions,
    user: User,
    shown: str | None,
) -> tuple[QuestionPlan, bool]:
    """The plan of the questions; done where this is what was `shown`, which is None where nothing is to be done yet."""
    if shown is None:
        return options.plan(filled.as_file, research_field, by=user), False
    try:
        return import_file(filled.as_file, research_field, options, by=user, shown=shown), True
    except PlanRefusedError as refused:
        return refused.plan, False


def _about(plan: QuestionPlan) -> dict[str, Any]:
    updates = [row for row in plan.rows if row.action == Action.UPDATE]
    n_new, n_changed = plan.count(Action.CREATE), len(updates)
    n_same = plan.count(Action.UNCHANGED)
    counted = (
        f"{count(n_new, 'question')} {verb(n_new, 'is', 'are')} new, {number(n_changed, 0)} "
        f"{verb(n_changed, 'is', 'are')} changed, {number(n_same, 0)} {verb(n_same, 'is', 'are')} already in the field."
    )
    both = f"Create {number(n_new, 0)} and change {number(n_changed, 0)}"
    return {
        "plan": plan,
        "counted": counted,
        "create_label": both if updates else f"Create {count(n_new, 'question')}",
        "updates": updates[:PREVIEWED],
        "first_updates": f"The first {PREVIEWED} are shown." if n_changed > PREVIEWED else "",
        "problems": plan.problems[:PREVIEWED],
    }
