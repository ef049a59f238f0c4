"""Below /lab/fields/<field>/."""

from django.urls import path

from experiment.lab.item_files import exports, imports

urlpatterns = [
    path("import/", imports.page, name="import_items"),
    path("import/send/", imports.send, name="import_send"),
    path("import/template.csv", imports.template, name="import_template"),
    path("import/<str:upload>/", imports.difference, name="import_difference"),
    path("import/<str:upload>/apply/", imports.apply, name="import_apply"),
    path("imports/<int:pk>/", imports.job, name="import_job"),
    path("imports/<int:pk>/live/", imports.job_live, name="import_job_live"),
    path("export/", exports.page, name="export_items"),
    path("export/file/", exports.file, name="export_items_file"),
]
