"""Forms of the administration: a study's texts, items and questions."""

from collections import Counter
from typing import Any

from django import forms
from django.contrib.admin.widgets import FilteredSelectMultiple
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from experiment.domain.exclusion import Rules
from experiment.models import Item, Study
from experiment.models.studies import DEMOGRAPHIC_FIELDS, RULE_COLUMNS
from experiment.services.study_setup import default_briefing, default_consent
from experiment.services.study_versions import Change, ReasonRequiredError
from lib.newlines import with_unix_newlines

DEMOGRAPHIC_LABELS = {
    "gender": _("gender identity"),
    "age": _("age"),
    "country": _("country"),
    "position": _("current position"),
    "experience_years": _("years of experience"),
}


class StudyForm(forms.ModelForm[Study]):
    demographic_fields = forms.MultipleChoiceField(
        choices=[(name, DEMOGRAPHIC_LABELS[name]) for name in DEMOGRAPHIC_FIELDS],
        widget=forms.CheckboxSelectMultiple,
        required=False,
        label=_("questions about the participant"),
        help_text=_("Each can be declined; with none chosen the page is left out."),
    )
    consent_text = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 14, "class": "vLargeTextField"}),
        max_length=50_000,
        help_text=_(
            "A change makes a new version for whoever enters from now on; participants keep what they agreed to."
        ),
    )
    pinned_items = forms.ModelMultipleChoiceField(
        Item.objects.none(),
        required=False,
        widget=FilteredSelectMultiple(_("test cases"), is_stacked=False),
        label=_("test cases"),
        help_text=_(
            "Accepted versions that participants are given. Exactly the version chosen here is shown."
        ),
    )

    reason = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"}),
        required=False,
        max_length=2_000,
        label=_("reason"),
        help_text=_(
            "Real participants have entered: a change of rules, consent text or test cases makes a new version, and "
            "needs a reason. Reports and exports name the version."
        ),
    )

    class Meta:
        model = Study
        fields = ()  # the administration names them

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        study = self.instance
        pinned = self.fields["pinned_items"]
        assert isinstance(pinned, forms.ModelMultipleChoiceField)
        pinned.queryset = choosable_items(study)
        if study.pk is None:
            self.initial.setdefault("demographic_fields", list(DEMOGRAPHIC_FIELDS))
            self.initial.setdefault("briefing", default_briefing())
            self.initial.setdefault("consent_text", default_consent())
            return
        consent = study.consent
        self.initial["consent_text"] = consent.text if consent else default_consent()
        self.initial["pinned_items"] = list(study.study_items.values_list("item_id", flat=True))

    def clean(self) -> None:
        super().clean()
        values = self.cleaned_data
        if self.errors or not self.instance.version or values["reason"].strip():
            return
        if Change.of(self.instance, self.rules, values["consent_text"], values["pinned_items"]):
            self.add_error("reason", ReasonRequiredError())

    @property
    def rules(self) -> Rules:
        columns = RULE_COLUMNS.items()
        return Rules(**{rule: self.cleaned_data[column] for rule, column in columns})

    def clean_briefing(self) -> str:
        return with_unix_newlines(self.cleaned_data["briefing"])

    def clean_consent_text(self) -> str:
        return with_unix_newlines(self.cleaned_data["consent_text"])

    def clean_demographic_fields(self) -> list[str]:
        chosen = self.cleaned_data["demographic_fields"]
        return [name for name in DEMOGRAPHIC_FIELDS if name in chosen]

    def clean_pinned_items(self) -> QuerySet[Item]:
        items: QuerySet[Item] = self.cleaned_data["pinned_items"]
        twice = sorted(key for key, n in Counter(item.key for item in items).items() if n > 1)
        if twice:
            raise ValidationError(
                _("Choose one version only of: %(keys)s."), params={"keys": ", ".join(twice)}
            )
        return items


def choosable_items(study: Study) -> QuerySet[Item]:
    """Accepted items, and what the study holds already even if it was retired since."""
    wanted = Q(status=Item.Status.ACCEPTED)
    if study.pk is not None:
        wanted |= Q(pk__in=study.study_items.values("item_id"))
    return Item.objects.filter(wanted).only("key", "version", "status")
