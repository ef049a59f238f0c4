"""Choices of language models in a study's test cases, and their runs."""

from rest_framework import serializers

from experiment.api.access import StudyTable
from experiment.domain.roles import Right
from experiment.models import Item
from lib.api import pages, parameters
from lib.api.views import TableQuery
from scoring.domain.generating import Finish
from scoring.models import ChoiceRun, ModelChoice


class ChoiceRunSerializer(serializers.ModelSerializer[ChoiceRun]):
    run = serializers.IntegerField(source="pk")
    model = serializers.CharField(source="language_model.name")
    form = serializers.ChoiceField(
        choices=ChoiceRun.Form.values, help_text="How the model answered."
    )
    layout = serializers.ChoiceField(
        choices=ChoiceRun.Layout.values, help_text="How the versions were shown."
    )
    instructions = serializers.CharField(
        help_text="The prompt; {versions} stands for the test case."
    )
    prompt_sha256 = serializers.CharField(help_text="SHA-256 of the prompt.")
    status = serializers.ChoiceField(choices=ChoiceRun.Status.values)
    total = serializers.IntegerField(help_text="Test cases, times two orders, times samples.")

    class Meta:
        model = ChoiceRun
        fields = (
            *("run", "model", "generator", "form", "prompt", "instructions", "prompt_sha256"),
            *("layout", "samples", "requests", "identity", "is_simulated"),
            *("status", "done", "total", "error", "created_at", "started_at", "finished_at"),
        )


class ChoiceSerializer(serializers.ModelSerializer[ModelChoice]):
    run = serializers.IntegerField(source="run_id")
    model = serializers.CharField(source="run.language_model.name")
    item_key = serializers.CharField(source="item.key")
    item_version = serializers.IntegerField(source="item.version")
    item_source = serializers.CharField(source="item.source")
    sample = serializers.IntegerField(help_text="Which of several answers in this order, from 0.")
    finish = serializers.ChoiceField(
        choices=[finish.value for finish in Finish], help_text="How it ended."
    )
    server_model = serializers.CharField(
        source="model", help_text="Name of the model on the server."
    )
    seconds = serializers.FloatField(
        source="said_seconds", allow_null=True, help_text="Null if not known."
    )

    class Meta:
        model = ModelChoice
        fields = (
            *("run", "model", "item_key", "item_version", "item_source", "original_side", "sample"),
            *(
                "side",
                "confidence",
                "log_odds",
                "finish",
                "text",
                "thought",
                "first_text",
                "detail",
            ),
            *("server_model", "prompt_tokens", "completion_tokens", "thought_tokens", "tries"),
            *("seconds", "at"),
        )


class ChoiceRunsQuery(TableQuery):
    lookups = {"model": "language_model__name", "form": "form", "status": "status"}
    ordering = pages.Ordering(run=("id",))
    model = serializers.CharField(required=False, help_text="Its whole name.")
    form = serializers.ChoiceField(choices=ChoiceRun.Form.values, required=False)
    status = serializers.ChoiceField(choices=ChoiceRun.Status.values, required=False)


class ChoiceRuns(StudyTable):
    """Runs in which language models were asked to choose."""

    access = Right.SEE_DATA
    table = "choice-runs"
    query_class = ChoiceRunsQuery
    result_class = ChoiceRunSerializer

    def rows(self) -> pages.Rows:
        runs = self.study.choice_runs.filter(**self.wanted())
        return runs.select_related("language_model").defer("items", "examples")


class ChoicesQuery(TableQuery):
    lookups = {
        "run": "run_id",
        "model": "run__language_model__name",
        "finish": "finish",
        "source": "item__source",
        "item": "item__key",
    }
    ordering = pages.Ordering(run=("run_id", "id"))
    run = parameters.whole_number(1)
    model = serializers.CharField(required=False, help_text="Its whole name.")
    finish = serializers.ChoiceField(choices=[f.value for f in Finish], required=False)
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=Item.Source.values, required=False, help_text="Of the test cases."
    )
    item = serializers.CharField(required=False, help_text="A test case's key.")


class Choices(StudyTable):
    """Models' answers about test cases, one for each order and sample. A row joins a trial by `item_key` and `item_version`."""

    access = Right.SEE_DATA
    table = "choices"
    query_class = ChoicesQuery
    result_class = ChoiceSerializer

    def rows(self) -> pages.Rows:
        choices = ModelChoice.objects.filter(run__study=self.study, **self.wanted())
        long = ("raw", "messages", "request", "run__items", "run__identity", "run__instructions")
        texts = ("item__markup", "item__original", "item__altered")
        return choices.select_related("run__language_model", "item").defer(*long, *texts)
