"""Written answers of participants to questions."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.participant.forms import Comment, Milliseconds, TrialForm
from experiment.services.taking_part import Answer, Written

MAX_ANSWER = 4_000
# What only an abstract has
LEFT_OUT = (
    "side",
    "expertise",
    "recognised",
    "rt_choice_ms",
    "rt_final_choice_ms",
    "expertise_first_ms",
    "expertise_last_ms",
    "aid_switches",
)


class QuestionForm(TrialForm):
    """An answer in one's own words, or "I do not know"."""

    answer_text = Comment(
        max_length=MAX_ANSWER,
        required=False,
        error_messages={
            "max_length": _("Please use at most %(limit_value)d characters in your answer.")
        },
    )
    abstained = forms.BooleanField(required=False)
    answer_first_ms = Milliseconds()
    answer_last_ms = Milliseconds()

    MEASURES = tuple(name for name in TrialForm.MEASURES if name not in LEFT_OUT)
    RATINGS = ("confidence",)
    QUESTIONS = ("answer_text", "abstained", *RATINGS)

    def __init__(self, *args: Any, ratings_required: bool, **kwargs: Any) -> None:
        super().__init__(*args, ratings_required=ratings_required, **kwargs)
        for name in LEFT_OUT:
            del self.fields[name]
        self.does_not_know = bool(self["abstained"].data)
        if self.does_not_know:  # there is no answer that one could be confident of
            self.fields["confidence"].required = False

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        text, abstained = values.get("answer_text"), values.get("abstained")
        if text and abstained:
            both = _(
                "You wrote an answer and also chose “I do not know”. Please keep only one of the two."
            )
            self.add_error("answer_text", forms.ValidationError(both, code="required"))
        elif not (text or abstained or "answer_text" in self.errors):
            missing = _("Please write an answer, or choose “I do not know”.")
            self.add_error("answer_text", forms.ValidationError(missing, code="required"))
        return values

    @property
    def needs_reminder(self) -> bool:
        return not self.does_not_know and super().needs_reminder

    @property
    def focus_on(self) -> str:
        return "" if self.does_not_know and not self.errors else super().focus_on

    def answer(self) -> Answer:
        values = self.cleaned_data
        measures: dict[str, Any] = {name: values[name] for name in self.MEASURES}
        confidence = values["confidence"]
        if self.does_not_know:  # a slider that was moved before says nothing any more
            confidence = None
            measures |= {"confidence_first_ms": None, "confidence_last_ms": None}
        return Answer(
            side="", confidence=confidence, confidence_moved=confidence is not None, **measures
        )

    @property
    def written(self) -> Written:
        values = self.cleaned_data
        return Written(
            values["answer_text"],
            values["abstained"],
            values["answer_first_ms"],
            values["answer_last_ms"],
        )
