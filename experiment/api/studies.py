from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiment.api.access import SignedInView, StudyView
from experiment.domain.roles import Right
from experiment.models import Participant, Study
from experiment.services import counts
from experiment.services.rights import studies_of
from lib.api import pages
from lib.api.views import TableQuery, TableView


class StudySerializer(serializers.ModelSerializer[Study]):
    n_valid = serializers.IntegerField(
        help_text="Real participants who finished and are not excluded."
    )

    class Meta:
        model = Study
        fields = [
            "slug",
            "title",
            "language",
            "field",
            "recruitment",
            "target_valid",
            "n_valid",
            "human_items",
            "machine_items",
            "catch_items",
            "question_items",
            "policy",
            "exclude_missed_catch",
            "exclude_untouched",
            "exclude_cheating",
            "exclude_recognised",
            "min_rt_ms",
            "min_rt_clock",
            "question_min_rt_ms",
            "version",
            "is_demo",
            "created_at",
        ]


def serialised(studies: list[Study]) -> list[dict[str, Any]]:
    valid = counts.n_valid_of([study.pk for study in studies], Participant.Kind.REAL)
    for study in studies:
        study.n_valid = valid.get(study.pk, 0)  # type: ignore[attr-defined]
    return list(StudySerializer(studies, many=True).data)


class StudiesQuery(TableQuery):
    ordering = pages.Ordering(slug=("slug",), created=("id",))


class Studies(SignedInView, TableView):
    """The studies that the token opens."""

    query_class = StudiesQuery
    result_class = StudySerializer

    def rows(self) -> pages.Rows:
        return studies_of(self.token)

    def file_name(self) -> str:
        return "studies"

    def serialise(self, rows: list[Any]) -> list[dict[str, Any]]:
        return serialised(rows)


class OneStudy(StudyView):
    """A study: how it is set up, and how far it has got."""

    access = Right.SEE_ITEMS
    result_class = StudySerializer

    def get(self, request: Request, slug: str) -> Response:
        return Response(serialised([self.study])[0])
