"""The whole data set of a study, from the page Export."""

import tempfile
from contextlib import ExitStack
from dataclasses import replace

from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_safe

from experiment.domain.export_form import PSYCH_DS
from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.lab.export.forms import ExportForm
from experiment.models import Study
from experiment.services.export.files import export_trials, record_export
from lib.table_files import ZIP_TYPE


@require_safe
@for_study(Right.EXPORT)
def data_set(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Trials with all that joins them, by the filters of the page Export."""
    wanted = ExportForm(study, request.GET)
    if wanted.errors:
        return redirect(f"{reverse('lab:export', args=[study.slug])}?{request.GET.urlencode()}")
    from analysis.data_set.tables import more_tables  # pages do without what it loads

    form = replace(wanted.form, format=PSYCH_DS, bom=False, zip=False)
    more = more_tables(study, wanted.query)
    with ExitStack() as stack:
        # Whole before the first byte is sent
        new = stack.enter_context(tempfile.TemporaryFile())
        manifest = export_trials(study, wanted.query, new, form, more=more)
        record_export(study, manifest, by=request.user)
        stack.pop_all()
    name = f"{manifest.stem}-data-set{form.suffix}"
    return FileResponse(new, as_attachment=True, filename=name, content_type=ZIP_TYPE)
