"""Forms of participants."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _
from django_countries import countries
from django_stubs_ext import StrOrPromise

from experiment.domain.export_columns import TRANSLATED
from experiment.models.trials import MOST_STORED_MS
from experiment.services.study_language import Unformatted
from experiment.services.taking_part import MEASURED, Answer, Written

PREFER_NOT = "prefer_not_to_say"
DECLINE = (PREFER_NOT, _("Prefer not to say"))
GENDERS = (
    ("female", _("Female")),
    ("male", _("Male")),
    ("gender_variant", _("Gender variant or non-conforming")),
    ("other", _("Another gender identity")),
    DECLINE,
)
POSITIONS = (
    ("predoctoral_student", _("Predoctoral student")),
    ("doctoral_student", _("Doctoral student")),
    ("postdoctoral_researcher", _("Postdoctoral researcher")),
    ("faculty", _("Faculty or academic staff")),
    ("research_scientist", _("Research scientist")),
    ("other", _("Other")),
    DECLINE,
)
CHOOSE = ("", _("Please choose"))
MAX_COMMENT = 5_000
# The ways in which a number can be none that is asked for: one sentence answers them all
NUMBER_ERRORS = [
    "invalid",
    "min_value",
    "max_value",
    "max_digits",
    "max_decimal_places",
    "max_whole_digits",
]
# A year in milliseconds: no honest reading is longer
MAX_MS = 365 * 24 * 3600 * 1000
_BRACED = re.compile(r"\{(\w+)\}")


def _filled(text: StrOrPromise, values: Mapping[str, object]) -> str:
    """A sentence with {names} in it replaced by values, as static/js/texts.js does; any other brace is text."""
    return Unformatted(_BRACED.sub(lambda name: str(values.get(name[1], name[0])), str(text)))


_fill_in = lazy(_filled, str)


def filled(text: StrOrPromise, **values: object) -> StrOrPromise:
    return _fill_in(text, values)


class NumberOrDeclined(forms.MultiValueField):
    """A number, or a tick at "prefer not to say"."""

    class Widget(forms.MultiWidget):
        template_name = "participant/number_or_declined.html"
        use_fieldset = True

        def __init__(self, **limits: Any) -> None:
            number = forms.NumberInput(
                attrs={**limits, "inputmode": "decimal", "autocomplete": "off"}
            )
            super().__init__({"number": number, "declined": forms.CheckboxInput()})

        def decompress(self, value: str | None) -> list[Any]:
            return [None, True] if value == PREFER_NOT else [value, False]

    def __init__(self, low: float, high: float, *, whole: bool, label: StrOrPromise) -> None:
        needed = _(
            "Please give a number from {low} to {high}, with at most one decimal place, or choose “prefer not to say”."
        )
        if whole:
            needed = _(
                "Please give a whole number from {low} to {high}, or choose “prefer not to say”."
            )
        self.needed = filled(needed, low=low, high=high)
        messages = dict.fromkeys(NUMBER_ERRORS, self.needed)
        number: forms.Field
        if whole:
            number = forms.IntegerField(
                min_value=int(low), max_value=int(high), required=False, error_messages=messages
            )
        else:
            number = forms.DecimalField(
                min_value=low,
                max_value=high,
                max_digits=5,
                decimal_places=1,
                required=False,
                error_messages=messages,
            )
        super().__init__(
            (number, forms.BooleanField(required=False)),
            widget=self.Widget(
                min=low, max=high, step=1 if whole else "any", **{"aria-label": label}
            ),
            require_all_fields=False,
            required=False,
            label=label,
        )

    def compress(self, data_list: list[Any]) -> str:
        number, declined = (*data_list, None, False)[:2] if data_list else (None, False)
        if declined:
            return PREFER_NOT
        if number is None:
            raise forms.ValidationError(self.needed, code="required")
        return f"{number.normalize():f}" if hasattr(number, "normalize") else str(number)


def required(message: StrOrPromise) -> dict[str, StrOrPromise]:
    return {"required": message}


class QuestionsForm(forms.Form):
    """Questions one below the other, of which the first with an error takes the focus."""

    optional: Collection[str] = ()  # names of those that are marked so

    def full_clean(self) -> None:
        super().full_clean()
        if self.focus_on and not self[self.focus_on].use_fieldset:
            focus = {"autofocus": True, "data-focus": True}
            self.fields[self.focus_on].widget.attrs.update(focus)

    @property
    def focus_on(self) -> str:
        """The first question with an error; its message stands beside it."""
        return next((name for name in self.fields if name in self.errors), "")


class DemographicsForm(QuestionsForm):
    """The questions that the study asks; each can be declined."""

    gender = forms.ChoiceField(
        choices=GENDERS,
        widget=forms.RadioSelect,
        label=_("Gender identity"),
        error_messages=required(_("Please choose one, or “prefer not to say”.")),
    )
    age = NumberOrDeclined(18, 110, whole=True, label=_("Age in years"))
    country = forms.ChoiceField(
        choices=lambda: [CHOOSE, DECLINE, *countries],
        label=_("Country where you live"),
        error_messages=required(_("Please choose a country, or “prefer not to say”.")),
    )
    position = forms.ChoiceField(
        choices=(CHOOSE, *POSITIONS),
        label=_("Current position"),
        error_messages=required(_("Please choose a position, or “prefer not to say”.")),
    )
    experience_years = NumberOrDeclined(
        0,
        90,
        whole=False,
        label=_("Years of experience in your research field, in a broad sense"),
    )

    def __init__(self, *args: Any, fields: list[str], field: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if field:
            label = _("Years of experience in %(field)s, in a broad sense") % {"field": field}
            self.fields["experience_years"] = NumberOrDeclined(0, 90, whole=False, label=label)
        for name in set(self.fields) - set(fields):
            del self.fields[name]

    @classmethod
    def answered(cls, answers: Mapping[str, str], field: str) -> list[tuple[str, str]]:
        """Each question that was answered, with the answer in words."""
        form = cls(fields=list(answers), field=field)
        told = []
        for name, question in form.fields.items():
            known = dict([DECLINE, *getattr(question, "choices", ())])
            told.append((str(question.label), str(known.get(answers[name], answers[name]))))
        return told


def _measure(high: int) -> forms.IntegerField:
    return forms.IntegerField(min_value=0, max_value=high, required=False)


class Milliseconds(forms.IntegerField):
    """A time that a page measured; one that stayed open for weeks is still answered."""

    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=MAX_MS, required=False)

    def clean(self, value: Any) -> int | None:
        found: int | None = super().clean(value)
        return None if found is None else min(found, MOST_STORED_MS)


class TrialForm(forms.Form):
    """One answer. Names are a contract with static/js and with simulated participants."""

    trial_token = forms.UUIDField()
    idempotency_key = forms.UUIDField()
    side = forms.ChoiceField(
        choices=(("A", "A"), ("B", "B")),
        error_messages=required(
            _("Please choose side A or side B by selecting any of its passages.")
        ),
    )
    confidence = forms.IntegerField(min_value=1, max_value=100, required=False)
    expertise = forms.IntegerField(min_value=1, max_value=100, required=False)
    recognised = forms.ChoiceField(
        choices=(("yes", "yes"), ("no", "no")),
        error_messages=required(
            _("Please say whether you already knew this article or its result.")
        ),
    )
    reminded = forms.BooleanField(required=False)
    rt_choice_ms = Milliseconds()
    rt_final_choice_ms = Milliseconds()
    rt_ms = Milliseconds()
    confidence_first_ms = Milliseconds()
    confidence_last_ms = Milliseconds()
    expertise_first_ms = Milliseconds()
    expertise_last_ms = Milliseconds()
    changes = _measure(1_000_000)
    aid_switches = _measure(1_000_000)
    blur_count = _measure(1_000_000)
    hidden_ms = Milliseconds()
    reloads = _measure(1_000_000)
    viewport_width = _measure(100_000)
    viewport_height = _measure(100_000)
    translated = forms.ChoiceField(choices=[(level, level) for level in TRANSLATED], required=False)

    MEASURES: tuple[str, ...] = MEASURED
    RATINGS: tuple[str, ...] = ("confidence", "expertise")
    QUESTIONS: tuple[str, ...] = ("side", *RATINGS, "recognised")
    RATING_MISSING = {
        "confidence": _("Please rate your confidence."),
        "expertise": _("Please rate your expertise."),
    }

    def __init__(self, *args: Any, ratings_required: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.RATINGS:
            self.fields[name].required = ratings_required
            self.fields[name].error_messages["required"] = self.RATING_MISSING[name]

    @property
    def is_malformed(self) -> bool:
        """True if something was sent that the page cannot send (as against something left out)."""
        return any(
            error.code != "required"
            for errors in self.errors.as_data().values()
            for error in errors
        )

    @property
    def shown_errors(self) -> dict[str, str]:
        """Field -> message; an error in what a person cannot see becomes one general message."""
        shown = {
            name: str(errors[0]) for name, errors in self.errors.items() if name in self.QUESTIONS
        }
        if set(self.errors) - set(shown):
            shown["general"] = str(
                _(
                    "A part of the form was missing or damaged. Please check your answer and select “Continue” again."
                )
            )
        return shown

    @property
    def needs_reminder(self) -> bool:
        values = self.cleaned_data
        return not values["reminded"] and any(values[name] is None for name in self.RATINGS)

    @property
    def focus_on(self) -> str:
        """The first question with an error, or else without a rating; empty where a person cannot see what is wrong."""
        wrong = [name for name in self.QUESTIONS if name in self.errors]
        unrated = [name for name in self.RATINGS if not self.data.get(name)]
        return next(iter(wrong or ([] if self.errors else unrated)), "")

    def answer(self) -> Answer:
        values = self.cleaned_data
        return Answer(
            side=values["side"],
            confidence=values["confidence"],
            expertise=values["expertise"],
            # A slider that was not moved has no value, so having one says that it was.
            confidence_moved=values["confidence"] is not None,
            expertise_moved=values["expertise"] is not None,
            recognised={"yes": True, "no": False}.get(values["recognised"]),
            **{name: values[name] for name in self.MEASURES},
        )

    @property
    def written(self) -> Written | None:
        """The written answer, of a form that asks for one."""
        return None


class RevisionForm(TrialForm):
    """An answer after advice: what does not depend on the advice was asked before it."""

    RATINGS = ("confidence",)
    QUESTIONS = ("side", *RATINGS)

    def __init__(self, *args: Any, ratings_required: bool, **kwargs: Any) -> None:
        super().__init__(*args, ratings_required=ratings_required, **kwargs)
        for name in ("expertise", "recognised"):
            self.fields[name].required = False


class Comment(forms.CharField):
    """Text in which a line break is one character, as it is for the browser that counts them."""

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class DebriefForm(forms.Form):
    cheated = forms.BooleanField(required=False)
    comments = Comment(
        max_length=MAX_COMMENT,
        required=False,
        error_messages={
            "max_length": _("Please use at most %(limit_value)d characters in your comment.")
        },
    )
