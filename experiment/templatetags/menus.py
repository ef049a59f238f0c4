"""The menu of a study, for the pages that belong to one, and that of every page."""

from collections.abc import Mapping
from typing import Any

from django import template

from experiment.lab.menus import Entry, SiteMenu
from experiment.lab.menus import site_menu as site_menu_of
from experiment.lab.menus import study_menu as menu_of

register = template.Library()


@register.simple_tag(takes_context=True)
def site_menu(context: Mapping[str, Any]) -> SiteMenu:
    """By the `section` that the page belongs to."""
    user = context["request"].user
    return site_menu_of(context.get("section") or "", is_admin=user.is_superuser)


@register.simple_tag(takes_context=True)
def study_menu(context: Mapping[str, Any]) -> list[Entry]:
    """By what the page says of itself: `study`, `part`, and the rights of who asks."""
    return menu_of(context["study"], context["request"].rights, context.get("part") or "")
