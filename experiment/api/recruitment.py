from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiment.api.access import StudyView
from experiment.api.studies import StudySerializer, serialised
from experiment.domain.roles import Right
from experiment.models import Study
from experiment.services.study_setup import set_recruitment
from lib.api.parameters import Strict
from lib.api.problems import Problem


class RecruitmentChange(Strict):
    """The new state of recruitment."""

    recruitment = serializers.ChoiceField(choices=Study.Recruitment.values)


class Recruitment(StudyView):
    """Open or close recruitment. A study that cannot be completed is not opened: 409 says what is missing."""

    access = Right.SET_UP
    body_class = RecruitmentChange
    result_class = StudySerializer
    problems = (409,)

    def post(self, request: Request, slug: str) -> Response:
        state = self.body()["recruitment"]
        try:
            study = set_recruitment(self.study, state, by=self.token.user)
        except ValidationError as error:
            raise Problem(409, "not_ready", " ".join(error.messages)) from error
        return Response(serialised([study])[0])
