"""A study's pages about grades: the plan, judges at work, and what one of them found."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup_forms import OfStudy
from experiment.models import Study
from experiment.services import work as background
from lib.opened import held
from lib.pages import UnixTextField, offer, refused, say_saved, sent_as_csv, show
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import Fate, Rubric
from scoring.lab.forms import AtZeroForm, instructions_field
from scoring.models import AnsweringRun, GradingPlan, GradingRun
from scoring.services import data_set
from scoring.services.data_set import JUDGES
from scoring.services.grading import people, plans
from scoring.services.grading import runs as grading_runs
from scoring.services.grading.plans import plan_of, rubric_of, summary, with_fate
from scoring.services.grading.runs import default_prompt


class PlanForm(OfStudy, forms.Form):
    """`rubric` once it is valid."""

    prefix = "plan"
    people_share = forms.FloatField(
        label="Share of the answers that people grade", min_value=0, max_value=1
    )
    double_share = forms.FloatField(
        label="Share of these that two people grade", min_value=0, max_value=1
    )
    tolerance = forms.FloatField(
        label="Points by which two people may differ",
        min_value=0,
        max_value=1000,
        help_text="A third person settles larger differences, and differences about abstention.",
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=2**31 - 1,
        help_text="Seed that draws the sample.",
    )
    rubric_text = UnixTextField(
        label="Rubric",
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
        help_text="JSON: name, levels, deductions, abstention and good_from. An answer counts as good if it has at least the share good_from of the maximum points.",
    )
    rubric: Rubric

    def __init__(self, *args: Any, plan: GradingPlan, **kwargs: Any) -> None:
        kwargs["initial"] = self.values_of(plan)
        super().__init__(*args, **kwargs)
        self.study = plan.study

    @staticmethod
    def values_of(plan: GradingPlan) -> dict[str, Any]:
        names = ("people_share", "double_share", "tolerance", "seed")
        text = json.dumps(plan.rubric, indent=2, ensure_ascii=False)
        return {name: getattr(plan, name) for name in names} | {"rubric_text": text}

    def clean_rubric_text(self) -> str:
        text = str(self.cleaned_data["rubric_text"])
        try:
            self.rubric = Rubric.from_text(text)
        except ScoringError as error:
            raise ValidationError(str(error)) from error
        return text


class JudgeForm(AtZeroForm):
    """The judge, and what it grades; `draft` once it is valid."""

    prefix = "judge"
    runs = forms.TypedMultipleChoiceField(
        label="Answers of", coerce=str, widget=forms.CheckboxSelectMultiple
    )
    prompt = instructions_field(
        default_prompt, 14, "The site fills in {rubric}. Leave this empty for the built-in text."
    )
    PEOPLE = "people"
    draft: GradingRun

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        over = AnsweringRun.objects.filter(study=study).exclude(
            status__in=AnsweringRun.OPEN_STATUSES
        )
        named = [
            (str(run.pk), f"Run {run.pk}: {run.language_model}")
            for run in over.select_related("language_model")
        ]
        offer(self, "runs", [*named, (self.PEOPLE, "participants")])
        self.fields["runs"].initial = [number for number, _name in named]
        offer(self, "generator", [(kind.value, kind.label) for kind in grading_runs.JUDGES])

    def check_asked(self) -> None:
        runs = self.cleaned_data["runs"]
        self.draft = grading_runs.grading_run(
            self.study,
            self.asked,
            runs=[int(number) for number in runs if number != self.PEOPLE],
            people=self.PEOPLE in runs,
            prompt=self.cleaned_data["prompt"],
        )


SHOWN = 10
PER_PAGE = 40
FATES = {
    "": "All",
    Fate.GOOD.value: "Good",
    Fate.ABSTAINED.value: "Abstained",
    Fate.BAD.value: "Bad",
    Fate.UNPARSED.value: "Unparsed",
}


@require_safe
@for_study(Right.SEE_DATA)
def grading(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study)


@require_POST
@for_study(Right.SET_UP)
def plan(request: HttpRequest, study: Study) -> HttpResponse:
    with held(study) as stored:
        form = PlanForm(request.POST, plan=plan_of(stored))
        if form.is_valid():
            values = {k: v for k, v in form.cleaned_data.items() if k != "rubric_text"}
            with refused(form, ScoringError, field="rubric_text"):
                plans.change(study, rubric=form.rubric, by=user_of(request), **values)
                say_saved(request, form)
                return redirect("lab:grading", study.slug)
    return _page(request, study, plan_form=form)


@require_POST
@for_study(Right.WORK)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    form = JudgeForm(study, request.POST)
    if form.is_valid():
        form.draft.created_by = user_of(request)
        return redirect(grading_runs.start(form.draft, user_of(request)))
    return _page(request, study, judge_form=form)


@require_safe
@for_study(Right.SEE_DATA)
def run(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return show(request, "scoring/grading/run.html", **_run_context(request, study, pk))


@require_safe
@for_study(Right.SEE_DATA)
def run_live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """The part of a run's page that changes."""
    return show(request, "scoring/grading/_run.html", **_state_context(study, pk))


