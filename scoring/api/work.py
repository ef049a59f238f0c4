"""Runs are started and stopped."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiment.api.access import StudyView
from experiment.domain.roles import Right
from experiment.models import Item, Study
from lib.api import parameters
from lib.api.parameters import Strict
from lib.name_fields import is_name
from scoring.api.machines import RunSerializer
from scoring.backends.registry import SCORERS
from scoring.domain.backend import ScoringError
from scoring.lab.forms import checked_model_args
from scoring.models import ScoringRun
from scoring.services import runs as scoring_runs
from scoring.services.summary import counted


class RunRequest(Strict):
    """The options that `manage.py score` takes on its command line."""

    model = serializers.ChoiceField(choices=[kind.name for kind in SCORERS])
    model_args = serializers.DictField(
        child=serializers.CharField(max_length=500, allow_blank=True), default=dict
    )
    conditions = serializers.ListField(
        child=serializers.ChoiceField(choices=ScoringRun.Condition.values),
        default=[ScoringRun.Condition.FULL.value],
        min_length=1,
        max_length=len(ScoringRun.Condition.values),
    )
    prompt = serializers.ChoiceField(
        choices=ScoringRun.Prompt.values, default=ScoringRun.Prompt.PAPER.value
    )
    custom_prompt = serializers.CharField(required=False, max_length=5000)
    name = serializers.CharField(
        required=False,
        max_length=200,
        validators=[is_name],
        help_text="Name of the model in tables; usually the name that loads it.",
    )
    source = serializers.ChoiceField(choices=Item.Source.values, required=False)  # type: ignore[assignment]
    limit = parameters.whole_number(1, help_text="Only the first N test cases.")
    seed = parameters.whole_number(0, help_text="Of the swaps.")
    batch_tokens = parameters.whole_number(1)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs["backend"] = attrs.pop("model")
        attrs["conditions"] = list(dict.fromkeys(attrs["conditions"]))
        try:
            attrs["model_args"] = checked_model_args(attrs["backend"], attrs["model_args"])
        except ScoringError as error:
            raise serializers.ValidationError({"model_args": str(error)}) from error
        return attrs


class QueuedSerializer(serializers.Serializer[Any]):
    started = RunSerializer(many=True, help_text="New runs, which now wait for a worker.")
    known = RunSerializer(
        many=True, help_text="The same request has been made before and is not finished."
    )


class StartRuns(StudyView):
    """Let a model be scored on the study's test cases: a run for each condition, which waits for a worker."""

    access = Right.WORK
    body_class = RunRequest
    result_class = QueuedSerializer
    status = 202

    def post(self, request: Request, slug: str) -> Response:
        fields = self.body()
        try:
            queued = scoring_runs.queue_runs(self.study, user=self.token.user, **fields)
        except ScoringError as error:
            raise serializers.ValidationError({"": str(error)}) from error
        answer = {
            "started": _again(queued.waiting, self.study),
            "known": _again(queued.known, self.study),
        }
        return Response(QueuedSerializer(answer, context={"view": self}).data, status=202)


class StopRun(StudyView):
    """Stop a run that this study asked for: at once while it waits, else when its worker next looks. Its scores stay."""

    access = Right.WORK
    result_class = RunSerializer

    def post(self, request: Request, slug: str, pk: int) -> Response:
        run = get_object_or_404(self.study.scoring_runs.defer("plan"), pk=pk)
        if run.backend == ScoringRun.Backend.IMPORTED:
            raise Http404
        scoring_runs.stop(run, self.token.user)
        return Response(RunSerializer(_again([run], self.study)[0], context={"view": self}).data)


def _again(runs: list[ScoringRun], study: Study) -> list[ScoringRun]:
    """As they are now, and counted."""
    return list(counted(ScoringRun.objects.filter(pk__in=[run.pk for run in runs]), study))
