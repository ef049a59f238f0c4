"""Exports: made in the request, or where workers are configured by one of them while the researcher waits."""

import shlex
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from typing import IO, Any

from django import forms
from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain import release, trial_query
from experiment.domain.export_columns import EXPORT_REASONS
from experiment.domain.release import CSV, DATA_SET, USUAL_K, Form
from experiment.domain.roles import Right
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Participant, Study, TrialExport
from experiment.services import counts
from experiment.services.counts import default_kind
from experiment.services.export import jobs
from experiment.services.export.files import Manifest, export_trials, record_export
from experiment.services.export.release import (
    dropped,
    export_identities,
    first_released,
    nothing_left,
    released_columns,
)
from experiment.services.export.trials import (
    channels,
    completed,
    count,
    first_rows,
    is_quickly_counted,
    subfields,
)
from experiment.services.export.values import asks_questions, columns_of
from experiment.services.reapplying import note_beside_numbers, refuse_mixed_release
from lib.csv import cell
from lib.pages import offer, refused, show
from lib.table_files import CONTENT_TYPES, ZIP_TYPE

Choices = list[tuple[str, str]]
# Called so on the pages of results, too, which show the first of them until something else is chosen
OF_ANALYSIS, ALL_JUDGED = "trials of the analysis", "all judged trials"
SETS: Choices = [("analysis", OF_ANALYSIS), ("all", ALL_JUDGED)]
FORMATS: Choices = [
    ("csv", "CSV"),
    ("jsonl", "JSON Lines"),
    ("parquet", "Parquet"),
    ("xlsx", "Spreadsheet (.xlsx)"),
    ("psych-ds", "Psych-DS (zip: trials, participants and test cases)"),
    ("data-set", "Psych-DS with language models and teams"),
]
RECOGNISED: Choices = [("true", "yes"), ("false", "no"), ("unknown", "not asked")]
USUAL = ("set", "kind", "rules")
ADDRESSED = {"since": "from", "until": "to"}  # fields that an address calls otherwise
# One value a line, since there can be many
LISTS = ("item", "participant")


class Several(forms.MultipleChoiceField):
    widget = forms.CheckboxSelectMultiple

    def validate(self, value: Any) -> None:
        """The query says what is wrong."""


class One(forms.ChoiceField):
    def validate(self, value: Any) -> None:
        """As above."""


def tick(label: Any) -> forms.BooleanField:
    """Sent as addresses and commands have it; browsers send “on” otherwise."""
    return forms.BooleanField(label=label, widget=forms.CheckboxInput(attrs={"value": "true"}))


class ExportForm(forms.Form):
    set = One(
        label="Trials",
        choices=SETS,
        help_text="All judged trials include excluded ones, with the reasons for exclusion.",
    )
    kind = One(label="Participants")
    rules = One(label="Excluded by")
    since = forms.CharField(
        label="Answered from (UTC)", widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.CharField(
        label="Answered until (UTC)", widget=forms.DateInput(attrs={"type": "date"})
    )
    status = Several(label="Last page reached", choices=Participant.Stage.choices[:-1])
    channel = Several(label="Recruited by")
    source = Several(label="Test cases that were", choices=Item.Source.choices)
    subfield = Several(label="Subfields")
    reason = Several(label="Excluded because", choices=[(r.code, r.label) for r in EXPORT_REASONS])
    recognised = Several(label="Recognised", choices=RECOGNISED)
    item = forms.CharField(
        label="Test cases, one name a line", widget=forms.Textarea(attrs={"rows": 3})
    )
    participant = forms.CharField(
        label="Participants, one pseudonym a line", widget=forms.Textarea(attrs={"rows": 3})
    )
    format = One(label="Format", choices=FORMATS)
    bom = tick("CSV for Excel (with a byte order mark)")
    zip = tick("Zip with manifest and codebook")
    release = tick("For the public: group what participants said about themselves")
    k = forms.CharField(
        label="Smallest group of participants with the same answers about themselves",
        widget=forms.NumberInput(attrs={"min": 2, "max": 9999, "placeholder": USUAL_K}),
    )
    words = tick(
        "Include participants' written answers in the public file. I have read them, and they identify nobody."
    )

    def __init__(self, study: Study, asked: QueryDict) -> None:
        self.study, self.query, self.form = study, TrialQuery(), CSV
        values = {name: asked.getlist(name) for name in asked}
        shown = _shown(values)
        super().__init__(
            shown | {"kind": shown.get("kind") or default_kind(study)}, label_suffix=""
        )
        for name, choices in self._of_study().items():
            offer(self, name, choices)
        for field in self.fields.values():
            field.required = False
        self.full_clean()
        for name in ("channel", "subfield"):
            if not self.fields[name].choices and name not in values:  # type: ignore[attr-defined]
                del self.fields[name]
        if not asks_questions(study) and "words" not in values:
            del self.fields["words"]
        try:
            self.form = release.parse(values)
            # The query's part, with the lines of the long lists apart
            of_query = {name: texts for name, texts in values.items() if name not in release.NAMES}
            for name in LISTS & of_query.keys():
                of_query[name] = [line for text in of_query[name] for line in text.splitlines()]
            self.query = completed(study, trial_query.parse(of_query))
            refuse_mixed_release(study, self.query, self.form)
        except QueryError as error:
            for problem in error.problems:
                name = next((f for f, n in ADDRESSED.items() if n == problem.name), problem.name)
                self.add_error(name if name in self.fields else None, str(problem))

    def add_prefix(self, field_name: str) -> str:
        return ADDRESSED.get(field_name, field_name)

    @property
    def groups(self) -> dict[str, list[forms.BoundField]]:
        """`usual` filters, `more` of them, and the `file`."""
        groups: dict[str, list[forms.BoundField]] = {"usual": [], "more": [], "file": []}
        for field in self:
            is_more = "more" if field.name not in USUAL else "usual"
            groups["file" if field.name in release.NAMES else is_more].append(field)
        return groups

    def _of_study(self) -> dict[str, Choices]:
        people = counts.kind_counts(self.study)
        kinds: Choices = [
            (k.value, f"{k.label} ({people.get(k.value, 0)})") for k in Participant.Kind
        ]
        versions = self.study.versions.order_by("-number").values_list("number", "created_at")
        of_rules: Choices = [("", "the newest rules")]
        of_rules += [(str(n), f"rules of version {n}, {at:%Y-%m-%d}") for n, at in versions]
        return {
            "kind": kinds,
            "rules": of_rules,
            "channel": [(name, name) for name in channels(self.study)],
            "subfield": [(name, name) for name in subfields(self.study)],
        }

    @property
    def narrows(self) -> bool:
        """True if more is asked than set, kind and rules: the other filters are shown open then."""
        return any(name not in USUAL for name, _text in self.query.pairs)

    @property
    def address(self) -> str:
        """The address of the file, after the question mark."""
        return f"{self.query.encode()}&{self.form.encode()}"

    @property
    def data_set_address(self) -> str:
        """The address of the whole data set of these trials."""
        form = replace(self.form, format=DATA_SET, bom=False, zip=False)
        return f"{self.query.encode()}&{form.encode()}"


def _shown(values: dict[str, list[str]]) -> dict[str, Any]:
    """The query, as the fields show it."""
    shown: dict[str, Any] = {"set": "all", "format": "csv"}
    for name, texts in values.items():
        if name in LISTS:
            shown[name] = "\n".join(texts)
        elif name in trial_query.SEVERAL:
            shown[name] = texts
        else:
            shown[name] = texts[-1] if texts else ""
    return shown


FIRST_ROWS, MOST_REASON = 10, 1_000


@require_safe
@for_study(Right.EXPORT)
def export_page(request: HttpRequest, study: Study) -> HttpResponse:
    """The page of exports: filters, the number of rows, and the first of them."""
    asked = request.GET.copy()
    if "reason" not in asked:  # a trial that is excluded is not of the analysis
        asked.setdefault("set", SETS[0][0])
    form = ExportForm(study, asked)
    if form.errors:
        return show(request, "lab/export/page.html", 400, form=form, note="")
    query = form.query
    columns = columns_of(study)
    names = [c.name for c in (released_columns(columns, form.form) if form.form.k else columns)]
    n_rows = count(study, query) if is_quickly_counted(study, query) else None
    said: dict[str, Any] | None = None
    if not form.form.k:
        rows = first_rows(study, query, FIRST_ROWS)
    elif (
        n_rows is not None and n_rows <= jobs.LARGE
    ):  # how coarse answers are depends on everybody's
        rows, said = first_released(study, query, form.form, FIRST_ROWS)
    else:
        rows = []
    return show(
        request,
        "lab/export/page.html",
        form=form,
        n_rows=n_rows,
        names=names,
        rows=[[cell(row[name]) for name in names] for row in rows],
        has_more=n_rows is None or n_rows > len(rows),
        dropped=dropped(columns, form.form),
        nothing_left=nothing_left(said),
        is_large=not rows and n_rows != 0,
        note=note_beside_numbers(study, query.kind, query.rules),
        command=_command(study, form.query, form.form),
    )


@require_safe
@for_study(Right.EXPORT)
def download(request: HttpRequest, study: Study) -> HttpResponseBase:
    wanted = ExportForm(study, request.GET)
    if wanted.errors:
        return redirect(f"{reverse('lab:export', args=[study.slug])}?{request.GET.urlencode()}")
    query, form = wanted.query, wanted.form
    # By a worker: always where all work is theirs, else what takes longer than a page may
    if (
        settings.JOB_EXECUTOR == "celery"
        or form.format == DATA_SET
        or jobs.takes_long(study, query)
    ):
        job = jobs.ensure_exported(study, query, form)
        is_made = job.status == TrialExport.Status.FINISHED
        return redirect("lab:export_file" if is_made else "lab:export_job", study.slug, job.pk)
    with ExitStack() as stack:
        # Written whole before the first byte is sent: a failure is an error page and never half a file.
        new = stack.enter_context(tempfile.TemporaryFile())
        manifest = export_trials(study, query, new, form)
        record_export(study, manifest, form, by=request.user)
        stack.pop_all()  # from here on the response closes it
    return _file(new, manifest, form)


@require_POST
@for_study(Right.IDENTIFY)
def identities(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Recruitment ids and comments, for a reason that stands in the audit trail."""
    reason = request.POST.get("reason", "")[:MOST_REASON]
    with refused(request), ExitStack() as stack:
        new = stack.enter_context(tempfile.TemporaryFile())
        export_identities(study, new, by=user_of(request), reason=reason)
        stack.pop_all()
        name = f"{study.slug}-identities-{timezone.now():%Y%m%dT%H%MZ}.csv"
        return FileResponse(
            new, as_attachment=True, filename=name, content_type=CONTENT_TYPES["csv"]
        )
    return redirect("lab:export", study.slug)


@require_safe
@for_study(Right.EXPORT)
def waiting(
    request: HttpRequest, study: Study, pk: int, template: str = "lab/export/job.html"
) -> HttpResponse:
    export = study.exports.filter(pk=pk).first()
    if export is None:  # replaced, deleted after a withdrawal, or of another study
        return show(request, template, 404, export=None)
    said = (export.manifest or {}).get("released")
    return show(request, template, export=export, nothing_left=nothing_left(said))


@require_safe
@for_study(Right.EXPORT)
def file(request: HttpRequest, study: Study, pk: int) -> FileResponse:
    job = get_object_or_404(study.exports, pk=pk, status=TrialExport.Status.FINISHED)
    try:
        stored = jobs.open_file(job)
    except FileNotFoundError as gone:  # cleared away since the page was shown
        raise Http404 from gone
    manifest = Manifest.from_dict(job.manifest)
    record_export(study, manifest, job.form, by=request.user)
    return _file(stored, manifest, job.form)


@require_POST
@for_study(Right.EXPORT)
def retry(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    jobs.retry(get_object_or_404(study.exports, pk=pk))
    return redirect("lab:export_job", study.slug, pk)


def _command(study: Study, query: TrialQuery, form: Form) -> str:
    """The command that writes the same file in a terminal."""
    parts = ["manage.py", "export_trials", study.slug, "--format", form.format]
    if form.format == DATA_SET:
        parts = ["manage.py", "export_dataset", study.slug]
    for name, texts in query.as_dict().items():
        parts += [f"--{name}", *([texts] if isinstance(texts, str) else texts)]
    parts += [f"--{name}" for name in ("bom", "zip") if getattr(form, name)]
    parts += ["--release", "--k", str(form.k)] if form.k else []
    parts += ["--words"] if form.words else []
    return shlex.join([*parts, "--output", f"trials{form.suffix}"])


def _file(content: IO[bytes], manifest: Manifest, form: Form) -> FileResponse:
    return FileResponse(
        content,
        as_attachment=True,
        filename=f"{manifest.stem}{form.suffix}",
        content_type=ZIP_TYPE if form.is_zip else CONTENT_TYPES[form.format],
    )
