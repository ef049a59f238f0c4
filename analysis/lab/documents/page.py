"""A study's pre-registration and its data-management sheet, as they follow from its set-up now."""

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.http import content_disposition_header, urlencode
from django.views.decorators.http import require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Study


class AssumptionsForm(forms.Form):
    accuracy_percent = forms.FloatField(
        label="typical accuracy (%)", min_value=50.5, max_value=99, initial=63
    )
    sd_participants = forms.FloatField(
        label="SD between participants (log-odds)", min_value=0, max_value=3, initial=0.5
    )
    sd_items = forms.FloatField(
        label="SD between test cases (log-odds)", min_value=0, max_value=3, initial=0.5
    )

    @classmethod
    def initial_values(cls) -> dict[str, float]:
        return {name: field.initial for name, field in cls.base_fields.items()}


NAMES = ("preregistration", "data-management")
FORMS = {"md": "text/markdown; charset=utf-8", "pdf": "application/pdf"}


@require_safe
@for_study(Right.SEE_DATA)
def documents(request: HttpRequest, study: Study) -> HttpResponse:
    form = _form(request)
    query = f"?{urlencode(form.cleaned_data)}" if form.is_valid() else ""
    context = {"study": study, "form": form, "names": NAMES, "query": query}
    return render(request, "lab/documents/page.html", context)


@require_safe
@for_study(Right.SEE_DATA)
def document(request: HttpRequest, study: Study, name: str, form: str) -> HttpResponse:
    assumptions = _form(request)
    if name not in NAMES or form not in FORMS or not assumptions.is_valid():
        raise Http404
    # With them comes scipy
    from analysis.lab.documents.data_management import data_management
    from analysis.lab.documents.planned import Assumed, planned
    from analysis.lab.documents.preregistration import preregistration

    now = timezone.now()
    write = preregistration if name == "preregistration" else data_management
    text = write(planned(study, Assumed(**assumptions.cleaned_data), now))
    content: bytes = text.encode()
    if form == "pdf":
        from lib.pdf import as_pdf

        content = as_pdf(text, f"{study.title}: {name}")
    response = HttpResponse(content, content_type=FORMS[form])
    filename = f"{study.slug}-{name}-{now:%Y-%m-%d}.{form}"
    response["Content-Disposition"] = content_disposition_header(True, filename)
    return response


def _form(request: HttpRequest) -> AssumptionsForm:
    return AssumptionsForm({**AssumptionsForm.initial_values(), **request.GET.dict()})
