"""The lab's pages about models, in the namespace `lab` (config/urls.py)."""

from django.urls import include, path

from scoring.lab import (
    answering,
    choosing,
    doors,
    drafting,
    grades,
    grading,
    imports,
    servers,
    training,
    views,
)
from scoring.services.training import models

DRAFTING = [
    path("", drafting.drafting, name="drafting"),
    path("start/", drafting.start, name="drafting_start"),
    path("review/", drafting.review, name="model_review"),
    path("review/<int:pk>/stop/", drafting.review_stop, name="model_review_stop"),
    *drafting.DraftingPages().urls(""),
    path("<int:pk>/<int:row>/", drafting.draft, name="generated_draft"),
    path("<int:pk>/<int:row>/take/", drafting.take, name="generated_draft_take"),
    path("<int:pk>/<int:row>/dismiss/", drafting.dismiss, name="generated_draft_dismiss"),
]

STUDY = [
    path("answering/", answering.answering, name="answering"),
    path("answering/live/", answering.answering_live, name="answering_live"),
    path("answering/start/", answering.start, name="answering_start"),
    *answering.AnsweringPages().urls("answering/"),
    path("choices/", choosing.choosing, name="choosing"),
    path("choices/live/", choosing.choosing_live, name="choosing_live"),
    path("choices/start/", choosing.start, name="choosing_start"),
    path("choices/upload/", choosing.upload, name="choosing_upload"),
    *choosing.ChoosingPages().urls("choices/"),
    path("grading/", grading.grading, name="grading"),
    path("grading/plan/", grading.plan, name="grading_plan"),
    path("grading/start/", grading.start, name="grading_start"),
    *grading.GradingPages().urls("grading/"),
    path("grading/people/", grades.grade, name="grade"),
    path("grading/people/last/", grades.last, name="grade_last"),
    path("grading/people/undo/", grades.undo, name="grade_undo"),
    path("grading/people/adjudicate/", grades.adjudicate, name="adjudicate"),
    path("grading/people/grades.csv", grades.grades_csv, name="grades_csv"),
    path("models/", views.models, name="scoring"),
    path("models/live/", views.models_live, name="scoring_live"),
    path("models/queue/", views.queue, name="scoring_queue"),
    path("models/<int:pk>/", views.run, name="scoring_run"),
    path("models/<int:pk>/live/", views.run_live, name="scoring_run_live"),
    path("models/<int:pk>/scores.csv", views.scores, name="scoring_scores"),
    path("models/<int:pk>/cancel/", views.cancel, name="scoring_cancel"),
    path("models/<int:pk>/resume/", views.resume, name="scoring_resume"),
]

TRAINING = [
    path("", training.trainings, name="trainings"),
    path("start/", training.start, name="training_start"),
    path("corpora/", training.corpora, name="corpora"),
    path("corpora/<slug:name>/", training.corpus, name="corpus"),
    path("models/<int:pk>/", training.model, name="language_model"),
    path("<int:pk>/", training.training, name="training"),
    path(
        "<int:pk>/live/",
        training.training,
        {"template": "scoring/training/_live.html"},
        name="training_live",
    ),
    path("<int:pk>/stop/", training.stop, name="training_stop"),
    path("<int:pk>/resume/", training.resume, name="training_resume"),
    path("<int:pk>/score/", training.score, {"ask": models.score_result}, name="training_score"),
    path(
        "<int:pk>/checkpoints/",
        training.score,
        {"ask": models.score_checkpoints},
        name="training_checkpoints",
    ),
]

urlpatterns = [
    path("fields/<slug:field>/drafting/", include(DRAFTING)),
    path("studies/<slug:slug>/", include(STUDY)),
    path("training/", include(TRAINING)),
    path("servers/", servers.servers, name="servers"),
    path("servers/new/", servers.new_server, name="new_server"),
    path("servers/<int:pk>/", servers.server, name="server"),
    path("servers/<int:pk>/try/", servers.try_out, name="server_try"),
    path("servers/<int:pk>/remove/", servers.remove, name="server_remove"),
    path("servers/<int:pk>/models.json", servers.models, name="server_models"),
    path("imports/", imports.imports, name="imports"),
    path("imports/corpus/", imports.corpus_start, name="corpus_start"),
    path(
        "imports/live/",
        imports.imports,
        {"template": "scoring/imports/_live.html"},
        name="imports_live",
    ),
    path("imports/start/", imports.imports_start, name="imports_start"),
    path("imports/upload/", imports.imports_upload, name="imports_upload"),
    path("demo/", doors.demo, name="open_demo"),
]
