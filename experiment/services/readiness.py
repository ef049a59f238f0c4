"""Problems that keep a study from being opened, remarks that are worth knowing before, and where each is corrected."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from django.utils import timezone

from experiment.domain.assignment import QUESTION
from experiment.domain.looks import looks
from experiment.domain.text_checks import Disagreement, Facts, disagreements
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
from experiment.services.site_address import WHAT_TO_SET, address_fault
from experiment.services.study_language import untranslated, unusable_texts
from lib.formatting import count, verb

KINDS = {"human": "human-created", "machine": "machine-created", "catch": "catch"}


@dataclass(frozen=True, slots=True)
class StudyProblem:
    """A problem that keeps participants from completing a study, or the study from being opened; or else a remark.

    section: of the set-up, where it is corrected (a key of `LABELS` in experiment/lab/setup.py); or `recruitment`, whose page is another.
    sentence: without a capital and a full stop, which the page adds.
    """

    section: str
    sentence: str
    is_blocking: bool = True

    def __str__(self) -> str:
        return self.sentence


def readiness_problems(study: Study) -> list[StudyProblem]:
    """Problems that keep the study from being opened to people; empty when it can be."""
    problems = completion_problems(study)
    if not study.contact.strip():
        sentence = "no contact address: participants must know whom they can ask"
        problems.append(StudyProblem("general", sentence))
    if study.closes_at is not None and study.closes_at <= timezone.now():
        sentence = "the last day of recruitment has passed"
        problems.append(StudyProblem("recruitment", sentence))
    # Some were accepted before the checks could tell
    pairs = study.drawable_items.exclude(kind=Item.Kind.QUESTION).order_by("key", "version")
    named = pairs.only("key", "version", "original", "altered")
    if alike := [str(item) for item in named if looks(item.original) == looks(item.altered)]:
        cases = count(len(alike), "test case")
        sentence = f"the two versions of {cases} look the same, so nobody could choose between them: {', '.join(alike)}"
        problems.append(StudyProblem("items", sentence))
    open_ones = [channel for channel in channels(study).values() if channel.is_open]
    if _comes_from_a_site(study) and (fault := address_fault()):
        sentence = (
            f"a recruitment site cannot send participants here: {fault}. {WHAT_TO_SET.rstrip('.')}"
        )
        problems.append(StudyProblem("recruitment", sentence))
    return problems + [problem for channel in open_ones for problem in _channel_problems(channel)]


def _comes_from_a_site(study: Study) -> bool:
    """True if a recruitment site sends participants here, by an open channel."""
    open_ones = (channel for channel in channels(study).values() if channel.is_open)
    return any(channel.platform != Channel.Platform.PLAIN for channel in open_ones)


def _channel_problems(channel: Channel) -> Iterator[StudyProblem]:
    """Things that those who come by it would lack at the end."""
    named = f"channel “{channel.code}”"
    for address in (getattr(channel, name) for name in ADDRESSES):
        if host_problem(address):
            sentence = f"{named} leads to {address}, but this site does not allow that host"
            yield StudyProblem("recruitment", sentence)
    if channel.platform == Channel.Platform.PLAIN:
        return
    if channel.platform == Channel.Platform.SONA and ID_PLACE not in channel.completion_url:
        sentence = f"{named} has no completion link that contains {ID_PLACE}: SONA grants credit only by the participant's ID"
        yield StudyProblem("recruitment", sentence)
    elif not (channel.completion_url or channel.completion_code):
        sentence = f"{named} has neither a completion link nor a completion code, so its recruitment site could not tell which participants have finished"
        yield StudyProblem("recruitment", sentence)
    if not (channel.screen_out_url or channel.screen_out_code):
        sentence = f"{named} has neither a screen-out link nor a screen-out code, so participants who do not agree, or who arrive too late, could not return to its recruitment site"
        yield StudyProblem("recruitment", sentence)


def completion_problems(study: Study) -> list[StudyProblem]:
    """Problems that keep participants, simulated ones too, from taking the study as it will be: nobody tries it with these.

    What else keeps it from opening is of its contact, its dates and its channels, by none of which simulated participants come.
    """
    problems = item_problems(study)
    for arm in arms_of(study):
        for sentence in arm_problems(study, arm).values():
            problems.append(StudyProblem("arms", _of_arm(arm, sentence.rstrip("."))))
    if study.consent is None:
        problems.append(StudyProblem("texts", "no consent text"))
    if study.cell_field and not study.forms_cells:
        sentence = "groups are formed by an answer that participants are not asked for"
        problems.append(StudyProblem("target", sentence))
    if not is_advised(study):
        return problems
    # Things that participants of an advised arm would lack, or would not be told at the end
    if adviser_of(study) is None:
        sentence = "an arm has advice, but the study has no adviser"
        return [*problems, StudyProblem("advice", sentence)]
    if fault := advice_fault(study):
        sentence = f"the advice, which is fixed when the study opens, cannot be computed: {fault.rstrip('.')}"
        problems.append(StudyProblem("advice", sentence))
    if must_be_revealed(study) and not study.debriefing.strip():
        sentence = "the advice is made up, but the study does not have its own debriefing text that explains this to participants"
        problems.append(StudyProblem("texts", sentence))
    return problems


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
    """Test cases that are lacking; `without` as in `works_by_stratum`."""
    groups = groups_of(study)
    problems = []
    for arm in groups:
        works = works_by_stratum(study, without, () if arm is None else arm.subfields)
        counts: dict[str, int] = dict(trial_counts(study, arm).items())
        found = {stratum: works[stratum].total() for stratum in counts}
        sentences = [_too_few(s, n, found[s]) for s, n in counts.items() if n > found[s]]
        sentences += _running_out(works, counts)
        problems += [StudyProblem("items", _of_arm(arm, said)) for said in sentences]
    practice = study.drawable_items.filter(kind=Item.Kind.PRACTICE)
    if study.shows_abstracts and not practice.exclude(pk__in=without).exists():
        problems.append(StudyProblem("items", "no practice test case"))
    return problems


def _of_arm(arm: Arm | None, sentence: str) -> str:
    return sentence if arm is None else f"arm “{arm.name}”: {sentence}"


def _too_few(stratum: str, needed: int, found: int) -> str:
    if stratum == QUESTION:
        asked = count(needed, "question")
        can = "none can be asked" if needed == 1 else f"only {found} can be asked"
        return f"each participant answers {asked}, but {can}"
    judged = count(needed, f"{KINDS[stratum]} test case")
    can = (
        "none can be drawn" if needed == 1 else f"only {found} from different articles can be drawn"
    )
    return f"each participant judges {judged}, but {can}"


def _running_out(works: Mapping[str, Counter[str]], counts: Mapping[str, int]) -> Iterator[str]:
    """A work met in one stratum is closed in the others: in the worst case those are gone that allow most trials there."""
    sharing = ("human", "machine", QUESTION)
    for stratum in sharing:
        own, n = works[stratum], counts.get(stratum, 0)
        shared = {s: own.keys() & works[s].keys() for s in sharing if s != stratum}
        met = sum(min(counts.get(s, 0), len(both)) for s, both in shared.items())
        at_most = sorted((own[work] for work in set().union(*shared.values())), reverse=True)
        if own.total() - sum(at_most[:met]) < n <= own.total():
            most = max(shared, key=lambda s: min(counts.get(s, 0), len(shared[s])))
            yield _runs_out(stratum, most, len(shared[most]))


def _runs_out(stratum: str, other: str, n: int) -> str:
    """n: works of both strata."""
    also = "also has" if n == 1 else "also have"
    apart = "and nobody sees both an abstract and a question about the same article"
    if stratum == QUESTION:
        return f"a participant could run out of questions: {n} of the articles with questions {also} {other}-created test cases, {apart}"
    start = f"a participant could run out of {stratum}-created test cases: {n} of the articles with such test cases {also}"
    if other == QUESTION:
        return f"{start} questions, {apart}"
    return f"{start} {other}-created test cases"


def preflight(study: Study) -> list[StudyProblem]:
    """Blocking ones first."""
    return [*readiness_problems(study), *_worth_knowing(study)]


def _worth_knowing(study: Study) -> Iterator[StudyProblem]:
    if not _comes_from_a_site(study) and (fault := address_fault()):
        yield _notice("recruitment", f"{fault}. {WHAT_TO_SET.rstrip('.')}")
    if not study.ethics_number:
        yield _notice("general", "the consent page does not name an ethics approval")
    if study.question_items and study.field:
        # Questions of a field that neither participants nor models hear of
        rows = study.items.filter(kind=Item.Kind.QUESTION).exclude(field__in=("", study.field))
        if others := sorted({*rows.values_list("field", flat=True)}):
            sentence = f"its questions are about {', '.join(others)}, but participants and models are told that the field is {study.field}"
            yield _notice("general", sentence)
    if missing := untranslated(study):
        n = len(missing)
        english, are = count(n, "text"), verb(n, "is", "are")
        yield _notice("wording", f"{english} of the participants' pages {are} in English only")
    for problem in unusable_texts(study):
        sentence = f"the pages show the built-in text in place of one of the study's own texts. {str(problem).rstrip('.')}"
        yield _notice("wording", sentence)
    # Texts of the study that say otherwise than its settings
    consent, facts = study.consent, facts_of(study)
    texts = {
        "briefing": study.briefing,
        "consent": "" if consent is None else consent.text,
        "debriefing": study.debriefing,
    }
    for name, text in texts.items():
        for each in disagreements(text, facts):
            yield _notice("texts", f"the {name} says “{each.said}”, but {_as_set(each)}")


def _notice(section: str, sentence: str) -> StudyProblem:
    return StudyProblem(section, sentence, is_blocking=False)


def _as_set(found: Disagreement) -> str:
    is_so = found.is_so
    match found.kind:
        case "trials":
            return f"a participant judges {is_so} in total"
        case "minutes":
            return f"the pages say {is_so} minutes"
        case "field":
            return f"the study's field is {is_so}"
        case "days":
            return f"recruitment IDs are kept for {is_so} days"
        case "date":
            return f"data are kept until {is_so}" if is_so else "no such date has been set"


def facts_of(study: Study) -> Facts:
    """The facts that texts may state about the study."""
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
