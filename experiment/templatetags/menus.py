"""The menu of a study, for the pages that belong to one."""

from collections.abc import Mapping
from typing import Any

from django import template

from experiment.lab.menus import Entry
from experiment.lab.menus import study_menu as menu_of

register = template.Library()


@register.simple_tag(takes_context=True)
def study_menu(context: Mapping[str, Any]) -> list[Entry]:
    """By what the page says of itself: `study`, `part`, and the rights of who asks."""
    return menu_of(context["study"], context["request"].rights, context.get("part") or "")
