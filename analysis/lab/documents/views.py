"""A study's pre-registration and its data-management sheet, as they follow from its set-up now."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.http import content_disposition_header, urlencode
from django.views.decorators.http import require_safe

from analysis.lab.documents.forms import AssumptionsForm
from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Study

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
    from analysis.lab.documents.planned import context  # with it comes scipy

    now = timezone.now()
    about = context(study, assumptions.assumed, now)
    text = render_to_string(f"lab/documents/{name}.md", about).strip() + "\n"
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
