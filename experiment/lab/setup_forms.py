"""The forms of a study's settings, one for each section of its set-up."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from experiment.domain.cells import cells
from experiment.domain.exclusion import Rules
from experiment.domain.pay import Pay
from experiment.models import Study
from experiment.models.studies import DEMOGRAPHIC_FIELDS, PAY_COLUMNS, RULE_COLUMNS
from experiment.services import audit
from experiment.services.file_places import YEARS
from experiment.services.readiness import works_by_stratum
from experiment.services.survey import survey_questions
from lib.opened import Edit, OpenedForm
from lib.pages import UnixTextField

DEMOGRAPHIC_LABELS = {
    "gender": "gender identity",
    "age": "age",
    "country": "country",
    "position": "current position",
    "experience_years": "years of experience",
}


class OfStudy(OpenedForm):
    """A form about a study; `row` names the row of it that the form is about."""

    apart = frozenset({"reason"})
    study: Study
    row: Mapping[str, str] = {}

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        return audit.last_changes(names, self.study, **self.row)


class SettingsForm(OfStudy, forms.ModelForm[Study]):
    """Columns of a study; a form about what is frozen asks for a reason once the study has real participants."""

    # Whether it changes what versions of the study hold
    is_frozen_part = False

    class Meta:
        model = Study
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = self.instance
        if self.is_frozen_part and self.instance.version:
            self.fields["reason"] = reason_field()

    @property
    def columns(self) -> dict[str, Any]:
        """The new values of columns that change freely."""
        return {
            name: self.cleaned_data[name] for name in self._meta.fields or () if name in self.fields
        }

    @property
    def revised(self) -> Mapping[str, Any]:
        """Further arguments of `change_study`."""
        return {}

    @property
    def reason(self) -> str:
        return str(self.cleaned_data.get("reason", ""))


def reason_field() -> forms.CharField:
    return forms.CharField(
        widget=forms.Textarea(attrs={"rows": 2}),
        required=False,
        max_length=2_000,
        label="Reason",
        help_text="Real participants have entered, so a change here creates a new version of the study and needs a reason.",
    )


class GeneralForm(SettingsForm):
    class Meta:
        model = Study
        fields = (
            "title",
            "field",
            "language",
            "abstract_language",
            "contact",
            "answers_read_by",
            "ethics_number",
            "ethics_body",
            "ethics_contact",
        )
        help_texts = {
            "title": "Shown to participants on every page.",
            "language": "Its code, such as en, de, pt-BR or ar. Texts without a translation stay English.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance.question_items:
            del self.fields["answers_read_by"]


class TextsForm(SettingsForm):
    is_frozen_part = True

    briefing = UnixTextField(
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 12}),
        label="About this study",
        help_text="The first text that participants read. The numbers of abstracts, questions and minutes are added automatically.",
    )
    consent = UnixTextField(
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 12}),
        label="Informed consent",
        help_text=(
            "A change creates a new version for participants who enter from now on. Earlier participants keep the version "
            "that they agreed to."
        ),
    )
    debriefing = UnixTextField(
        required=False,
        max_length=50_000,
        widget=forms.Textarea(attrs={"rows": 6}),
        label="Why this study exists",
        help_text="Shown with the results. Leave this empty for the built-in text.",
    )
    demographic_fields = forms.MultipleChoiceField(
        choices=[(name, DEMOGRAPHIC_LABELS[name]) for name in DEMOGRAPHIC_FIELDS],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        label="Questions about the participant",
        help_text="Participants can decline each one. If you choose none, the page is not shown.",
    )
    field_order = ("briefing", "consent", "debriefing", "demographic_fields")

    class Meta:
        model = Study
        fields = ("briefing", "debriefing", "demographic_fields")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        consent = self.instance.consent
        self.initial["consent"] = "" if consent is None else consent.text

    def clean_demographic_fields(self) -> list[str]:
        chosen = self.cleaned_data["demographic_fields"]
        return [name for name in DEMOGRAPHIC_FIELDS if name in chosen]

    @property
    def revised(self) -> Mapping[str, Any]:
        return {"consent": self.cleaned_data["consent"]}


COUNTS = ("human_items", "machine_items", "question_items", "catch_items")


class TrialsForm(SettingsForm):
    MOST = 500

    class Meta:
        model = Study
        fields = (
            *COUNTS,
            "ratings_required",
            "reading_aid",
            "min_page_s",
            "debrief_catch_trials",
            "policy",
        )
        labels = {
            "human_items": "Human-created test cases",
            "machine_items": "Machine-created test cases",
            "question_items": "Questions",
            "catch_items": "Catch trials",
            "ratings_required": "Both ratings must be given",
            "reading_aid": "Participants can read one version on its own",
            "min_page_s": "Least time for reading a trial, in seconds",
            "debrief_catch_trials": "The debrief says which catch trials were right",
            "policy": "Assignment of test cases",
        }
        help_texts = {
            "human_items": "People wrote the changes in these.",
            "machine_items": "A language model wrote the changes in these.",
            "ratings_required": "Otherwise a rating may stay empty after one reminder.",
            "reading_aid": "By key or button; each use is counted.",
            "min_page_s": (
                "An answer that arrives sooner, by this site's clock, stays on the page, and the participant is asked to "
                "read on. “I do not know” and the page that shows advice after an answer are never too soon. 0 means no "
                "such time."
            ),
            "debrief_catch_trials": "A catch trial that is revealed no longer works for people who hear about it.",
        }
        widgets = {"policy": forms.RadioSelect}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        works = works_by_stratum(self.instance)
        for name in COUNTS:
            n = works[name.removesuffix("_items")].total()
            from_articles = "" if name == "question_items" else " from different articles"
            self.fields[name] = forms.IntegerField(
                required=name != "question_items",
                min_value=0,
                max_value=self.MOST,
                label=self.fields[name].label,
                help_text=f"{n}{from_articles} are available.",
            )

    def clean_question_items(self) -> int:
        return self.cleaned_data["question_items"] or 0


def seconds(value: int) -> str:
    """Milliseconds as seconds, exact.

    >>> seconds(5_000), seconds(1_234)
    ('5', '1.234')
    """
    return f"{value / 1000:.3f}".rstrip("0").rstrip(".")


class SecondsField(forms.DecimalField):
    """Seconds on the page, milliseconds in the study."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=86_400, decimal_places=3, **kwargs)
        self.widget.attrs["step"] = "any"

    def prepare_value(self, value: Any) -> Any:
        return seconds(value) if isinstance(value, int) else value

    def clean(self, value: Any) -> Any:
        return int(super().clean(value) * 1000)


