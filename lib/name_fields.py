"""Names in forms and in the database: a validator for fields of forms, and a column that no bad name gets into.

Rows of older sites stay as they are: the column looks at what is added, and forms at what is changed.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from lib import names
from lib.locks import hold, hold_at_once

SENTENCES = {
    "long": "“%(name)s” has %(n)d characters, but at most %(longest)d are allowed.",
    "unprintable": (
        "“%(name)s” contains %(point)s at character %(at)d. A name must be one printable line."
    ),
    "double": (
        "“%(name)s” looks like the name of another %(kind)s of this site. Choose a name that can be told apart."
    ),
    "blank": "“%(name)s” starts or ends with a space.",
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


def refuse_double(value: str, others: Iterable[str], kind: Any) -> None:
    """Raises ValidationError where people would take the value for another of these names of this kind."""
    if names.has_double(value, others):
        told = {"name": names.printed(value[:SHOWN], keep=""), "kind": kind}
        raise ValidationError(SENTENCES["double"] % told, code="double")


def hold_names(kind: type[models.Model], name: str, *same: object) -> None:
    """Let one transaction after the other past here that gives such rows a name like this one.

    same: of rows that agree in these, any name: no other lab's rows do, and one file may bring thousands of names.
    """
    if same:
        hold("names", kind._meta.label, *same, "")
    else:
        hold_all_names(kind, [name])


def hold_all_names(kind: type[models.Model], wanted: Iterable[str]) -> None:
    """As `hold_names`, of several names at once: in one order, so that two who name the same do not wait for each other."""
    for look in sorted({look for name in wanted for look in names.looks(name)}):
        hold("names", kind._meta.label, look)


def is_free(kind: type[models.Model], slug: str) -> bool:
    """True if no row has this short name, nor will have it at the end of another transaction that asked first."""
    rows = kind._default_manager.filter(slug=slug)
    if rows.exists() or not hold_at_once("slug", kind._meta.label, slug):
        return False
    return not rows.exists()


class NameField(models.CharField[str, str]):
    """A CharField for one line that can be printed; every way of adding a row is held to it.

    `unlike`: no new name may look like one that another row has, of those that agree in these columns; () of all.
    `held`: the names that it may not look like, in place of those of rows.
    """

    default_validators = [is_name]

    def __init__(
        self,
        *args: Any,
        unlike: tuple[str, ...] | None = None,
        held: Callable[[], Iterable[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        self.unlike, self.held = unlike, held
        super().__init__(*args, **kwargs)

    def validate(self, value: str | None, model_instance: models.Model | None) -> None:
        super().validate(value, model_instance)
        if value and model_instance is not None:
            self._refuse_double(value, model_instance)

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = super().pre_save(model_instance, add)
        if add and isinstance(value, str):
            if fault := names.fault(value, self.max_length):
                place = f"{model_instance._meta.verbose_name}, {self.verbose_name}"
                raise ValidationError(f"{place}: {sentence(value, fault)}", code="name")
            self._refuse_double(value, model_instance)
        return value

    def _refuse_double(self, value: str, row: models.Model) -> None:
        """Nor is a row held to it that has kept its name: it may be older than this rule."""
        if self.unlike is None:
            return
        same = {attribute: getattr(row, attribute) for attribute in self.unlike}
        rows = type(row)._default_manager.filter(**same).order_by()
        if row.pk is not None and rows.filter(pk=row.pk, **{self.name: value}).exists():
            return
        hold_names(type(row), value, *same.values())
        others = rows.exclude(pk=row.pk).values_list(self.name, flat=True)
        refuse_double(value, self.held() if self.held else others, row._meta.verbose_name)

    def deconstruct(self) -> Any:
        """To migrations it is a CharField: the column is one."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs
