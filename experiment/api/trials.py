"""Judged trials: the same query as the export page's and the command's, and the same bytes."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any, BinaryIO

from django.http import FileResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiment.api.access import StudyTable
from experiment.domain import trial_query
from experiment.domain.export_columns import (
    ADVICE_COLUMNS,
    ARM_COLUMNS,
    QUESTION_COLUMNS,
    TRIAL_COLUMNS,
    Column,
)
from experiment.domain.release import Form
from experiment.domain.roles import Right
from experiment.domain.trial_query import ALLOWED, SEVERAL, QueryError
from experiment.models import TrialExport
from experiment.services import audit
from experiment.services.export import jobs
from experiment.services.export.files import Manifest, export_trials, record_export
from experiment.services.export.trials import After, completed, first_rows
from lib.api import files, pages, parameters
from lib.api.problems import Problem
from lib.api.views import TableQuery
from lib.jobs import workers

HELP = {
    "set": "all judged trials with the reasons for exclusion, or only trials of the analysis.",
    "kind": "Kind of participants. Usually, the study has only one kind.",
    "rules": "Version of the study's exclusion rules; usually the newest.",
    "from": "The first day (UTC) on which answers were received.",
    "to": "The last day.",
    "status": "Stage of the participant.",
    "channel": "Channel through which participants came.",
    "item": "Keys of test cases.",
    "participant": "Pseudonyms.",
    "reason": "A reason that excludes the trial.",
}
ASK_AGAIN_S = 5
FIELDS: dict[str, Any] = {
    "text": serializers.CharField,
    "integer": serializers.IntegerField,
    "number": serializers.FloatField,
    "boolean": serializers.BooleanField,
    "date": serializers.DateField,
    "time": serializers.DateTimeField,
}


def _row_field(column: Column, **options: bool) -> Any:
    return FIELDS[column.type](help_text=column.meaning, allow_null=bool(column.null), **options)


def _parameter(name: str) -> serializers.Field[Any, Any, Any, Any]:
    about: dict[str, Any] = {"required": False, "help_text": HELP.get(name, "")}
    if name in SEVERAL:
        allowed = ALLOWED.get(name)
        one = serializers.ChoiceField(choices=allowed) if allowed else serializers.CharField()
        return serializers.ListField(child=one, **about)
    if name in ALLOWED:
        return serializers.ChoiceField(choices=ALLOWED[name], **about)
    if name == "rules":
        return parameters.whole_number(1, help_text=HELP[name])
    return serializers.DateField(**about)


class TrialSerializer(serializers.Serializer[Any]):
    """The columns of the codebook; those of questions, arms and advice are there where the study has any.

    So are those of survey questions, `survey_NAME`, whose names are the study's own.
    """

    def get_fields(self) -> dict[str, Any]:
        return {column.name: _row_field(column) for column in TRIAL_COLUMNS} | {
            column.name: _row_field(column, required=False)
            for column in (*QUESTION_COLUMNS, *ARM_COLUMNS, *ADVICE_COLUMNS)
        }


class TrialsQuery(TableQuery):
    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {name: _parameter(name) for name in trial_query.NAMES}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        given = {name: attrs.pop(name) for name in trial_query.NAMES if name in attrs}
        try:
            attrs["trials"] = trial_query.parse(
                {name: [str(v) for v in _values(value)] for name, value in given.items()}
            )
        except QueryError as error:
            raise _named(error) from error
        return attrs


def _values(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _named(error: QueryError) -> serializers.ValidationError:
    faults: dict[str, list[str]] = {}
    for problem in error.problems:
        faults.setdefault(problem.name, []).append(str(problem))
    return serializers.ValidationError(faults)


class Trials(StudyTable):
    """Judged trials by participant and position, one row each. A file is what `export_trials` writes, byte for byte."""

    access = Right.EXPORT
    table = "trials"
    query_class = TrialsQuery
    result_class = TrialSerializer
    problems = (409, 503)

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            asked = completed(self.study, self.query["trials"])
        except QueryError as error:
            raise _named(error) from error
        if self.query["format"] == "json":
            return self._page(asked)
        form = Form(self.query["format"])
        if jobs.takes_long(self.study, asked):
            response, manifest = self._stored(asked, form)
        else:
            response, manifest = self._written(asked, form)
        record_export(self.study, manifest, form, self.token.user)
        digest = b64encode(bytes.fromhex(manifest.sha256)).decode()
        response["Repr-Digest"] = f"sha-256=:{digest}:"  # RFC 9530
        return response

    def _written(self, asked: trial_query.TrialQuery, form: Form) -> tuple[FileResponse, Manifest]:
        made: list[Manifest] = []

        def write(file: BinaryIO) -> None:
            made.append(export_trials(self.study, asked, file, form))

        return files.send(form.format, self.file_name(), write), made[0]

    def _stored(self, asked: trial_query.TrialQuery, form: Form) -> tuple[FileResponse, Manifest]:
        """A worker's file. Until it is there the answer is no success, which a program would take for the file."""
        job = jobs.ensure_recent(self.study, asked, form)
        if job.status == TrialExport.Status.FINISHED:
            try:
                file = jobs.open_file(job)
            except FileNotFoundError as gone:  # cleared away at this moment
                raise Problem(503, "being_made", "Ask again.", wait=ASK_AGAIN_S) from gone
            return files.attached(form.format, self.file_name(), file), Manifest.from_dict(
                job.manifest
            )
        if not job.is_open:
            raise Problem(409, "not_made", job.error or "The export was stopped.")
        if not workers.is_taken(TrialExport):
            raise Problem(
                503,
                "no_worker",
                "This file is too large to make at once, and no worker is running.",
            )
        detail = f"A worker is making this large file: {job.done} of {job.total or 'its'} rows are written."
        raise Problem(503, "being_made", detail, wait=ASK_AGAIN_S, done=job.done, total=job.total)

    def _page(self, asked: trial_query.TrialQuery) -> Response:
        limit = self.query.get("limit", pages.USUAL)
        bound_to = self.bound(f"{self.request.path}?{asked.encode()}")
        began, values = pages.read_cursor(self.query.get("cursor"), bound_to, 2)
        after = After(*values) if values else None
        if after:
            if not self.study.participants.filter(public_id=after.participant).exists():
                gone = "The previous page ended with a participant whose data have been deleted. Start again from the first page."
                raise serializers.ValidationError({"cursor": gone})
        else:  # once for all its pages
            audit.record(
                audit.Action.EXPORTED,
                by=self.token.user,
                study=self.study,
                query=asked.encode(),
                format="json",
            )
        rows = first_rows(self.study, asked, limit + 1, after)
        last = rows[limit - 1] if len(rows) > limit else None
        found = last and pages.cursor_after(
            bound_to, began, [last["participant"], last["position"]]
        )
        results = [_as_json(row) for row in rows[:limit]]
        return Response({"results": results, "next": self.next_page(found)})


def _as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """As a line of JSON Lines has it."""
    return {
        name: timezone.localtime(value).isoformat() if isinstance(value, datetime) else value
        for name, value in row.items()
    }
