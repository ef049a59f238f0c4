"""What one can ask of a field's list of test cases, and under which name one keeps it."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from analysis.services.items.wanted import Order, Wanted
from analysis.stats.item_differences import Mark
from experiment.domain.roles import Right
from experiment.models import Item, ResearchField, SavedView, Study
from experiment.services.rights import studies_with

ANY = ("", _("any"))
MARKS = (
    (Mark.ALL_RIGHT.value, _("everyone right")),
    (Mark.NONE_RIGHT.value, _("no one right")),
    (Mark.RECOGNISED.value, _("recognised often")),
    (Mark.BEFORE_CUTOFF.value, _("published before a model's cut-off")),
)
ORDERS = (
    (Order.KEY.value, _("key")),
    (Order.NEWEST.value, _("newest first")),
    (Order.PUBLISHED.value, _("published last, first")),
    (Order.FEWEST.value, _("fewest exposures first")),
    (Order.MOST.value, _("most exposures first")),
    (Order.WORST.value, _("lowest accuracy first")),
    (Order.BEST.value, _("highest accuracy first")),
    (Order.HARDEST.value, _("hardest for models first")),
)


def _choice(label: Any, choices: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=[ANY, *choices], required=False)


class ListForm(forms.Form):
    text = forms.CharField(
        label=_("Key, DOI or words of the text"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    status = _choice(_("State"), Item.Status.choices)
    kind = _choice(_("Kind"), Item.Kind.choices)
    source = _choice(_("Source"), Item.Source.choices)
    subfield = _choice(_("Subfield"), ())
    study = _choice(_("Used in study"), ())
    mark = _choice(_("Mark"), MARKS)
    order = forms.ChoiceField(label=_("Order"), choices=ORDERS, required=False)
    is_waiting = forms.BooleanField(label=_("Waiting for my review"), required=False)
    all_versions = forms.BooleanField(label=_("All versions"), required=False)

    def __init__(self, *args: Any, user: User, research_field: ResearchField, **kw: Any) -> None:
        super().__init__(*args, **kw)
        own = Item.objects.filter(field=research_field.name).order_by()
        used = own.exclude(subfield="").values_list("subfield", flat=True).distinct()
        subfields = {*research_field.subfields.values_list("name", flat=True), *used}
        drawing = Study.objects.filter(items__in=own).values("pk")
        studies = studies_with(user, Right.SEE_ITEMS).filter(pk__in=drawing).order_by("title")
        self._offer("subfield", [(name, name) for name in sorted(subfields)])
        self._offer("study", list(studies.values_list("slug", "title")))

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = [ANY, *choices]  # type: ignore[attr-defined]

    @property
    def asked(self) -> dict[str, str]:
        """What narrows or orders the list, as in the page's address; only what the form knows."""
        values = {name: value for name, value in self.cleaned_data.items() if value}
        if values.get("order") == Order.KEY:
            del values["order"]
        return {name: "on" if value is True else str(value) for name, value in values.items()}

    @property
    def query(self) -> str:
        return urlencode(self.asked)

    @property
    def wanted(self) -> Wanted:
        values: dict[str, Any] = dict(self.cleaned_data)
        return Wanted(**(values | {"order": Order(values["order"] or Order.KEY)}))


class ViewForm(forms.ModelForm[SavedView]):
    class Meta:
        model = SavedView
        fields = ("name",)
        labels = {"name": _("Keep these filters as")}
