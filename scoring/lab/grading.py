"""A study's pages about grades: the plan, judges at work, and what one of them found."""

import json
from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.setup_forms import OfStudy
from experiment.models import Study
from lib.opened import held
from lib.pages import UnixTextField, offer, refused, say_saved, show
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import Fate, Rubric
from scoring.lab.forms import AtZeroForm, instructions_field
from scoring.lab.run_pages import RunPages
from scoring.models import AnsweringRun, GradingPlan, GradingRun
from scoring.services import data_set
from scoring.services.data_set import JUDGES
from scoring.services.grading import people, plans
from scoring.services.grading import runs as grading_runs
from scoring.services.grading.plans import plan_of, rubric_of, summary, with_fate
from scoring.services.grading.prompts import default_prompt


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
    """The judge, and what it grades."""

    prefix = "judge"
    runs = forms.TypedMultipleChoiceField(
        label="Answers of", coerce=str, widget=forms.CheckboxSelectMultiple
    )
    prompt = instructions_field(
        default_prompt, 14, "The site fills in {rubric}. Leave this empty for the built-in text."
    )
    PEOPLE = "people"
    BEHIND, TOLD = ("runs",), ("prompt", "Instructions to the judge")

    def __init__(self, study: Study, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, user=user, **kwargs)
        self.study, self.by = study, user
        over = AnsweringRun.objects.filter(study=study).exclude(
            status__in=AnsweringRun.OPEN_STATUSES
        )
        named = [
            (str(run.pk), f"Run {run.pk}: {run.language_model}")
            for run in over.select_related("language_model")
        ]
        offer(self, "runs", [*named, (self.PEOPLE, "participants")])
        self.fields["runs"].initial = [number for number, _name in named]
        self.offer_kinds(list(grading_runs.JUDGES.items()))

    def check_asked(self) -> None:
        """`draft` does: one of the judges is no model."""

    def draft(self) -> GradingRun:
        """The run that a valid form asks for, not stored.

        Raises:
            ScoringError: as `grading_run`.
        """
        runs = self.cleaned_data["runs"]
        return grading_runs.grading_run(
            self.study,
            self.asked,
            runs=[int(number) for number in runs if number != self.PEOPLE],
            people=self.PEOPLE in runs,
            prompt=self.cleaned_data["prompt"],
            by=self.by,
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
    form = JudgeForm(study, request.POST, user=user_of(request))
    if form.is_valid():
        with refused(form, ScoringError):
            if not form.foretells(grading_runs.forecast, form.draft):
                return redirect(grading_runs.start(form.draft(), user_of(request)))
    return _page(request, study, judge_form=form)


class GradingPages(RunPages[GradingRun]):
    name = part = "grading"
    service = grading_runs
    units = "answers"
    all_runs = "All grades"
    again = "Continue"
    told = ("Instructions to the judge", "Instructions and their hashes", "Instructions")
    file = ("grades", "grading", JUDGES)

    def runs_of(self, study: Study, /) -> QuerySet[GradingRun]:
        return _runs(study)

    def heading(self, run: GradingRun) -> str:
        return f"Grades by {run.judge_name}"

    def state(self, run: GradingRun) -> dict[str, Any]:
        return {"counts": summary(run), "unread": grading_runs.unread(run)}

    def listed(self, request: HttpRequest, run: GradingRun) -> dict[str, Any]:
        """The grades of one fate, or of all, page by page."""
        if (chosen := request.GET.get("show", "")) not in FATES:
            raise Http404
        grades = run.grades.select_related(
            "answer__item", "answer__run__language_model", "judgment__trial__item", "judgment__written_answer"
        )  # fmt: skip
        rubric = Rubric.from_json(run.rubric)
        if chosen:
            grades = grades.filter(with_fate(rubric, Fate(chosen)))
        pages = Paginator(grades.order_by("pk"), PER_PAGE)
        page = pages.get_page(request.GET.get("page"))
        numbers = pages.get_elided_page_range(page.number) if pages.num_pages > 1 else ()
        return {
            "show": chosen,
            "fates": FATES,
            "rubric": rubric,
            "shown": page,
            "grades": [(grade, rubric.fate(grade.points)) for grade in page],
            "page_numbers": list(numbers),
            "query": f"show={chosen}",
        }

    def rows(self, run: GradingRun) -> Iterator[tuple[Any, ...]]:
        return data_set.of_judges(run.grades.all())


def _runs(study: Study) -> QuerySet[GradingRun]:
    return GradingRun.objects.filter(study=study).select_related("study", "language_model")


def _page(request: HttpRequest, study: Study, **sent: Any) -> HttpResponse:
    own, user = plan_of(study), user_of(request)
    context: dict[str, Any] = {
        "part": "grading",
        "plan": own,
        "rubric": rubric_of(own),
        "runs": [(found, summary(found)) for found in _runs(study)[:SHOWN]],
        "progress": people.progress(study, user),
        "n_disputes": people.n_open(study),
        "n_mine": people.n_open(study, user),
        "has_next": people.next_for(user, study) is not None,
        "plan_form": PlanForm(plan=own),
        "judge_form": JudgeForm(study, user=user),
    }
    return show(request, "scoring/grading/grading.html", **context | sent)
