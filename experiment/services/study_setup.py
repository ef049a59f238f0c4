"""Researchers set a study up, pin its items, word its consent and switch recruitment."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain, count
from typing import Any, Literal

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext as _

from experiment.domain.assignment import QUESTION
from experiment.domain.presets import PRESETS
from experiment.models import Channel, ConsentVersion, Item, Study
from experiment.models.studies import RULE_COLUMNS, Tasks
from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.channels import ADDRESSES, channels, host_problem
from experiment.services.recruitment import ID_PLACE
from experiment.services.study_language import speaking_language
from experiment.services.study_versions import revise

BRIEFINGS: Mapping[Tasks, str] = {
    "abstracts": "experiment/default_briefing.txt",
    "both": "experiment/default_briefing_both.txt",
    "questions": "experiment/default_briefing_questions.txt",
}


def default_briefing(language: str = "en", tasks: Tasks = "abstracts") -> str:
    """Without numbers: how many there are and how long it takes is generated where it is read."""
    with speaking_language(language):
        return render_to_string(BRIEFINGS[tasks]).strip()


def fit_briefing(study: Study, language: str) -> bool:
    """Put the built-in briefing that fits its tasks into the study, not saved, where it has another built-in one.

    language: in which that was written.
    """
    built_in = {default_briefing(language, tasks) for tasks in BRIEFINGS}
    fitting = default_briefing(language, study.tasks)
    if study.briefing == fitting or study.briefing not in built_in:
        return False
    study.briefing = fitting
    return True


def default_consent(language: str = "en") -> str:
    with speaking_language(language):
        return render_to_string("experiment/default_consent.txt").strip()


def unused_title(title: str, slug: str) -> str:
    """The title, or where another study has it, with the study's short name after it."""
    tails = chain(("", f" ({slug})"), (f" ({slug} {n})" for n in count(2)))
    titles = (title[: 200 - len(tail)] + tail for tail in tails)
    return next(free for free in titles if not Study.objects.filter(title=free).exists())


@transaction.atomic
def create_study(
    slug: str, preset: str, *, contact: str = "", by: User | None = None, **changes: Any
) -> Study:
    """Create a study from a preset, with its consent text and no items yet; who makes it is its first researcher."""
    chosen = PRESETS[preset]
    rules = {RULE_COLUMNS[rule]: value for rule, value in asdict(chosen.rules).items()}
    fields = chosen.settings | rules | {"slug": slug, "contact": contact} | changes
    if "title" not in changes:
        fields["title"] = unused_title(chosen.title, slug)
    given_consent = fields.pop("consent", "")
    study = Study(**fields)
    study.briefing = study.briefing or default_briefing(study.language, study.tasks)
    consent = given_consent or default_consent(study.language)
    study.full_clean()
    study.save()
    audit.record(Action.STUDY_CREATED, by=by, study=study, preset=preset)
    if by is not None:
        study.members.add(by)
    word_consent(study, consent, by=by)
    return study


def word_consent(
    study: Study, text: str, reason: str = "", by: User | None = None
) -> ConsentVersion | None:
    """Make this the study's consent text; a text that stands already makes no new version."""
    revise(study, consent=text, reason=reason, by=by)
    return study.consent


@transaction.atomic
def pin_items(study: Study, items: Iterable[Item], reason: str = "", by: User | None = None) -> int:
    """Let the study draw from these accepted items too, in place of other versions of the same ones."""
    items = list(items)
    keys = {item.key for item in items}
    kept = list(study.items.exclude(key__in=keys))
    n_before = study.study_items.filter(item__in=items).count()
    revise(study, items=[*kept, *items], reason=reason, by=by)
    return study.study_items.filter(item__in=items).count() - n_before


ProblemCode = Literal[
    "too_few_items",
    "works_run_out",
    "no_practice",
    "no_consent",
    "no_contact",
    "no_completion",
    "completion_without_id",
    "no_screen_out",
    "host_not_allowed",
    "recruitment_over",
    # Worth knowing (preflight.py)
    "no_ethics",
    "field_of_questions",
    "untranslated",
    "trials_disagree",
    "minutes_disagree",
    "field_disagree",
    "days_disagree",
    "date_disagree",
]


@dataclass(frozen=True, slots=True)
class StudyProblem:
    """What keeps participants from completing a study, or the study from being opened; a template words it."""

    code: ProblemCode
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

    def __str__(self) -> str:
        return render_to_string("experiment/study_problem.txt", {"problem": self}).strip()


def readiness_problems(study: Study) -> list[StudyProblem]:
    """What keeps the study from being opened to people; empty when it can be."""
    problems = completion_problems(study)
    if not study.contact.strip():
        problems.append(StudyProblem("no_contact"))
    if study.closes_at is not None and study.closes_at <= timezone.now():
        problems.append(StudyProblem("recruitment_over"))
    open_ones = [channel for channel in channels(study).values() if channel.is_open]
    return problems + [problem for channel in open_ones for problem in _channel_problems(channel)]


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
    """What keeps participants, simulated ones too, from completing the study."""
    problems = item_problems(study)
    if study.consent is None:
        problems.append(StudyProblem("no_consent"))
    return problems


def works_by_stratum(study: Study, without: Collection[int] = ()) -> dict[str, Counter[str]]:
    """The works that each stratum can be drawn from, with how many trials each allows one participant.

    That is one of an abstract, since nobody meets a work twice, and of questions as many as are about it.

    without: primary keys of items that are taken for paused.
    """
    works: dict[str, Counter[str]]
    works = {s: Counter() for s in ("human", "machine", "catch", QUESTION)}
    rows = study.drawable_items.exclude(kind=Item.Kind.PRACTICE).exclude(pk__in=without)
    for item in rows.only("key", "doi", "kind", "source"):
        found = works[item.stratum]
        found[item.work] = found[item.work] + 1 if item.is_question else 1
    return works


def item_problems(study: Study, without: Collection[int] = ()) -> list[StudyProblem]:
    """What test cases are lacking; `without` as in `works_by_stratum`."""
    works = works_by_stratum(study, without)
    counts: dict[str, int] = dict(study.trial_counts.items())
    problems = [
        StudyProblem("too_few_items", stratum, needed, works[stratum].total())
        for stratum, needed in counts.items()
        if needed > works[stratum].total()
    ]
    problems += _running_out(works, counts)
    practice = study.drawable_items.filter(kind=Item.Kind.PRACTICE)
    if study.shows_abstracts and not practice.exclude(pk__in=without).exists():
        problems.append(StudyProblem("no_practice"))
    return problems


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


@transaction.atomic
def set_recruitment(study: Study, state: str, by: User | None = None, reason: str = "") -> Study:
    """Switch recruitment; a study that cannot be completed is not opened."""
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if state in (Study.Recruitment.OPEN, Study.Recruitment.PILOT):
        problems = readiness_problems(study)
        if problems:
            message = _("%(study)s cannot be opened: %(problem)s.")
            raise ValidationError(
                [message % {"study": study.slug, "problem": problem} for problem in problems]
            )
    before, study.recruitment = study.recruitment, Study.Recruitment(state).value
    if study.recruitment != before:
        study.save(update_fields=["recruitment"])
        change = {"before": before, "after": study.recruitment}
        audit.record(Action.RECRUITMENT, by=by, study=study, reason=reason, **change)
    return study
