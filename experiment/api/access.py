"""Access to the API: a token opens the studies of its owner, within its scopes. Every view about a study begins here."""

from typing import Any, ClassVar, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest
from django.utils.functional import cached_property
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, PermissionDenied
from rest_framework.request import Request

from experiment.domain.roles import Right, rights_within
from experiment.lab.access import SIGNED_IN
from experiment.models import AccessToken, Study
from experiment.services.rights import TokenError, owners_rights, studies_of
from experiment.services.rights import find_token as find
from lib.api.views import ApiView, TableView

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer bbl_...`. A browser's cookies open nothing here: no page can ask in a reader's name."""

    def authenticate(self, request: Request) -> tuple[User, AccessToken] | None:
        words = get_authorization_header(request).decode("latin-1").split()
        if not words:
            return None
        if len(words) != 2 or words[0].lower() != SCHEME.lower():
            raise AuthenticationFailed("Send the header “Authorization: Bearer TOKEN”.")
        try:
            token = find(words[1])
        except TokenError as error:
            raise AuthenticationFailed(str(error)) from error
        return token.user, token

    def authenticate_header(self, request: Request | HttpRequest) -> str:
        return f'{SCHEME} realm="api"'


class SignedInView(ApiView):
    """About no study, or about all that the token opens."""

    access: ClassVar[str] = SIGNED_IN
    authentication_classes = (TokenAuthentication,)

    def find(self, **kwargs: Any) -> None:
        if not isinstance(self.request.auth, AccessToken):
            raise NotAuthenticated("Send the header “Authorization: Bearer TOKEN”.")

    @property
    def token(self) -> AccessToken:
        return cast("AccessToken", self.request.auth)

    @cached_property
    def opened(self) -> frozenset[int]:
        """The studies that the token opens."""
        return frozenset(studies_of(self.token).values_list("pk", flat=True))


class StudyView(SignedInView):
    """About one study: `access` is the right that it takes. One that the token does not open does not exist for it."""

    access: ClassVar[Right]
    study: Study

    def find(self, **kwargs: Any) -> None:
        super().find(**kwargs)
        study = Study.objects.filter(slug=kwargs["slug"]).first()
        rights = frozenset[Right]() if study is None else owners_rights(self.token, study)
        if study is None or not rights:
            raise Http404
        if self.access not in rights:
            raise PermissionDenied(f"Your role in {study.slug} does not allow this.", "role")
        if self.access not in rights_within(self.token.scopes, rights):
            given = ", ".join(self.token.scopes)
            raise PermissionDenied(f"The token's scopes ({given}) do not allow this.", "scope")
        self.study = study


class StudyTable(StudyView, TableView):
    """A list of a study's rows."""

    table: ClassVar[str]

    def file_name(self) -> str:
        return f"{self.study.slug}-{self.table}"
