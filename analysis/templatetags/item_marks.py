"""A version's marks on pages that know nothing of figures: `{% item_marks item user as marks %}`."""

from django import template
from django.contrib.auth.models import User

from analysis.stats.item_marks import Mark
from experiment.models import Item

register = template.Library()


@register.simple_tag
def item_marks(item: Item, user: User) -> tuple[Mark, ...]:
    # Here, since a template that loads the tag should not load what computes
    from analysis.services.items.listing import marks_for

    return marks_for(item, user)
