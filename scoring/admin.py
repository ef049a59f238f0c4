"""The administration: language models and model sets to edit; runs and their scores to read."""

from django.contrib import admin
from django.http import HttpRequest

from experiment.admin import DeclaredLookups, Merging, ReadOnlyAdmin
from scoring.models import (
    ChoiceRun,
    Corpus,
    CorpusScore,
    ItemScore,
    LanguageModel,
    ModelSet,
    ModelSetMember,
    ScoringRun,
    Training,
    TrainingCorpus,
    UnscoredText,
)


class TrainingCorpusInline(admin.TabularInline[TrainingCorpus, LanguageModel]):
    model = TrainingCorpus
    extra = 1


@admin.register(LanguageModel)
class LanguageModelAdmin(Merging[LanguageModel], DeclaredLookups[LanguageModel]):
    list_display = (
        *("name", "display_name", "family", "n_parameters"),
        *("training_cutoff", "is_chat", "base_partner", "is_demo"),
    )
    list_filter = ("family", "is_chat", "is_demo")
    list_select_related = ("base_partner",)
    search_fields = ("name", "display_name", "family")
    autocomplete_fields = ("base_partner", "tuned_from")
    inlines = (TrainingCorpusInline,)

    def get_readonly_fields(
        self, request: HttpRequest, obj: LanguageModel | None = None
    ) -> tuple[str, ...]:
        # Runs are identified, and resumed, by the name
        return ("name",) if obj is not None and obj.scoring_runs.exists() else ()


class MemberInline(admin.TabularInline[ModelSetMember, ModelSet]):
    model = ModelSetMember
    autocomplete_fields = ("language_model",)
    extra = 1


@admin.register(ModelSet)
class ModelSetAdmin(Merging[ModelSet], DeclaredLookups[ModelSet]):
    list_display = ("name", "study", "n_models")
    list_select_related = ("study",)
    inlines = (MemberInline,)

    @admin.display(description="models")
    def n_models(self, model_set: ModelSet) -> int:
        return model_set.members.count()


@admin.register(ScoringRun)
class ScoringRunAdmin(ReadOnlyAdmin[ScoringRun]):
    list_display = (
        *("pk", "study", "corpus", "language_model", "condition", "prompt"),
        *("status", "done", "total", "created_at"),
    )
    list_filter = (
        ("study", admin.RelatedOnlyFieldListFilter),
        "status",
        "backend",
        "condition",
        "prompt",
        "is_site_wide",
    )
    list_select_related = ("study", "language_model")
    search_fields = ("uuid", "language_model__name", "corpus")
    readonly_fields = (
        *("uuid", "fingerprint", "identity", "worker", "heartbeat_at"),
        *("started_at", "finished_at", "scored_tokens", "scoring_seconds"),
    )
    view_on_site = False


@admin.register(ChoiceRun)
class ChoiceRunAdmin(ReadOnlyAdmin[ChoiceRun]):
    list_display = (
        *("pk", "study", "language_model", "form", "prompt", "layout"),
        *("status", "done", "total", "created_at"),
    )
    list_filter = (("study", admin.RelatedOnlyFieldListFilter), "status", "form", "is_site_wide")
    list_select_related = ("study", "language_model")
    search_fields = ("language_model__name",)
    view_on_site = False


@admin.register(ItemScore)
class ItemScoreAdmin(ReadOnlyAdmin[ItemScore]):
    list_display = ("run", "item", "unit", "ppl_original", "ppl_altered")
    list_filter = ("run__condition", "run__language_model__family")
    list_select_related = ("run__language_model", "run__study", "item")
    search_fields = ("item__key", "=run__pk", "run__language_model__name")


@admin.register(UnscoredText)
class UnscoredTextAdmin(ReadOnlyAdmin[UnscoredText]):
    list_display = ("run", "name", "reason")
    list_select_related = ("run__language_model", "run__study")
    search_fields = ("name", "=run__pk")


@admin.register(CorpusScore)
class CorpusScoreAdmin(ReadOnlyAdmin[CorpusScore]):
    list_display = ("run", "row", "text_id", "ppl", "zlib_bytes")
    list_filter = ("run__corpus",)
    list_select_related = ("run__language_model",)
    search_fields = ("text_id", "=run__pk", "run__corpus")


@admin.register(Corpus)
class CorpusAdmin(ReadOnlyAdmin[Corpus]):
    list_display = ("slug", "sha256", "created_at", "created_by")
    list_select_related = ("created_by",)
    search_fields = ("slug", "sha256")


@admin.register(Training)
class TrainingAdmin(ReadOnlyAdmin[Training]):
    list_display = ("pk", "name", "corpus", "mode", "base", "status", "done", "total", "created_at")
    list_filter = ("status", "mode", ("corpus", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("corpus", "base")
    search_fields = ("uuid", "name")
    readonly_fields = (
        *("uuid", "fingerprint", "identity", "manifest", "worker"),
        *("heartbeat_at", "started_at", "finished_at"),
    )
    view_on_site = False
