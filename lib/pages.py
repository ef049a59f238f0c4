"""Functions that the lab's pages share: to show one, to say what was refused, and to send a file; fields of their forms."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django_stubs_ext import StrOrPromise

from lib.http import UNPROCESSABLE
from lib.newlines import with_unix_newlines
from lib.opened import OpenedForm
from lib.table_files import CONTENT_TYPES, Column, csv_lines, in_blocks

ANY = ("", "any")  # of what a list can be narrowed by
# What an answer says besides: somebody else was quicker, or what was sent is kept no longer
CONFLICT, GONE = 409, 410


def show(
    request: HttpRequest, template: str, /, status: int | None = None, **context: Any
) -> HttpResponse:
    """A page about what its address names (`request.about`); with 422 where a form that was sent is refused, and 409 where somebody else was quicker."""
    sent = [part for part in context.values() if isinstance(part, forms.BaseForm)]
    refused = request.method == "POST" and any(form.errors for form in sent)
    if any(isinstance(form, OpenedForm) and form.conflicts for form in sent):
        status = CONFLICT
    elif status is None and refused:
        status = UNPROCESSABLE
    return render(request, template, getattr(request, "about", {}) | context, status=status)


def say_saved(request: HttpRequest, form: OpenedForm, *more: str) -> None:
    """With what others have changed meanwhile, which the form left as it is."""
    said = ["Saved.", *more]
    if form.kept:
        kept = ", ".join(form.kept)
        said.append(
            f"Others have changed the following in the meantime, and their changes were kept: {kept}."
        )
    messages.success(request, " ".join(said))


class refused(AbstractContextManager[None]):
    """Lets a form say what a service refuses, beside `field` or on top; of a request the next page says it."""

    def __init__(
        self,
        place: forms.BaseForm | HttpRequest,
        *kinds: type[Exception],
        field: str | None = None,
    ) -> None:
        self.place, self.kinds, self.field = place, kinds or (ValidationError,), field

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, self.kinds):
            return False
        why = error if isinstance(error, ValidationError) else ValidationError(str(error))
        if isinstance(self.place, HttpRequest):
            messages.error(self.place, " ".join(why.messages))
        else:
            if hasattr(why, "error_dict"):
                # Messages about columns that the form does not ask for go to its top
                found: dict[str, list[ValidationError]] = {}
                for name, errors in why.error_dict.items():
                    place = name if name in self.place.fields else NON_FIELD_ERRORS
                    found.setdefault(place, []).extend(errors)
                why = ValidationError(found)
            self.place.add_error(self.field, why)
        return True


def attached(content: Any, name: str, content_type: str) -> HttpResponse:
    """A file to download."""
    headers = {"Content-Disposition": content_disposition_header(True, name)}
    return HttpResponse(content, content_type=content_type, headers=headers)


def sent_as_csv(
    name: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]
) -> StreamingHttpResponse:
    """A table, sent as it is read."""
    lines, content_type = csv_lines(columns, in_blocks(rows)), CONTENT_TYPES["csv"]
    headers = {"Content-Disposition": content_disposition_header(True, f"{name}.csv")}
    return StreamingHttpResponse(lines, content_type=content_type, headers=headers)


def offer(form: forms.BaseForm, name: str, choices: Iterable[Any]) -> None:
    """Sets the choices, which are known only when the page is shown."""
    form.fields[name].choices = choices  # type: ignore[attr-defined]


class UnixTextField(forms.CharField):
    """A text of several lines."""

    def to_python(self, value: Any) -> str:
        return with_unix_newlines(super().to_python(value) or "")


class LimitedFileField(forms.FileField):
    """A file of so many bytes at most; `too_large` says what else can be done."""

    def __init__(self, most_bytes: int, too_large: StrOrPromise, **options: Any) -> None:
        super().__init__(**options)
        self.most_bytes, self.too_large = most_bytes, too_large

    def clean(self, data: Any, initial: Any = None) -> Any:
        file: UploadedFile[bytes] | None = super().clean(data, initial)
        if file and (file.size or 0) > self.most_bytes:
            raise ValidationError(self.too_large)
        return file
