from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext_lazy as _

from experiment.imports.read.items import Defaults
from experiment.imports.store.bulk.difference import Options
from experiment.models import Item
from lib.name_fields import is_name

MAX_BYTES = 30 * 1024 * 1024  # below UPLOAD_MAX_SIZE, which counts the whole request
LEADS_ALONE = ("new_subfields", "accepted_before")


class OptionsForm(forms.Form):
    """How a file is read; subfields and acceptance without a review are for leads to decide."""

    source = forms.ChoiceField(
        label=_("Who altered them"),
        choices=Item.Source.choices,
        required=False,
        help_text=_("Where the file does not say: it has no column “source”."),
    )
    generator = forms.CharField(
        label=_("By name"),
        max_length=80,
        required=False,
        validators=[is_name],
        help_text=_("A person or a model, such as GPT-4, where the file does not say."),
    )
    new_subfields = forms.BooleanField(
        label=_("Make subfields that the field does not have"), required=False
    )
    accepted_before = forms.CharField(
        label=_("Accepted elsewhere: where, and by whom"),
        max_length=1_000,
        required=False,
        help_text=_(
            "Empty: they become drafts, for people of this field to review. Otherwise they are accepted at once, and this is "
            "kept with each."
        ),
    )

    def __init__(self, *args: Any, is_lead: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_lead:
            for name in LEADS_ALONE:
                del self.fields[name]

    @property
    def options(self) -> Options:
        """Of a valid form."""
        sent = self.cleaned_data
        return Options(
            Defaults(sent["source"] or Item.Source.HUMAN.value, sent["generator"]),
            new_subfields=sent.get("new_subfields", False),
            accepted_before=sent.get("accepted_before", ""),
        )


class UploadForm(OptionsForm):
    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        help_text=_("CSV or JSONL in UTF-8, 30 MB at most: some 10,000 test cases."),
    )
    field_order = ("file",)

    def clean_file(self) -> "UploadedFile[bytes]":
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(
                _("The file is larger than 30 MB: split it, or have it imported with import_items.")
            )
        return file
