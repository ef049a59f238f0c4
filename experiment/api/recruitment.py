from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiment.api.access import StudyView
from experiment.api.studies import StudySerializer, serialised
from experiment.domain.roles import Right
from experiment.models import Study
from experiment.services import audit
from experiment.services.study_setup import set_recruitment
from lib.api.parameters import Strict
from lib.api.problems import Problem


class RecruitmentChange(Strict):
    """The new state of recruitment, and the one that was read."""

    recruitment = serializers.ChoiceField(choices=Study.Recruitment.values)
    expected = serializers.ChoiceField(
        choices=Study.Recruitment.values,
        help_text="The state that you have read. If somebody has changed it since, nothing changes.",
    )


class Recruitment(StudyView):
    """Open or close recruitment. A study that cannot be completed is not opened: 409 says what is missing.

    409 with the code `changed` says that recruitment is in another state than the expected one, and who changed it when.
    """

    access = Right.SET_UP
    body_class = RecruitmentChange
    result_class = StudySerializer
    problems = (409,)

    def post(self, request: Request, slug: str) -> Response:
        asked = self.body()
        state, known = asked["recruitment"], asked.values()  # asked again, it is as was asked

        def check(stored: Study) -> None:
            if stored.recruitment not in known:
                raise changed(stored)

        try:
            study = set_recruitment(self.study, state, by=self.token.user, check=check)
        except ValidationError as error:
            raise Problem(409, "not_ready", " ".join(error.messages)) from error
        return Response(serialised([study])[0])


def changed(study: Study) -> Problem:
    edit = audit.last_changes(["recruitment"], study).get("recruitment")
    said = f"Recruitment is now {study.recruitment}. Nothing was changed."
    detail = f"{said} {edit}" if edit else said
    more: dict[str, Any] = (
        {"changed_by": edit.by, "changed_at": edit.at.isoformat()} if edit else {}
    )
    return Problem(409, "changed", detail, recruitment=study.recruitment, **more)
