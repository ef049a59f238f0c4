"""Pages kept in memory: what all participants of a study see alike is rendered once by each process.

A page is rendered with marks in the place of what is one participant's own; each time, only these are filled in.
"""

import re
import threading
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import cast

from django.template import loader
from django.utils.html import conditional_escape

from experiment.domain import markup
from experiment.domain.assignment import Side
from experiment.domain.presentation import by_side
from experiment.models import Study
from experiment.services.study_language import newest_text

MOST_KEPT = 512
MARK = "\ue000{}\ue001"  # characters for private use, which no text of ours holds
MARKED = re.compile("\ue000(.*?)\ue001")

_kept: dict[Hashable, list[str]] = {}
_lock = threading.Lock()


def version_of(study: Study) -> str:
    """Names all that pages show of the study: its row, and its own words."""
    values = [getattr(study, field.attname) for field in study._meta.concrete_fields]
    return repr([values, newest_text(study)])


def fill(key: Hashable, render: Callable[[Mapping[str, str]], str], own: Mapping[str, str]) -> str:
    """What `render` makes of `own`, where for the same `key` everything else is the same."""
    parts = _kept.get(key)
    if parts is None:
        parts = MARKED.split(render({name: MARK.format(name) for name in own}))
        with _lock:
            if len(_kept) >= MOST_KEPT:
                _kept.clear()
            _kept[key] = parts
    return "".join(conditional_escape(own[part]) if n % 2 else part for n, part in enumerate(parts))


@lru_cache(maxsize=4096)
def shown_abstract(text: str, original_side: str, language: str) -> dict[str, str]:
    """Of an item's markup: the abstract's HTML, and by side the ids of its passages."""
    segments = by_side(markup.parse(text).segments, cast(Side, original_side))
    context = {
        "segments": segments,
        "selectable": True,
        "study": {"abstract_language": language},
    }
    places = [n for n, segment in enumerate(segments, 1) if segment.is_alternation]
    return {
        "abstract": loader.render_to_string("participant/_abstract.html", context),
        "passages_a": " ".join(f"passage-a-{n}" for n in places),
        "passages_b": " ".join(f"passage-b-{n}" for n in places),
    }


def forget() -> None:
    """Keep nothing; for tests, which use the ids of earlier ones again."""
    _kept.clear()
