"""Before a study is opened: what keeps it from being opened, what is worth knowing, and where each is mended."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from experiment.domain.text_checks import Facts, Kind, disagreements
from experiment.models import Item, Study
from experiment.services.duration import study_duration
from experiment.services.study_language import untranslated
from experiment.services.study_setup import ProblemCode, StudyProblem, readiness_problems

Section = Literal[
    "general", "texts", "wording", "items", "trials", "rules", "target", "recruitment"
]
Severity = Literal["blocking", "worth_knowing"]
# Where each is mended
SECTIONS: dict[str, Section] = {
    "too_few_items": "items",
    "works_run_out": "items",
    "no_practice": "items",
    "no_consent": "texts",
    "no_contact": "general",
    "no_completion": "recruitment",
    "completion_without_id": "recruitment",
    "no_screen_out": "recruitment",
    "host_not_allowed": "recruitment",
    "recruitment_over": "recruitment",
    "no_ethics": "general",
    "field_of_questions": "general",
    "untranslated": "wording",
}
DISAGREEMENTS: dict[Kind, ProblemCode] = {
    "trials": "trials_disagree",
    "minutes": "minutes_disagree",
    "field": "field_disagree",
    "days": "days_disagree",
    "date": "date_disagree",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is missing or odd."""

    problem: StudyProblem
    severity: Severity

    @property
    def section(self) -> Section:
        return "texts" if self.problem.text else SECTIONS[self.problem.code]

    @property
    def is_blocking(self) -> bool:
        return self.severity == "blocking"


def preflight(study: Study) -> list[Finding]:
    """Blocking ones first."""
    blocking = [Finding(problem, "blocking") for problem in readiness_problems(study)]
    return blocking + [Finding(problem, "worth_knowing") for problem in _worth_knowing(study)]


def _worth_knowing(study: Study) -> Iterator[StudyProblem]:
    if not study.ethics_number:
        yield StudyProblem("no_ethics")
    yield from _other_fields(study)
    if missing := untranslated(study):
        yield StudyProblem("untranslated", found=len(missing))
    consent, facts = study.consent, facts_of(study)
    texts = {
        "briefing": study.briefing,
        "consent": "" if consent is None else consent.text,
        "debriefing": study.debriefing,
    }
    for name, text in texts.items():
        for each in disagreements(text, facts):
            code = DISAGREEMENTS[each.kind]
            yield StudyProblem(code, text=name, said=each.said, is_so=each.is_so)


def _other_fields(study: Study) -> Iterator[StudyProblem]:
    """Questions of a field that neither participants nor models hear of."""
    if not study.question_items or not study.field:
        return
    rows = study.items.filter(kind=Item.Kind.QUESTION).exclude(field__in=("", study.field))
    if others := sorted({*rows.values_list("field", flat=True)}):
        yield StudyProblem("field_of_questions", said=", ".join(others), is_so=study.field)


def facts_of(study: Study) -> Facts:
    """What texts may say of the study."""
    duration, counts = study_duration(study), study.trial_counts
    in_all, abstracts = study.n_trials, study.n_abstracts
    return Facts(
        n_trials=in_all,
        parts=frozenset({abstracts, abstracts - counts["catch"], abstracts + 1, *counts.values()}),
        minutes=(duration.low, duration.high),
        field=study.field,
        id_days=study.external_id_days,
        retain_until=study.retain_until,
    )
