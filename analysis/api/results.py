"""The stored report and trials of teams, as report.json and teams.json have them. Asking computes nothing; starting does."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import QueryDict
from django.urls import reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.data.filters import (
    METHODS,
    PARTICIPANTS,
    SOURCE_CHOICES,
    SOURCES,
    TEXTS,
    TRIALS,
    ReportOptions,
)
from analysis.lab.results import READ
from analysis.lab.team_form import COMBINED_BY
from analysis.services.compute import Asked, Waiting
from analysis.store import StoredResult
from analysis.teams.options import METHODS as COMBINATIONS
from analysis.teams.options import OUT_OF
from experiment.api.access import SignedInView, StudyView
from experiment.domain.roles import Right
from experiment.services import audit
from lib.api.parameters import Strict
from lib.api.problems import Problem

ASK_AGAIN_S = "5"
STATES = ("finished", "under_way", "stopped", "not_computed")


class SharedQuery(Strict):
    kind = serializers.ChoiceField(
        choices=PARTICIPANTS,
        required=False,
        help_text="Kind of participants. Usually, the study has only one kind.",
    )
    texts = serializers.ChoiceField(choices=TEXTS, required=False)
    trials = serializers.ChoiceField(choices=TRIALS, required=False)


class ReportQuery(SharedQuery):
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=SOURCE_CHOICES,
        required=False,
        help_text="Who altered the test cases: human or machine.",
    )
    method = serializers.ChoiceField(
        choices=METHODS,
        required=False,
        help_text="How models took the test, by perplexity or by choice; usually both.",
    )
    models = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="Names of the models to include."
    )
    subfields = serializers.ListField(child=serializers.CharField(), required=False)


class TeamsQuery(SharedQuery):
    source = serializers.ChoiceField(choices=SOURCES, required=False)  # type: ignore[assignment]
    members = serializers.ListField(
        child=serializers.CharField(),
        help_text="`human`, human-2 and so on for people; models by their names.",
    )
    method = serializers.ChoiceField(choices=COMBINATIONS, required=False, source=COMBINED_BY)
    out_of = serializers.ChoiceField(
        choices=OUT_OF,
        required=False,
        help_text="What is held out: test cases (`item`), or test cases and participants (`participant`).",
    )


class WorkSerializer(serializers.Serializer[Any]):
    state = serializers.ChoiceField(choices=STATES)
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="0 if it is not known yet.")
    url = serializers.URLField(help_text="Address of the result.")


class ResultView(StudyView):
    """`kind` is report or teams: the addresses' names."""

    kind: ClassVar[str]

    def asked(self) -> Asked:
        """Options that are asked for, as the pages understand the same parameters.

        Raises:
            ValidationError: the study has no such model, subfield or member.
        """
        page = "results" if self.kind == "report" else "results_teams"
        sent = QueryDict(mutable=True)
        for name, value in self.query.items():
            sent.setlist(name, value if isinstance(value, list) else [value])
        chosen = READ[page](self.study, sent)
        if chosen.problems:
            raise serializers.ValidationError([str(problem) for problem in chosen.problems])
        return chosen.asked

    def told(self, state: StoredResult | Waiting, status: int) -> Response:
        """How far it is; while it is under way, when to ask again."""
        url = self.address(self.kind)
        if isinstance(state, StoredResult):
            return _work("finished", url, status)
        if state.problem or not state.is_asked:
            return _work("stopped" if state.problem else "not_computed", url, status)
        return _work("under_way", url, status, state.done, state.total)

    def refusal(self, state: Waiting) -> Problem:
        """Nobody is at it: what would start it."""
        detail = state.problem or "This result has not been computed yet."
        code = "stopped" if state.problem else "not_computed"
        start = self.address(f"{self.kind}_start")
        return Problem(409, code, f"{detail} A POST to `start` starts it.", start=start)

    def note(self, action: audit.Action) -> None:
        audit.record(action, by=self.token.user, study=self.study, work=self.kind)

    def address(self, name: str) -> str:
        query = self.request._request.GET.urlencode()
        path = reverse(f"api:{name}", args=[self.study.slug])
        return self.request.build_absolute_uri(f"{path}?{query}".rstrip("?"))


def _work(state: str, url: str, status: int, done: int = 0, total: int = 0) -> Response:
    work = WorkSerializer({"state": state, "done": done, "total": total, "url": url})
    headers = {"Retry-After": ASK_AGAIN_S} if state == "under_way" else {}
    return Response(work.data, status, headers=headers)


class StoredView(ResultView):
    access = Right.SEE_DATA
    more_results: ClassVar[Mapping[int, Any]] = {202: WorkSerializer}
    problems = (409,)

    def get(self, request: Request, slug: str) -> Response:
        asked = self.asked()
        state = asked.state()
        if isinstance(state, Waiting):
            if state.problem or not state.is_asked:
                raise self.refusal(state)
            return self.told(state, 202)
        if not isinstance(asked.options, ReportOptions):
            return Response(state.values)
        from analysis.report.report import StoredReport  # heavy, and only where there is one

        return Response(StoredReport(state, asked.options.source).values)


class StartView(ResultView):
    access = Right.WORK
    result_class = WorkSerializer
    status = 202
    problems = (409,)

    def post(self, request: Request, slug: str) -> Response:
        asked = self.asked()
        asked.retry()
        asked.ensure_computed()
        state = asked.state()
        self.note(audit.Action.WORK_STARTED)
        if isinstance(state, Waiting) and state.problem:
            raise self.refusal(state)
        return self.told(state, 202)


class StopView(ResultView):
    access = Right.WORK
    result_class = WorkSerializer

    def post(self, request: Request, slug: str) -> Response:
        asked = self.asked()
        asked.stop()
        self.note(audit.Action.WORK_STOPPED)
        return self.told(asked.state(), 200)


class Report(StoredView):
    """Everything about a study's results, people and models side by side: report.json."""

    kind = "report"
    query_class = ReportQuery


class StartReport(StartView):
    """Compute the report with these parameters, unless it is already stored."""

    kind = "report"
    query_class = ReportQuery


class StopReport(StopView):
    """Stop computing it."""

    kind = "report"
    query_class = ReportQuery


class ReportSchema(SignedInView):
    """The JSON Schema of report.json: every key with its type."""

    def get(self, request: Request) -> Response:
        from analysis.report.report import json_schema  # heavy, and only where it is asked for

        return Response(json_schema())


class Teams(StoredView):
    """The results of a team of people and models: teams.json."""

    kind = "teams"
    query_class = TeamsQuery


class StartTeams(StartView):
    """Evaluate a team, unless its result is already stored."""

    kind = "teams"
    query_class = TeamsQuery


class StopTeams(StopView):
    """Stop evaluating it."""

    kind = "teams"
    query_class = TeamsQuery
