"""Researchers set a study up, pin its items, word its consent and switch recruitment."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from experiment.domain.presets import PRESETS
from experiment.models import ConsentVersion, Item, Study
from experiment.models.studies import RULE_COLUMNS
from experiment.services.recruitment import ID_PLACE
from experiment.services.study_language import speaking_language
from experiment.services.study_versions import revise


def default_briefing(language: str = "en") -> str:
    """Without numbers: how many abstracts and how long is generated where it is read."""
    with speaking_language(language):
        return render_to_string("experiment/default_briefing.txt").strip()


def default_consent(language: str = "en") -> str:
    with speaking_language(language):
        return render_to_string("experiment/default_consent.txt").strip()


@transaction.atomic
def create_study(slug: str, preset: str, *, contact: str = "", **changes: Any) -> Study:
    """Create a study from a preset, with its consent text and no items yet."""
    chosen = PRESETS[preset]
    rules = {RULE_COLUMNS[rule]: value for rule, value in asdict(chosen.rules).items()}
    fields = chosen.settings | rules | {"slug": slug, "contact": contact} | changes
    given_consent = fields.pop("consent", "")
    study = Study(**fields)
    study.briefing = study.briefing or default_briefing(study.language)
    consent = given_consent or default_consent(study.language)
    study.full_clean()
    study.save()
    word_consent(study, consent)
    return study


def word_consent(study: Study, text: str, reason: str = "") -> ConsentVersion | None:
    """Make this the study's consent text; a text that stands already makes no new version."""
    revise(study, consent=text, reason=reason)
    return study.consent


@transaction.atomic
def pin_items(study: Study, items: Iterable[Item], reason: str = "") -> int:
    """Let the study draw from these accepted items too, in place of other versions of the same ones."""
    items = list(items)
    keys = {item.key for item in items}
    kept = list(study.items.exclude(key__in=keys))
    n_before = study.study_items.filter(item__in=items).count()
    revise(study, items=[*kept, *items], reason=reason)
    return study.study_items.filter(item__in=items).count() - n_before


@dataclass(frozen=True, slots=True)
class StudyProblem:
    """What keeps participants from completing a study, or the study from being opened; a template words it."""

    code: Literal[
        "too_few_items",
        "works_run_out",
        "no_practice",
        "no_consent",
        "no_contact",
        "no_completion",
        "completion_without_id",
        "no_screen_out",
    ]
    stratum: str = ""
    needed: int = 0
    found: int = 0
    other_stratum: str = ""
    platform: str = ""

    def __str__(self) -> str:
        return render_to_string("experiment/study_problem.txt", {"problem": self}).strip()


def readiness_problems(study: Study) -> list[StudyProblem]:
    """What keeps the study from being opened to people; empty when it can be."""
    problems = completion_problems(study)
    if not study.contact.strip():
        problems.append(StudyProblem("no_contact"))
    return problems + _platform_problems(study)


def _platform_problems(study: Study) -> list[StudyProblem]:
    """What the recruitment platform's participants would lack at the end."""
    if not study.platform:
        return []
    name = str(Study.Platform(study.platform).label)
    problems = []
    if study.platform == Study.Platform.SONA and ID_PLACE not in study.completion_url:
        problems.append(StudyProblem("completion_without_id", platform=name))
    elif not (study.completion_url or study.completion_code):
        problems.append(StudyProblem("no_completion", platform=name))
    if not study.screen_out_url:
        problems.append(StudyProblem("no_screen_out", platform=name))
    return problems


def completion_problems(study: Study) -> list[StudyProblem]:
    """What keeps participants, simulated ones too, from completing the study."""
    problems = _item_problems(study)
    if not study.accepted_items.filter(kind=Item.Kind.PRACTICE).exists():
        problems.append(StudyProblem("no_practice"))
    if study.consent is None:
        problems.append(StudyProblem("no_consent"))
    return problems


def _item_problems(study: Study) -> list[StudyProblem]:
    works: dict[str, set[str]] = {"human": set(), "machine": set(), "catch": set()}
    for item in study.accepted_items.exclude(kind=Item.Kind.PRACTICE):
        works[item.stratum].add(item.work)
    counts: dict[str, int] = dict(study.trial_counts.items())
    problems = [
        StudyProblem("too_few_items", stratum, needed, len(works[stratum]))
        for stratum, needed in counts.items()
        if needed > len(works[stratum])
    ]
    # A work met in one stratum is closed in the other: in the worst case all that they share are gone there.
    shared = len(works["human"] & works["machine"])
    for stratum, other in (("human", "machine"), ("machine", "human")):
        left = len(works[stratum]) - min(counts[other], shared)
        if left < counts[stratum] <= len(works[stratum]):
            problems.append(
                StudyProblem("works_run_out", stratum, found=shared, other_stratum=other)
            )
    return problems


@transaction.atomic
def set_recruitment(study: Study, state: str) -> Study:
    """Switch recruitment; a study that cannot be completed is not opened."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if state in (Study.Recruitment.OPEN, Study.Recruitment.PILOT):
        problems = readiness_problems(study)
        if problems:
            message = _("%(study)s cannot be opened: %(problem)s.")
            raise ValidationError(
                [message % {"study": study.slug, "problem": problem} for problem in problems]
            )
    study.recruitment = Study.Recruitment(state).value
    study.save(update_fields=["recruitment"])
    return study
