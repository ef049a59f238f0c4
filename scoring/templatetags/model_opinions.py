"""For the page of a test case, which knows nothing of models: `{% model_opinions item request.user as opinions %}`."""

from django import template
from django.contrib.auth.models import User

from experiment.models import Item
from scoring.services.model_reviews import Opinions, opinions

register = template.Library()


@register.simple_tag
def model_opinions(item: Item, user: User) -> Opinions:
    return opinions(item, user)
