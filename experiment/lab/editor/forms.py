"""The form of a test case, and what it makes of what was typed."""

from copy import copy
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.domain.item_checks.characters import MAX_CHARACTERS
from experiment.lab.setup.forms import UnixTextField
from experiment.models import Item, ItemScratch, ResearchField
from lib.newlines import with_unix_newlines

DOI_PREFIXES = ("https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "doi:")


class ItemForm(forms.ModelForm[Item]):
    markup = UnixTextField(
        max_length=MAX_CHARACTERS,
        label=_("Abstract"),
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "true"}),
    )

    class Meta:
        model = Item
        fields = (
            "markup",
            "kind",
            "source",
            "generator",
            "subfield",
            "doi",
            "publication_date",
            "note",
        )
        labels = {"source": _("Altered by"), "generator": _("Who or what"), "note": _("Note")}
        help_texts = {"generator": _("The writer, or the model and its version.")}
        widgets = {
            "publication_date": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            "note": forms.Textarea(attrs={"rows": 3}),
        }

    def __init__(self, *args: Any, research_field: ResearchField, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = list(research_field.subfields.values_list("name", flat=True))
        if (held := self.instance.subfield) and held not in names:
            names.append(held)
        choices = [("", _("none")), *((name, name) for name in names)]
        label = Item._meta.get_field("subfield").verbose_name
        kinds = [(value, label) for value, label in Item.Kind.choices if value != "question"]
        self.fields["kind"] = forms.ChoiceField(
            choices=kinds, label=Item._meta.get_field("kind").verbose_name
        )
        self.fields["subfield"] = forms.ChoiceField(choices=choices, required=False, label=label)
        # A browser cuts pasted texts at maxlength without a word: the server says what is too long
        self.fields["markup"].widget.attrs.pop("maxlength", None)

    def clean_doi(self) -> str:
        doi: str = self.cleaned_data["doi"]
        for prefix in DOI_PREFIXES:
            if doi.lower().startswith(prefix):
                return doi[len(prefix) :].strip()
        return doi

    def clean_note(self) -> str:
        return str(UnixTextField(required=False).to_python(self.cleaned_data["note"]))

    @property
    def columns(self) -> dict[str, Any]:
        """Of a valid form."""
        return {name: self.cleaned_data[name] for name in self._meta.fields or ()}

    @property
    def typed(self) -> dict[str, str]:
        """As it came, right or wrong."""
        return {name: str(self.data.get(name, "")) for name in self.fields}

    @property
    def why(self) -> str:
        """What is wrong, besides the text that the preview speaks of."""
        wrong = {name: messages for name, messages in self.errors.items() if name != "markup"}
        return " ".join(str(message) for messages in wrong.values() for message in messages)

    @property
    def as_typed(self) -> Item:
        """The test case with what is right of the form, and the text as it is."""
        if self.is_bound:
            self.is_valid()
            self.instance.markup = with_unix_newlines(self.typed["markup"])
        return self.instance


def form_of(scratch: ItemScratch, *, as_stored: bool = False) -> ItemForm:
    """What the writer finds: what was typed last and could not be saved, or what the draft holds, `as_stored`."""
    item = copy(scratch.item) or Item(field=scratch.field.name)
    if scratch.values and not as_stored:
        return ItemForm(scratch.values, instance=item, research_field=scratch.field)
    return ItemForm(instance=item, research_field=scratch.field)
