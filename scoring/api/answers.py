"""Language models' answers to a study's questions, and the runs that they came in."""

from rest_framework import serializers

from experiment.api.access import StudyTable
from experiment.domain.roles import Right
from lib.api import pages, parameters
from lib.api.views import TableQuery
from scoring.domain.generating import Finish
from scoring.models import Answer, AnsweringRun


class AnsweringRunSerializer(serializers.ModelSerializer[AnsweringRun]):
    run = serializers.IntegerField(source="pk")
    model = serializers.CharField(source="language_model.name")
    status = serializers.ChoiceField(choices=AnsweringRun.Status.values)
    instructions = serializers.CharField(help_text="The system prompt, as it was sent.")
    total = serializers.IntegerField(help_text="Questions.")

    class Meta:
        model = AnsweringRun
        fields = (
            *("run", "model", "generator", "instructions", "identity", "is_simulated"),
            *("status", "done", "total", "error", "created_at", "started_at", "finished_at"),
        )


class AnswerSerializer(serializers.ModelSerializer[Answer]):
    run = serializers.IntegerField(source="run_id")
    model = serializers.CharField(source="run.language_model.name")
    item_key = serializers.CharField(source="item.key")
    item_version = serializers.IntegerField(source="item.version")
    finish = serializers.ChoiceField(
        choices=[finish.value for finish in Finish], help_text="How it ended."
    )
    server_model = serializers.CharField(
        source="model", help_text="Name of the model on the server."
    )
    seconds = serializers.FloatField(
        source="said_seconds", allow_null=True, help_text="Null if not known."
    )
    confidence = serializers.FloatField(
        allow_null=True,
        help_text="Confidence that the answer is right, 0 to 100; null if not known.",
    )

    class Meta:
        model = Answer
        fields = (
            *("run", "model", "item_key", "item_version", "text", "thought", "finish", "detail"),
            *("server_model", "prompt_tokens", "completion_tokens", "seconds", "confidence", "at"),
        )


class AnsweringRunsQuery(TableQuery):
    lookups = {"model": "language_model__name", "status": "status"}
    ordering = pages.Ordering(run=("id",))
    model = serializers.CharField(required=False, help_text="Its whole name.")
    status = serializers.ChoiceField(choices=AnsweringRun.Status.values, required=False)


class AnsweringRuns(StudyTable):
    """Runs in which language models were asked to answer questions."""

    access = Right.SEE_DATA
    table = "answering-runs"
    query_class = AnsweringRunsQuery
    result_class = AnsweringRunSerializer

    def rows(self) -> pages.Rows:
        runs = self.study.answering_runs.filter(**self.wanted())
        return runs.select_related("language_model").defer("items")


class AnswersQuery(TableQuery):
    lookups = {
        "run": "run_id",
        "model": "run__language_model__name",
        "finish": "finish",
        "item": "item__key",
    }
    ordering = pages.Ordering(run=("run_id", "id"))
    run = parameters.whole_number(1)
    model = serializers.CharField(required=False, help_text="Its whole name.")
    finish = serializers.ChoiceField(choices=[f.value for f in Finish], required=False)
    item = serializers.CharField(required=False, help_text="A question's key.")


class Answers(StudyTable):
    """Models' answers to questions, including incomplete and failed ones."""

    access = Right.SEE_DATA
    table = "answers"
    query_class = AnswersQuery
    result_class = AnswerSerializer

    def rows(self) -> pages.Rows:
        answers = Answer.objects.filter(run__study=self.study, **self.wanted())
        related = answers.select_related("run__language_model", "item")
        long = ("raw", "messages", "request", "run__items", "run__identity", "item__markup")
        return related.defer(*long, "item__original", "item__expert_answer")