@require_safe
@for_study(Right.EXPORT)
def run_csv(request: HttpRequest, study: Study, pk: int) -> StreamingHttpResponse:
    grades = data_set.of_judges(_run_of(study, pk).grades.all())
    return sent_as_csv(f"{study.slug}-grading-{pk}", JUDGES, grades)


@require_POST
@for_study(Right.WORK)
def stop(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return redirect(background.stop(_run_of(study, pk), user_of(request)))


@require_POST
@for_study(Right.WORK)
def resume(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return redirect(grading_runs.resume(_run_of(study, pk), user_of(request)))


def _run_of(study: Study, pk: int) -> GradingRun:
    rows = GradingRun.objects.select_related("study", "language_model")
    return get_object_or_404(rows, study=study, pk=pk)


def _state_context(study: Study, pk: int) -> dict[str, Any]:
    found = _run_of(study, pk)
    return {
        "part": "grading",
        "run": found,
        "counts": summary(found),
        "spending": grading_runs.spent(found),
        "unread": grading_runs.unread(found),
        "can_resume": grading_runs.can_resume(found),
    }


def _run_context(request: HttpRequest, study: Study, pk: int) -> dict[str, Any]:
    """With the grades of one fate, or of all, page by page."""
    if (show := request.GET.get("show", "")) not in FATES:
        raise Http404
    context = _state_context(study, pk)
    found: GradingRun = context["run"]
    grades = found.grades.select_related(
        "answer__item", "answer__run__language_model", "judgment__trial__item", "judgment__written_answer"
    )  # fmt: skip
    rubric = Rubric.from_json(found.rubric)
    if show:
        grades = grades.filter(with_fate(rubric, Fate(show)))
    pages = Paginator(grades.order_by("pk"), PER_PAGE)
    page = pages.get_page(request.GET.get("page"))
    numbers = pages.get_elided_page_range(page.number) if pages.num_pages > 1 else ()
    return context | {
        "show": show,
        "fates": FATES,
        "rubric": rubric,
        "shown": page,
        "grades": [(grade, rubric.fate(grade.points)) for grade in page],
        "page_numbers": list(numbers),
        "query": f"show={show}",
    }


def _page(request: HttpRequest, study: Study, **sent: Any) -> HttpResponse:
    own, user = plan_of(study), user_of(request)
    runs = GradingRun.objects.filter(study=study).select_related("study", "language_model")
    context: dict[str, Any] = {
        "part": "grading",
        "plan": own,
        "rubric": rubric_of(own),
        "runs": [(found, summary(found)) for found in runs[:SHOWN]],
        "progress": people.progress(study, user),
        "n_disputes": people.n_open(study),
        "n_mine": people.n_open(study, user),
        "has_next": people.next_for(user, study) is not None,
        "plan_form": PlanForm(plan=own),
        "judge_form": JudgeForm(study),
    }
    return show(request, "scoring/grading/grading.html", **context | sent)
