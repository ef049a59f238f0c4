"""Menus: that of every page, of a study, of a field of research, and of its questions."""

from collections.abc import Mapping
from typing import Any

from django import template

from experiment.lab import menus
from experiment.lab.menus import Entry, Link, SiteMenu

register = template.Library()


@register.simple_tag(takes_context=True)
def site_menu(context: Mapping[str, Any]) -> SiteMenu:
    """By the `section` that the page belongs to."""
    user = context["request"].user
    return menus.site_menu(context.get("section") or "", is_admin=user.is_superuser)


@register.simple_tag(takes_context=True)
def study_menu(context: Mapping[str, Any]) -> list[Entry]:
    """By what the page says of itself: `study`, `part`, and the rights of who asks."""
    return menus.study_menu(context["study"], context["request"].rights, context.get("part") or "")


@register.simple_tag(takes_context=True)
def field_menu(context: Mapping[str, Any]) -> list[Link]:
    """The same of a field of research."""
    rights = context["request"].field_rights
    return menus.field_menu(context["research_field"], rights, context.get("part") or "")


@register.simple_tag(takes_context=True)
def questions_menu(context: Mapping[str, Any]) -> list[Link]:
    """The same of a field's questions; `inner` is the part of it that the page belongs to."""
    return menus.questions_menu(context["research_field"], context["inner"])
