"""Every address of the site with who may open it, as the views say themselves; the lab's page of rights is written from it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from inspect import getclosurevars, isfunction
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from experiment.domain.roles import FIELD_RIGHTS, RIGHTS, FieldRight, FieldRole, Right, Role
from experiment.lab.access import ASKER, CREATOR, SIGNED_IN, SITE_ADMIN, STARTER

PUBLIC = "public"
# Addresses for which no one signs in, and why
PUBLIC_ADDRESSES = {
    "": "leads to the lab",
    "healthz": "for load balancers",
    "healthz/live": "for supervisors: the process responds",
    "healthz/ready": "for load balancers: database, migrations, static files",
    "healthz/deep": "requires METRICS_TOKEN",
    "metrics": "requires METRICS_TOKEN",
    "csp-reports": "browsers report pages that broke their policy",
    "lab/sign-in/": "sign-in page",
    "lab/sign-in/code/": "second step, for users who have given a password",
    "lab/sign-out/": "no effect for users who are not signed in",
    "lab/welcome/<uidb64>/<token>/": "one-time link for an administrator without a password",
    "lab/invitations/<str:secret>/": "one-time link, also for people without an account",
    "api/v1/": "error in the format of the API",
    "api/v1/<path:rest>": "the same",
    "api/v1/schema/": "the description of the API",
}
PARTICIPANTS = "participant"  # a namespace
WHY_PARTICIPANTS = "participants do not sign in: a cookie or their own code identifies them"
ADMIN = "admin/"  # Django's: its site asks for a site administrator before every page


class UndeclaredError(Exception):
    """A view that does not say who may open it, or how it may be asked."""


@dataclass(frozen=True, slots=True)
class Route:
    name: str  # as `reverse` knows it; empty where it has none
    address: str
    methods: tuple[str, ...]
    access: str  # a Right, a FieldRight, SIGNED_IN, CREATOR, ASKER, STARTER, SITE_ADMIN or PUBLIC

    @property
    def who(self) -> str:
        """The people who may open it, for the page."""
        if self.access == PUBLIC:
            return "everyone"
        if self.access == SIGNED_IN:
            return "everybody who is signed in"
        if self.access == STARTER:
            return "the person who started it, site administrator"
        if self.access == CREATOR:
            return "researchers of any study, users with the permission, site administrators"
        if self.access == ASKER:
            return "researchers of any study, leads of any field, site administrators"
        roles = [
            *(str(role) for role in Role if self.access in RIGHTS[role]),
            *(f"{role} of the field" for role in FieldRole if self.access in FIELD_RIGHTS[role]),
        ]
        return ", ".join([*roles, "site administrator"])


def routes() -> list[Route]:
    """All of them, by address.

    Raises:
        UndeclaredError: for a view without access or methods.
    """
    return sorted(_routes(get_resolver().url_patterns, "", ()), key=lambda route: route.address)


def _routes(
    patterns: list[URLPattern | URLResolver], prefix: str, namespaces: tuple[str, ...]
) -> Iterator[Route]:
    for entry in patterns:
        address = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            inner = (*namespaces, entry.namespace) if entry.namespace else namespaces
            yield from _routes(entry.url_patterns, address, inner)
        else:
            name = ":".join((*namespaces, entry.name)) if entry.name else ""
            is_admin = address.startswith(ADMIN)
            methods = ("GET", "POST") if is_admin else _methods(entry.callback, address)
            access = SITE_ADMIN if is_admin else _access(entry.callback, address, namespaces)
            yield Route(name, address, methods, access)


def _access(view: Callable[..., Any], address: str, namespaces: tuple[str, ...]) -> str:
    if address in PUBLIC_ADDRESSES or PARTICIPANTS in namespaces:
        return PUBLIC
    found = getattr(view, "access", None) or getattr(_class_of(view), "access", None)
    if found is None:
        raise UndeclaredError(f"{address} does not say who may open it (experiment/lab/access.py)")
    return str(found)


def _methods(view: Callable[..., Any], address: str) -> tuple[str, ...]:
    """GET and what else changes something; HEAD goes with GET, OPTIONS with all."""
    if actions := getattr(view, "actions", None):  # a view set of the interface
        names = {str(method).upper() for method in actions}
    elif (cls := _class_of(view)) is not None:
        names = {name.upper() for name in cls.http_method_names if hasattr(cls, name)}
    else:
        names = set(_required(view))
    if not names:
        raise UndeclaredError(f"{address} does not say by which methods it is asked (require_safe)")
    return tuple(sorted(names - {"HEAD", "OPTIONS"}))


def _class_of(view: Callable[..., Any]) -> Any:
    return getattr(view, "view_class", None) or getattr(view, "cls", None)


def _required(view: Callable[..., Any] | None) -> list[str]:
    """The methods that the nearest of Django's require_http_methods around a view lets through."""
    while view is not None:
        if isfunction(view):
            found: Mapping[str, Any] = getclosurevars(view).nonlocals
            if methods := found.get("request_method_list"):
                return list(methods)
        view = getattr(view, "__wrapped__", None)
    return []


def as_markdown() -> str:
    """The page of rights."""
    every = [route for route in routes() if not route.address.startswith(ADMIN)]
    shown = [route for route in every if not route.name.startswith(f"{PARTICIPANTS}:")]
    public = [(f"`/{address}`", why) for address, why in PUBLIC_ADDRESSES.items()]
    return "\n".join(
        (
            "# Who may do what",
            "",
            "Generated by `manage.py write_docs rights` from `experiment/domain/roles.py` and the site's addresses; do not edit",
            "it here. Tests request every address with every method in each role. A page sends users who are not signed in to",
            "the sign-in page. It answers 404 to users who are not members, as if the study or field did not exist, and 403",
            "to members without the right. A site administrator may do everything in every study and field.",
            "",
            "## Rights in a study",
            "",
            *_table(("right", *Role), _rights(Right, RIGHTS)),
            "",
            "## Rights in a field of research",
            "",
            *_table(("right", *FieldRole), _rights(FieldRight, FIELD_RIGHTS)),
            "",
            "## Addresses",
            "",
            *_table(("address", "methods", "right", "who"), map(_cells, shown)),
            f"| `/{ADMIN}` and all below it | GET, POST |  | site administrator |",
            "| `/s/` and all below it |  |  | everyone |",
            "",
            "## Open to everyone, and why",
            "",
            *_table(("address", "why"), [*public, ("`/s/` and all below it", WHY_PARTICIPANTS)]),
            "",
        )
    )


def _rights(
    every: Iterable[StrEnum], of_roles: Mapping[Any, Collection[Any]]
) -> Iterator[tuple[str, ...]]:
    for right in every:
        yield (f"`{right}`", *("yes" if right in own else "no" for own in of_roles.values()))


def _cells(route: Route) -> tuple[str, ...]:
    right = f"`{route.access}`" if route.access in [*Right, *FieldRight] else ""
    return f"`/{route.address}`", ", ".join(route.methods), right, route.who


def _table(head: tuple[str, ...], rows: Any) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cells)} |"
