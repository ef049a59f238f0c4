"""Names in forms and in the database: a validator for fields of forms, and a column that no bad name gets into.

Rows of older sites stay as they are: the column looks at what is added, and forms at what is changed.
"""

from dataclasses import asdict
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext_lazy as _

from lib import names

SENTENCES = {
    "long": _("“%(name)s” has %(n)d characters, but at most %(longest)d are allowed."),
    "unprintable": _(
        "“%(name)s” contains %(point)s at character %(at)d. A name must be one printable line."
    ),
    "blank": _("“%(name)s” starts or ends with a space."),
}
SHOWN = 80  # characters of a name that is none


def sentence(value: str, fault: names.Fault) -> str:
    """Why the value is no name, for a reader."""
    return SENTENCES[fault.kind] % {
        "name": names.printed(value[:SHOWN], keep=""),
        **asdict(fault),
    }


def is_name(value: str) -> None:
    """Raises ValidationError unless the value is one line that can be printed."""
    if fault := names.fault(value):
        raise ValidationError(sentence(value, fault), code="name")


class NameField(models.CharField[str, str]):
    """A CharField for one line that can be printed; every way of adding a row is held to it."""

    default_validators = [is_name]

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = super().pre_save(model_instance, add)
        if add and isinstance(value, str) and (fault := names.fault(value, self.max_length)):
            place = f"{model_instance._meta.verbose_name}, {self.verbose_name}"
            raise ValidationError(f"{place}: {sentence(value, fault)}", code="name")
        return value

    def deconstruct(self) -> Any:
        """To migrations it is a CharField: the column is one."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs
