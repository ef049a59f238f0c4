"""The form of a page with survey questions."""

from collections.abc import Mapping
from decimal import Decimal
from functools import singledispatch
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.domain import survey
from experiment.models import SurveyQuestion
from experiment.participant.forms import NUMBER_ERRORS, Comment, QuestionsForm, filled

PLACES_OF_NUMBER = 3  # after the point


class Scale(forms.RadioSelect):
    """Points in a row, of which the first and the last have labels."""

    template_name = "participant/scale.html"

    def __init__(self, low: str, high: str) -> None:
        super().__init__()
        self.ends = (low, high)

    def get_context(self, *args: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(*args)
        context["widget"]["ends"] = self.ends
        return context


class Number(forms.DecimalField):
    def clean(self, value: Any) -> str:
        found: Decimal | None = super().clean(value)
        return "" if found is None else survey.plain_number(found)


class SurveyForm(QuestionsForm):
    """The questions that one participant is asked on one page. A field goes by the question's column."""

    def __init__(self, *args: Any, questions: list[SurveyQuestion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._columns = {question.column: question.name for question in questions}
        self.optional = {question.column for question in questions if not question.required}
        self.fields = {
            question.column: field_of(
                question.rules, question, {"label": question.text, "required": question.required}
            )
            for question in questions
        }

    @property
    def answers(self) -> dict[str, str]:
        """By the question's name; an empty text where none was given."""
        return {name: self.cleaned_data[column] for column, name in self._columns.items()}


@singledispatch
def field_of(
    rules: survey.Kind, question: SurveyQuestion, shared: Mapping[str, Any]
) -> forms.Field:
    """The field of a question of this kind: a choice among its levels. `shared` holds what all fields take."""
    widget = forms.RadioSelect()
    if isinstance(rules, survey.Scale):
        widget = Scale(question.parts["low"], question.parts["high"])
    chosen = _("Please choose one of the answers.")
    return forms.ChoiceField(
        choices=[(level, level) for level in question.levels],
        widget=widget,
        error_messages={"required": chosen, "invalid_choice": chosen},
        **shared,
    )


@field_of.register
def _words(rules: survey.Words, question: SurveyQuestion, shared: Mapping[str, Any]) -> forms.Field:
    too_long = _("Please use at most %(limit_value)d characters.")
    messages = {"required": _("Please write an answer."), "max_length": too_long}
    area = forms.Textarea(attrs={"rows": 3})
    return Comment(max_length=survey.LONGEST_TEXT, widget=area, error_messages=messages, **shared)


@field_of.register
def _number(
    rules: survey.Number, question: SurveyQuestion, shared: Mapping[str, Any]
) -> forms.Field:
    low, high = question.parts["lowest"], question.parts["highest"]
    needed = filled(_("Please give a number from {low} to {high}."), low=low, high=high)
    too_fine = filled(
        _("Please give a number from {low} to {high}, with at most three decimal places."),
        low=low,
        high=high,
    )
    return Number(
        min_value=low,
        max_value=high,
        max_digits=20,
        decimal_places=PLACES_OF_NUMBER,
        widget=forms.NumberInput(
            attrs={"step": "any", "inputmode": "decimal", "autocomplete": "off"}
        ),
        help_text=filled(_("A number from {low} to {high}."), low=low, high=high),
        error_messages=dict.fromkeys(["required", *NUMBER_ERRORS], needed)
        | {"max_decimal_places": too_fine},
        **shared,
    )
