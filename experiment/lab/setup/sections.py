"""The sections of a study's set-up: what stands in the side list of each page, and what is missing where."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrPromise

from experiment.models import Study
from experiment.services.preflight import Finding, preflight
from experiment.services.study_setup import StudyProblem

LABELS: dict[str, StrPromise] = {
    "general": _("General"),
    "texts": _("Texts"),
    "wording": _("Wording of the pages"),
    "items": _("Test cases"),
    "trials": _("Trials and ratings"),
    "rules": _("Exclusion rules"),
    "target": _("Dates and target"),
}


@dataclass(frozen=True, slots=True)
class Section:
    """`state` is missing, look or done."""

    name: str
    label: StrPromise
    url: str
    state: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """What is missing or odd, and the page that mends it."""

    problem: StudyProblem
    is_blocking: bool
    url: str
    label: StrPromise


def shown(study: Study, found: list[Finding]) -> list[ShownFinding]:
    return [
        ShownFinding(each.problem, each.is_blocking, url_of(study, each.section), _label(each))
        for each in found
    ]


def _label(finding: Finding) -> StrPromise:
    return LABELS.get(finding.section) or _("Recruitment")


def setup_context(study: Study, current: str = "") -> dict[str, Any]:
    """What every page of the set-up shows."""
    found = preflight(study)
    return {
        "study": study,
        "current": current,
        "findings": shown(study, found),
        "n_blocking": sum(finding.is_blocking for finding in found),
        "sections": [_section(study, name, current, found) for name in LABELS],
    }


def _section(study: Study, name: str, current: str, found: list[Finding]) -> Section:
    here = [finding for finding in found if finding.section == name]
    state = "done"
    if here:
        state = "missing" if any(finding.is_blocking for finding in here) else "look"
    return Section(name, LABELS[name], url_of(study, name), state, name == current)


def url_of(study: Study, section: str) -> str:
    """The page on which a section's findings are mended."""
    if section == "recruitment":
        return reverse("lab:recruiting", args=[study.slug])
    return reverse(f"lab:setup_{section}", args=[study.slug])
