"""How many requests a minute one token may make, and who comes without one. Counted in the site's cache."""

import hashlib

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView


class TokenThrottle(SimpleRateThrottle):
    def get_rate(self) -> str:
        return f"{settings.API_REQUESTS_PER_MINUTE}/minute"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return None if request.auth is None else f"api-token-{request.auth.pk}"


class AnonymousThrottle(SimpleRateThrottle):
    """By address, of which a hash is kept in memory: it slows down who guesses tokens."""

    def get_rate(self) -> str:
        return f"{settings.API_ANONYMOUS_PER_MINUTE}/minute"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if request.auth is not None:
            return None
        address = hashlib.sha256(self.get_ident(request).encode()).hexdigest()
        return f"api-anonymous-{address}"
