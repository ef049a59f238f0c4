"""Files of results as responses."""

from collections.abc import Callable

from django.http import Http404, HttpResponse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy

from analysis.data.dataset import SIMULATED
from experiment.models import Participant, Study

TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
CSV = "text/csv; charset=utf-8"
NOT_COMPUTED = gettext_lazy(
    "These results are not computed yet: their page says how to compute them."
)


class RefusedError(Exception):
    """A file cannot be given; the sentence says why."""


def named(study: Study, kind: str, name: str) -> str:
    """A file's name: the study's, and that it is about simulated participants."""
    prefix = SIMULATED if kind == Participant.Kind.SIMULATED else ""
    return f"{study.slug}-{prefix}{name}"


def file_response(content: Callable[[], bytes], content_type: str, name: str) -> HttpResponse:
    """The file; the sentence of a RefusedError; 404 where the file does not exist, or was deleted meanwhile."""
    try:
        found = content()
    except RefusedError as why:
        return HttpResponse(f"{why}\n", status=400, content_type="text/plain; charset=utf-8")
    except FileNotFoundError as gone:
        raise Http404 from gone
    # Shown where the page embeds it, saved where a link says `download`
    is_saved = content_type.startswith("text/html")
    disposition = content_disposition_header(is_saved, name) or "inline"
    return HttpResponse(
        found, content_type=content_type, headers={"Content-Disposition": disposition}
    )
