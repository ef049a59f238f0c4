"""Who may see the lab's pages: one rule for those about people, models and results."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.cache import never_cache

from experiment.models import Study

View = Callable[..., HttpResponseBase]


def for_researchers(view: View) -> View:
    """Signed-in people only; a study that is not theirs does not exist for them."""

    @never_cache
    @login_required
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if "slug" in kwargs:
            visible = Study.objects.visible_to(request.user)
            kwargs["study"] = get_object_or_404(visible, slug=kwargs.pop("slug"))
        return view(request, *args, **kwargs)

    return wrapped
