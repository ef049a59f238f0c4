"""Parameters and fields from an allow-list: what is not on it is refused by its name, never ignored."""

from collections.abc import Mapping
from typing import IO, Any

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from lib import strict_json
from lib.api.problems import MOST_NAMED

MOST = 2**31 - 1  # what the database's whole numbers hold


class Strict(serializers.Serializer[Any]):
    """The parameters of an address, or the fields of a body."""

    def get_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = super().get_fields()
        for field in fields.values():
            one = getattr(field, "child", field)
            if isinstance(one, serializers.ChoiceField):
                known = ", ".join(str(choice) for choice in one.choices)
                known = known.replace("{", "{{").replace("}", "}}")
                sentence = f"The value is not a valid choice. Choose from {known}."
                one.error_messages["invalid_choice"] = sentence
        return fields

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := [n for n in data if n not in self.fields]):
            known = ", ".join(sorted(self.fields)) or "none"
            raise serializers.ValidationError(
                {
                    str(name): f"This parameter does not exist. Choose from {known}."
                    for name in unknown[:MOST_NAMED]
                }
            )
        return super().to_internal_value(data)


class Flag(serializers.ChoiceField):
    """true or false, as addresses spell it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=("true", "false"), **options)

    def to_internal_value(self, data: Any) -> bool:  # type: ignore[override]
        return bool(super().to_internal_value(data) == "true")


def whole_number(least: int = 0, **options: Any) -> serializers.IntegerField:
    return serializers.IntegerField(required=False, min_value=least, max_value=MOST, **options)


def read(kind: type[Strict], query: QueryDict) -> dict[str, Any]:
    """The parameters of an address.

    Raises:
        ValidationError: one is unknown, given twice, or none of what it may be.
    """
    fields = kind().fields
    data: dict[str, Any] = {}
    for name, values in query.lists():
        if isinstance(fields.get(name), serializers.ListField | serializers.MultipleChoiceField):
            data[name] = values
        elif len(values) > 1:
            raise serializers.ValidationError({name: "It is given more than once."})
        else:
            data[name] = values[0]
    found = kind(data=data)
    found.is_valid(raise_exception=True)
    return dict(found.validated_data)


class Json(JSONParser):
    """Bodies in JSON. One that is nested without end is refused like one that is broken."""

    def parse(self, stream: IO[bytes], *_: Any, **__: Any) -> Any:
        try:
            return strict_json.loads(stream.read().decode())
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from error