class RulesForm(SettingsForm):
    is_frozen_part = True

    exclude_missed_catch = forms.BooleanField(
        required=False, label="Exclude participants who missed a catch trial"
    )
    exclude_cheating = forms.BooleanField(
        required=False, label="Exclude participants who said that they had looked something up"
    )
    exclude_attention = forms.BooleanField(
        required=False,
        label="Exclude participants who missed an attention check",
        help_text="Otherwise such participants are only flagged.",
    )
    exclude_untouched = forms.ChoiceField(
        choices=Study.Untouched.choices, widget=forms.RadioSelect, label="Sliders never moved"
    )
    exclude_recognised = forms.BooleanField(
        required=False, label="Exclude trials whose article the participant already knew"
    )
    min_rt_ms = SecondsField(
        label="Exclude trials answered in fewer than this many seconds",
        help_text="0 means no limit.",
    )
    min_rt_clock = forms.ChoiceField(
        choices=Study.Clock.choices, widget=forms.RadioSelect, label="Measured until"
    )
    question_min_rt_ms = SecondsField(
        label="Exclude answers to questions given in fewer than this many seconds",
        help_text="0 means no limit. “I do not know” is never too fast.",
    )
    fast_page_ms = SecondsField(
        label="Flag trials answered in fewer than this many seconds",
        help_text="A flag does not exclude a trial; it marks it for a person to check.",
    )
    hidden_flag_ms = SecondsField(
        label="Flag trials whose page was hidden for more than this many seconds",
        help_text="0 means no flags.",
    )

    class Meta:
        model = Study
        fields = tuple(RULE_COLUMNS.values())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance.question_items:
            del self.fields["question_min_rt_ms"]
        has_check = any(question.rules.is_check for question in survey_questions(self.instance))
        if not has_check and not self.instance.exclude_attention:
            del self.fields["exclude_attention"]

    @property
    def columns(self) -> dict[str, Any]:
        return {}

    @property
    def rules(self) -> Rules:
        given = {rule: self.cleaned_data[c] for rule, c in RULE_COLUMNS.items() if c in self.fields}
        return replace(self.instance.exclusion_rules, **given)

    @property
    def revised(self) -> Mapping[str, Any]:
        return {"rules": self.rules}


class CountsField(forms.CharField):
    """A number for each name, one per line on the page; a dict in the study."""

    widget = forms.Textarea

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return "\n".join(f"{name}: {n}" for name, n in value.items())
        return value

    def clean(self, value: Any) -> Any:
        found: dict[str, int] = {}
        for line in super().clean(value).splitlines():
            name, _colon, n = (part.strip() for part in line.partition(":"))
            if not line.strip():
                continue
            if not n.isdecimal() or len(n) > 7:
                raise ValidationError(f"“{line}” is not a name, a colon and a number.")
            if name in found:
                raise ValidationError(f"“{name}” appears twice.")
            found[name] = int(n)
        return found


class TargetForm(SettingsForm):
    cell_targets = CountsField(
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        label="Targets of groups",
    )

    class Meta:
        model = Study
        fields = (
            "opens_at",
            "closes_at",
            "target_valid",
            "cell_field",
            "cell_targets",
            "resume_hours",
            "live_minutes",
            "external_id_days",
        )
        labels = {
            "target_valid": "Target number of valid finishers",
            "resume_hours": "Hours within which a participant may return",
            "live_minutes": "Minutes of inactivity after which a participant counts as having left",
            "external_id_days": "Days for which recruitment IDs are kept",
        }
        help_texts = {
            "target_valid": (
                "No new participants are admitted after that. Leave this empty for no limit. In a study with arms, each arm"
                " has its share of the target, and participants under way count by their chance of finishing."
            ),
            "live_minutes": "The test case is then available to others again.",
            "external_id_days": "Counted from consent; the consent page shows the date.",
        }
        widgets = {
            name: forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
            for name in ("opens_at", "closes_at")
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field, targets = self.instance.cell_field, self.fields["cell_targets"]
        targets.help_text = (
            f"One group per line, such as “{cells(field or 'gender')[0]}: 50”. A group is closed to newcomers once that many of "
            "its valid participants have finished. Arms share a group's target as they share the study's."
        )
        if field:
            targets.help_text += f" Groups: {', '.join(cells(field))}."
        if self.instance.version:
            self.fields["cell_field"].disabled = True

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        field = given.get("cell_field")
        if field and field not in self.instance.demographic_fields:
            self.add_error(
                "cell_field", "Participants are not asked this. Add the question under “Texts”."
            )
        for name in ("opens_at", "closes_at"):
            if (day := given.get(name)) is not None and day.year not in YEARS:
                self.add_error(name, "Give a year from 2000 to 2099.")
        return given


class PayForm(SettingsForm):
    is_frozen_part = True

    class Meta:
        model = Study
        fields = tuple(PAY_COLUMNS.values())
        labels = {
            "pay_base": "Payment for finishing",
            "pay_screened_out": "Part for screened-out participants",
            "pay_bonus": "Bonus",
            "pay_bonus_amount": "Amount of the bonus",
            "pay_credits": "Credits for participants from SONA",
        }
        help_texts = {
            "pay_bonus_amount": "In total, or for each right test trial. Catch trials and questions do not count.",
        }
        widgets = {"pay_bonus": forms.RadioSelect}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pay_currency"].widget.attrs |= {"autocapitalize": "characters", "size": 4}

    @property
    def columns(self) -> dict[str, Any]:
        return {}

    @property
    def revised(self) -> Mapping[str, Any]:
        return {"pay": Pay(**{part: self.cleaned_data[c] for part, c in PAY_COLUMNS.items()})}


# Sections whose values participants see: what is typed is shown before it is saved
PREVIEWED: dict[str, type[SettingsForm]] = {
    "general": GeneralForm,
    "texts": TextsForm,
    "trials": TrialsForm,
    "pay": PayForm,
}
