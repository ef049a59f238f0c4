"""The plan by which answers are graded, which judge is asked, and a person's grade."""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from experiment.models import Study
from lib.pages import UnixTextField
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import Rubric
from scoring.lab.drafting.forms import ModelForm
from scoring.models import AnsweringRun, GradingPlan, GradingRun
from scoring.services.grading import runs as grading
from scoring.services.grading.people import Given
from scoring.services.grading.runs import default_prompt

ABSTAINED = "abstained"


class PlanForm(forms.Form):
    """`rubric` once it is valid."""

    prefix = "plan"
    people_share = forms.FloatField(
        label=_("Share of the answers that people grade"), min_value=0, max_value=1
    )
    double_share = forms.FloatField(
        label=_("Share of these that two people grade"), min_value=0, max_value=1
    )
    tolerance = forms.FloatField(
        label=_("Points by which two people may differ"),
        min_value=0,
        max_value=1000,
        help_text=_("A third settles what they differ in by more, and whether it abstains."),
    )
    seed = forms.IntegerField(
        label=_("Seed"), min_value=0, max_value=2**31 - 1, help_text=_("It draws the sample.")
    )
    rubric_text = UnixTextField(
        label=_("Rubric"),
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
        help_text=_("JSON: name, levels, deductions, abstention, good_from."),
    )
    rubric: Rubric

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


class JudgeForm(ModelForm):
    """Which judge grades what; `draft` once it is valid."""

    prefix = "judge"
    runs = forms.TypedMultipleChoiceField(
        label=_("Whose answers"), coerce=str, widget=forms.CheckboxSelectMultiple
    )
    prompt = UnixTextField(
        label=_("Instructions"),
        required=False,
        max_length=50_000,
        initial=default_prompt,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=_("Filled in: {rubric}. Empty: as shipped."),
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
            (str(run.pk), _("Run %(n)d: %(model)s") % {"n": run.pk, "model": run.language_model})
            for run in over.select_related("language_model")
        ]
        self.fields["runs"].choices = [*named, (self.PEOPLE, _("participants"))]  # type: ignore[attr-defined]
        self.fields["runs"].initial = [number for number, _name in named]
        kinds = [(kind.value, kind.label) for kind in grading.JUDGES]
        self.fields["generator"].choices = kinds  # type: ignore[attr-defined]

    def check_asked(self) -> None:
        runs = self.cleaned_data["runs"]
        self.draft = grading.grading_run(
            self.study,
            self.asked,
            runs=[int(number) for number in runs if number != self.PEOPLE],
            people=self.PEOPLE in runs,
            prompt=self.cleaned_data["prompt"],
        )


class GradeForm(forms.Form):
    """A person's grade; `given` once it is valid. `token` stands for the answer that was shown."""

    token = forms.CharField(max_length=40, widget=forms.HiddenInput)
    verdict = forms.ChoiceField(label=_("Grade"), widget=forms.RadioSelect)
    deductions = forms.MultipleChoiceField(
        label=_("Deductions"), required=False, widget=forms.CheckboxSelectMultiple
    )
    note = UnixTextField(
        label=_("Note"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("For those who study the grades; nobody has to write one."),
    )

    def __init__(self, rubric: Rubric, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        levels = [(str(level.points), level.label) for level in rubric.levels]
        if rubric.abstention is not None:
            levels.append((ABSTAINED, ABSTAINED))
        self.fields["verdict"].choices = levels  # type: ignore[attr-defined]
        named = [(deduction.name, deduction.name) for deduction in rubric.deductions]
        self.fields["deductions"].choices = named  # type: ignore[attr-defined]

    def given(self, seconds: float | None) -> Given:
        verdict = self.cleaned_data["verdict"]
        level = None if verdict == ABSTAINED else float(verdict)
        return Given(level, self.cleaned_data["deductions"], self.cleaned_data["note"], seconds)
