"""What keeps a study from being opened, what is worth knowing before, and where each is mended."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from django.template.loader import render_to_string
from django.utils import timezone

from experiment.domain.assignment import QUESTION
from experiment.domain.looks import looks
from experiment.domain.text_checks import Facts, disagreements
from experiment.models import Arm, Channel, Item, Study
from experiment.models.arms import trial_counts
from experiment.services.advisers import (
    advice_fault,
    adviser_of,
    is_advised,
    must_be_revealed,
)
from experiment.services.arms import arm_problems, arms_of, groups_of
from experiment.services.channels import ADDRESSES, ID_PLACE, channels, host_problem
from experiment.services.counts import n_asked, study_length
from experiment.services.study_language import untranslated, unusable_texts

# Code of what keeps a study from being opened, and where it is mended
BLOCKING = {
    "arm_unfit": "arms",
    "too_few_items": "items",
    "works_run_out": "items",
    "no_practice": "items",
    "look_alike": "items",
    "no_consent": "texts",
    "no_contact": "general",
    "no_completion": "recruitment",
    "completion_without_id": "recruitment",
    "no_screen_out": "recruitment",
    "host_not_allowed": "recruitment",
    "recruitment_over": "recruitment",
    "cells_unasked": "target",
    "no_adviser": "advice",
    "advice_lacking": "advice",
    "planted_unrevealed": "texts",
}
# What is worth knowing; KIND_disagree, of a text, besides
WORTH_KNOWING = {
    "no_ethics": "general",
    "field_of_questions": "general",
    "untranslated": "wording",
    "text_unusable": "wording",
}


@dataclass(frozen=True, slots=True)
class StudyProblem:
    """What keeps participants from completing a study, or the study from being opened; a template words it."""

    code: str
    stratum: str = ""
    needed: int = 0
    found: int = 0
    other_stratum: str = ""
    channel: str = ""  # its short name
    address: str = ""
    # Of a text: which, a phrase of it, and what the settings say
    text: str = ""
    said: str = ""
    is_so: str = ""
    arm: str = ""  # its name; empty where it holds for everybody

    def __str__(self) -> str:
        return render_to_string("experiment/study_problem.txt", {"problem": self}).strip()

    @property
    def is_blocking(self) -> bool:
        return self.code in BLOCKING

    @property
    def section(self) -> str:
        """Of the set-up; or `recruitment`, whose page is another."""
        return "texts" if self.text else (BLOCKING | WORTH_KNOWING)[self.code]


def readiness_problems(study: Study) -> list[StudyProblem]:
    """What keeps the study from being opened to people; empty when it can be."""
    problems = completion_problems(study)
    if not study.contact.strip():
        problems.append(StudyProblem("no_contact"))
    if study.closes_at is not None and study.closes_at <= timezone.now():
        problems.append(StudyProblem("recruitment_over"))
    if alike := _look_alike(study):
        problems.append(StudyProblem("look_alike", found=len(alike), said=", ".join(alike)))
    open_ones = [channel for channel in channels(study).values() if channel.is_open]
    return problems + [problem for channel in open_ones for problem in _channel_problems(channel)]


def _look_alike(study: Study) -> list[str]:
    """Test cases accepted before the checks could tell, between whose versions nobody can choose."""
    rows = study.drawable_items.exclude(kind=Item.Kind.QUESTION).order_by("key", "version")
    named = rows.only("key", "version", "original", "altered")
    return [str(item) for item in named if looks(item.original) == looks(item.altered)]


def _advice_problems(study: Study) -> Iterator[StudyProblem]:
    """What participants of an advised arm would lack, or would not be told at the end."""
    if not is_advised(study):
        return
    adviser = adviser_of(study)
    if adviser is None:
        yield StudyProblem("no_adviser")
        return
    if fault := advice_fault(study):
        yield StudyProblem("advice_lacking", said=fault.rstrip("."))
    if must_be_revealed(study) and not study.debriefing.strip():
        yield StudyProblem("planted_unrevealed")


def _channel_problems(channel: Channel) -> Iterator[StudyProblem]:
    """What those who come by it would lack at the end."""
    code = channel.code
    for address in (getattr(channel, name) for name in ADDRESSES):
        if host_problem(address):
            yield StudyProblem("host_not_allowed", channel=code, address=address)
    if channel.platform == Channel.Platform.PLAIN:
        return
    if channel.platform == Channel.Platform.SONA and ID_PLACE not in channel.completion_url:
        yield StudyProblem("completion_without_id", channel=code)
    elif not (channel.completion_url or channel.completion_code):
        yield StudyProblem("no_completion", channel=code)
    if not (channel.screen_out_url or channel.screen_out_code):
        yield StudyProblem("no_screen_out", channel=code)


def completion_problems(study: Study) -> list[StudyProblem]:
    """What keeps participants, simulated ones too, from taking the study as it will be: nobody tries it with these.

    What else keeps it from opening is of its contact, its dates and its channels, by none of which simulated participants come.
    """
    problems = item_problems(study)
    for arm in arms_of(study):
        for sentence in arm_problems(study, arm).values():
            problems.append(StudyProblem("arm_unfit", arm=arm.name, said=sentence.rstrip(".")))
    if study.consent is None:
        problems.append(StudyProblem("no_consent"))
    if study.cell_field and not study.forms_cells:
        problems.append(StudyProblem("cells_unasked"))
    return [*problems, *_advice_problems(study)]


def works_by_stratum(
    study: Study, without: Collection[int] = (), subfields: Collection[str] = ()
) -> dict[str, Counter[str]]:
    """The works that each stratum can be drawn from, with how many trials each allows one participant.

    That is one of an abstract, since nobody meets a work twice, and of questions as many as are about it.

    without: primary keys of items that are taken for paused. subfields: of test cases, those of an arm; empty for all.
    """
    works: dict[str, Counter[str]]
    works = {s: Counter() for s in ("human", "machine", "catch", QUESTION)}
    rows = study.drawable_items.exclude(kind=Item.Kind.PRACTICE).exclude(pk__in=without)
    for item in rows.only("key", "doi", "kind", "source", "subfield"):
        if subfields and item.kind == Item.Kind.TEST and item.subfield not in subfields:
            continue
        found = works[item.stratum]
        found[item.work] = found[item.work] + 1 if item.is_question else 1
    return works


def item_problems(study: Study, without: Collection[int] = ()) -> list[StudyProblem]:
    """What test cases are lacking; `without` as in `works_by_stratum`."""
    groups = groups_of(study)
    problems = [problem for group in groups for problem in _lacking(study, without, group)]
    practice = study.drawable_items.filter(kind=Item.Kind.PRACTICE)
    if study.shows_abstracts and not practice.exclude(pk__in=without).exists():
        problems.append(StudyProblem("no_practice"))
    return problems


def _lacking(study: Study, without: Collection[int], arm: Arm | None) -> Iterator[StudyProblem]:
    """What participants in this arm would run out of."""
    name = "" if arm is None else arm.name
    works = works_by_stratum(study, without, () if arm is None else arm.subfields)
    counts: dict[str, int] = dict(trial_counts(study, arm).items())
    for stratum, needed in counts.items():
        if needed > (found := works[stratum].total()):
            yield StudyProblem("too_few_items", stratum, needed, found, arm=name)
    for problem in _running_out(works, counts):
        yield replace(problem, arm=name)


def _running_out(
    works: Mapping[str, Counter[str]], counts: Mapping[str, int]
) -> Iterator[StudyProblem]:
    """A work met in one stratum is closed in the others: in the worst case those are gone that allow most trials there."""
    sharing = ("human", "machine", QUESTION)
    for stratum in sharing:
        own, n = works[stratum], counts.get(stratum, 0)
        shared = {s: own.keys() & works[s].keys() for s in sharing if s != stratum}
        met = sum(min(counts.get(s, 0), len(both)) for s, both in shared.items())
        at_most = sorted((own[work] for work in set().union(*shared.values())), reverse=True)
        if own.total() - sum(at_most[:met]) < n <= own.total():
            most = max(shared, key=lambda s: min(counts.get(s, 0), len(shared[s])))
            yield StudyProblem(
                "works_run_out", stratum, found=len(shared[most]), other_stratum=most
            )


def preflight(study: Study) -> list[StudyProblem]:
    """Blocking ones first."""
    return [*readiness_problems(study), *_worth_knowing(study)]


def _worth_knowing(study: Study) -> Iterator[StudyProblem]:
    if not study.ethics_number:
        yield StudyProblem("no_ethics")
    yield from _other_fields(study)
    if missing := untranslated(study):
        yield StudyProblem("untranslated", found=len(missing))
    for problem in unusable_texts(study):
        yield StudyProblem("text_unusable", said=str(problem).rstrip("."))
    consent, facts = study.consent, facts_of(study)
    texts = {
        "briefing": study.briefing,
        "consent": "" if consent is None else consent.text,
        "debriefing": study.debriefing,
    }
    for name, text in texts.items():
        for each in disagreements(text, facts):
            code = f"{each.kind}_disagree"
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
    parts: set[int] = set()
    for arm in groups_of(study):
        counts, (abstracts, _) = trial_counts(study, arm), n_asked(study, arm)
        parts |= {abstracts, abstracts - counts["catch"], abstracts + 1, *counts.values()}
    return Facts(
        n_trials=study.n_trials,
        parts=frozenset(parts),
        minutes=study_length(study).minutes,
        field=study.field,
        id_days=study.external_id_days,
        retain_until=study.retain_until,
    )
