"""The choice of a server of the site's list, before the kinds of models, in forms that ask for work of models."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.functional import cached_property

from scoring.backends.http.address import NotAllowedError, parse_address
from scoring.backends.options import in_provider
from scoring.backends.registry import INSPECT
from scoring.models import ModelServer
from scoring.services.servers import By, usable_by

MARK = "server-"  # before a server's number, among the names of kinds
MOST_NAMED = 5  # administrators


class ServerChoice(forms.Form):
    """A form whose field `KIND` offers the servers that its user may use, and after them the kinds of models.

    MODEL_NAME: the field for a model's name, which the page fills with the server's own list.
    """

    KIND: str
    MODEL_NAME: str
    user: By
    # Of the address to which texts may not be sent
    refused_address = ""

    def __init__(self, *args: Any, user: By, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.offer_kinds(list(self.fields[self.KIND].choices))  # type: ignore[attr-defined]

    def offer_kinds(self, kinds: list[tuple[str, Any]]) -> None:
        """These kinds, and before them the servers of one of these."""
        names = [name for name, _label in kinds]
        found = usable_by(self.user).filter(kind__in=names)
        self.servers = {f"{MARK}{server.pk}": server for server in found}
        field, listed = self.fields[self.KIND], [(n, s.name) for n, s in self.servers.items()]
        if not listed:
            field.choices = kinds  # type: ignore[attr-defined]
            return
        field.choices = [("Model servers", listed), ("Others", kinds)]  # type: ignore[attr-defined]
        field.label, field.initial = "Where the model runs", listed[0][0]
        field.widget.attrs |= {
            "data-models-url": reverse("lab:server_models", args=[0]),
            "data-models-of": self.add_prefix(self.MODEL_NAME),
        }

    def server_of(self, chosen: str) -> ModelServer | None:
        return self.servers.get(chosen)

    def kind_of_choice(self, chosen: str) -> str:
        """The kind that was chosen by itself or with a server."""
        server = self.server_of(chosen)
        return chosen if server is None else server.kind

    def args_at(self, server: ModelServer, model: str) -> dict[str, str]:
        """Arguments that lead to this model of the server; model: empty where none is named yet."""
        if server.kind == INSPECT.name:
            return {"model": in_provider(server.address, model)} if model else {}
        return {"base_url": server.address} | ({"model": model} if model else {})

    def say_not_allowed(self, error: Exception, base_url: str) -> None:
        """Let the page say who can allow the address."""
        if isinstance(error, NotAllowedError):
            self.refused_address = str(parse_address(base_url))

    @cached_property
    def administrators(self) -> list[str]:
        """Names of people who can add a server."""
        people = User.objects.filter(is_active=True, is_superuser=True).order_by("username")
        return list(people.values_list("username", flat=True)[:MOST_NAMED])
