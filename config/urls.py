"""The site's addresses."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from config.policies import take_report

# Pages about people, models and results, each with its app; templates name all of them `lab:...`.
LAB = [
    path("", include("experiment.lab.urls")),
    path("", include("experiment.preview.urls")),
    path("", include("scoring.lab.urls")),
    path("", include("analysis.lab.urls")),
]

# The same three, for programs
API = [
    path("", include("experiment.api.urls")),
    path("", include("scoring.api.urls")),
    path("", include("analysis.api.urls")),
    path("", include("lib.api.urls")),
]

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="lab:studies")),
    path("", include("lib.monitoring.views")),
    path("csp-reports", take_report),
    path("s/", include("experiment.participant.urls")),
    path("lab/", include((LAB, "lab"))),
    path("api/v1/", include((API, "api"))),
    path("admin/", admin.site.urls),
]

handler400 = "experiment.participant.problems.bad_request"
handler403 = "experiment.participant.problems.permission_denied"
handler404 = "experiment.participant.problems.not_found"
handler500 = "experiment.participant.problems.server_error"
