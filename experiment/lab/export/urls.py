from django.urls import path

from experiment.lab.export import views

urlpatterns = [
    path("export/", views.page, name="export"),
    path("export/file/", views.download, name="export_download"),
    path("export/identities/", views.identities, name="export_identities"),
    path("exports/<int:pk>/", views.waiting, name="export_job"),
    path("exports/<int:pk>/live/", views.live, name="export_live"),
    path("exports/<int:pk>/file/", views.file, name="export_file"),
    path("exports/<int:pk>/retry/", views.retry, name="export_retry"),
]
