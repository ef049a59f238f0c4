"""Categories in a form: a line for each dimension."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from experiment.domain.questions.columns import (
    Categories,
    CategoriesError,
    checked,
    join,
    split,
)


def as_lines(categories: Categories) -> str:
    """
    >>> as_lines({"bio": ["Tissue", "Drug Meta"]})
    'bio: Tissue; Drug Meta'
    """
    return "\n".join(f"{name}: {join(found)}" for name, found in categories.items() if found)


class CategoriesField(forms.CharField):
    """Gives {dimension: [category, ...]}."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Categories"),
            required=False,
            max_length=5_000,
            widget=forms.Textarea(attrs={"rows": 3}),
            help_text=_("A line for each dimension, such as “topic: Metals; Acids”."),
        )

    def prepare_value(self, value: Any) -> Any:
        return as_lines(value) if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        found: dict[str, list[str]] = {}
        for line in (super().to_python(value) or "").splitlines():
            if not line.strip():
                continue
            dimension, colon, names = line.partition(":")
            name = dimension.strip().casefold()
            if not colon or not name or name in found:
                raise ValidationError(
                    _(
                        "“%(line)s” is no line like “topic: Metals; Acids”, or its dimension is there twice."
                    ),
                    params={"line": line.strip()[:80]},
                )
            found[name] = split(names)
        try:
            return checked(found)
        except CategoriesError as error:
            raise ValidationError(str(error)) from error

    def validate(self, value: Any) -> None:
        """Nothing is needed."""

    def run_validators(self, value: Any) -> None:
        """The length is limited where the text is."""
