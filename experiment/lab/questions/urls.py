"""Below /lab/fields/<field>/questions/."""

from django.urls import path

from experiment.lab.questions import filling, imports, listing, templates, writing

urlpatterns = [
    path("", listing.questions, name="questions"),
    path("file/", listing.file, name="question_file"),
    path("new/", writing.new_question, name="new_question"),
    path("<int:pk>/write/", writing.write_question, name="write_question"),
    path("import/", imports.page, name="question_import"),
    path("import/<str:upload>/", imports.difference, name="question_difference"),
    path("import/<str:upload>/apply/", imports.apply, name="question_apply"),
    path("templates/", templates.templates, name="question_templates"),
    path("templates/new/", templates.new_template, name="new_question_template"),
    path("templates/<int:pk>/", templates.template, name="question_template"),
    path("templates/<int:pk>/file/", templates.template_file, name="question_template_file"),
    path("templates/<int:pk>/write/", templates.write_template, name="write_question_template"),
    path("templates/<int:pk>/<str:upload>/", filling.filling, name="question_filling"),
]
