"""What the chapter on participants shows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from django.utils.translation import gettext as _
from django_countries import countries

from analysis import columns as c
from analysis.codec import MissingResult, need, present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.participants.results import (
    LOSSES,
    STEPS,
    Answers,
    ArmFlow,
    Code,
    Flow,
    ItemExposures,
    ParticipantFlow,
    Participants,
    People,
    ReactionTimes,
)
from analysis.stats.verdicts import Verdict
from experiment.models import Channel, Participant
from experiment.participant.forms import GENDERS
from lib import formatting as f

MOST_COUNTRIES = 3  # a sentence names so many; the table has all


@dataclass(frozen=True)
class Named:
    """A group under its name for readers."""

    label: str
    n: int
    share: float


@dataclass(frozen=True)
class Described:
    """Answers with names; `n_others`: people of the groups that a sentence leaves out, and of the rest."""

    groups: tuple[Named, ...]
    n_others: int
    n_different: int
    n: int

    @property
    def share_others(self) -> float:
        return self.n_others / self.n


def participants_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Participants).people)
    platforms = dict(Channel.Platform.choices)
    flow = present(source.of(Flow).flow)
    context = {
        "own": own,
        "gender": _described(present(own.gender), lambda code: _in_sentence(_gender(code))),
        "position": _described(present(own.position), _in_sentence),
        "country": _described(present(own.country), _country, MOST_COUNTRIES),
        "age": present(own.age),
        "experience": present(own.experience_years),
        "minutes": present(own.minutes),
        "trial_s": present(own.trial_s),
        "flow": flow,
        "n": _by_code(flow),
        "excluded": [s for s in flow.steps if s.code is Code.EXCLUDED] if flow else [],
        "routes": [(route.n, str(platforms.get(route.code, route.code))) for route in own.routes],
        "has_routes": any(route.code for route in own.routes),
        "others": [(other.n, str(Participant.Kind(other.code).label)) for other in own.other_kinds],
        "missing": _missing(own),
    }
    columns = (c.text(_("Characteristic"), "0"), c.text(_("Answer"), "1"), c.shown(_("n (%)"), "2"))
    tables = c.page_table(_("Participants in the analysis"), columns, _rows(own), "participants")
    return Page(context, tables, [own.method])


def _missing(own: People) -> list[tuple[list[str], MissingResult]]:
    """What is not described, by reason."""
    parts = {
        _("gender identity"): own.gender,
        _("age"): own.age,
        _("current position"): own.position,
        _("years of experience"): own.experience_years,
        _("country"): own.country,
        _("time per trial"): own.trial_s,
        _("time from consent to the end"): own.minutes,
    }
    found: dict[MissingResult, list[str]] = {}
    for name, part in parts.items():
        if isinstance(part, MissingResult):
            found.setdefault(part, []).append(name)
    return [(names, why) for why, names in found.items()]


def _by_code(flow: ParticipantFlow | None) -> Mapping[str, int]:
    """The first count of each step of the flow."""
    found: dict[str, int] = {}
    for step in flow.steps if flow else ():
        found.setdefault(step.code.value, step.n)
    return found


def _gender(code: str) -> str:
    return str(dict(GENDERS).get(code, code))


def _in_sentence(label: str) -> str:
    """A label that begins with a capital as it stands within a sentence; abbreviations stay.

    >>> _in_sentence("Doctoral student"), _in_sentence("MD student")
    ('doctoral student', 'MD student')
    """
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


def _country(code: str) -> str:
    return str(countries.name(code) or code)


LABELS: Mapping[str, Callable[[str], str]] = {
    "gender": _gender,
    "position": str,
    "country": _country,
}


def _described(
    own: Answers | None, label: Callable[[str], str], most: int | None = None
) -> Described | None:
    if own is None:
        return None
    shown = own.groups[:most]
    return Described(
        tuple(Named(label(g.answer), g.n, g.share) for g in shown),
        own.n - sum(g.n for g in shown),
        own.n_different,
        own.n,
    )


def _rows(own: People) -> Iterator[tuple[str, str, str]]:
    titles = {
        "gender": _("Gender identity"),
        "position": _("Current position"),
        "country": _("Country"),
    }
    for name, answers in own.answers.items():
        for group in answers.groups:
            label = LABELS[name](group.answer)
            yield titles[name], label, _n_and_share(group.n, group.share)
        if answers.n_rest:
            yield (
                titles[name],
                _("rarer answers, or no answer"),
                _n_and_share(answers.n_rest, answers.share_rest),
            )


def _n_and_share(n: int, share: float) -> str:
    return f"{f.number(n, 0)} ({f.percent(share)})"


# --- What the chapter on the flow of participants shows.

FIRST = (Code.RECRUITED, Code.CONSENTED, Code.STARTED)


def flow_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Flow).flow)
    n = {step.code: step.n for step in own.steps}
    context = {
        "own": own,
        "n_analysed": n[Code.ANALYSED],
        "n_began": next((n[code] for code in FIRST if n.get(code)), None),
    }
    reasons = (c.text(_("Reason"), "label"), c.count(_("Trials"), "n"))
    tables = [
        *c.page_table(_("Participants"), STEPS, own.steps, "flow_steps"),
        *c.page_table(
            _("Trials that are not analysed"), reasons, own.trials.excluded, "flow_trials"
        ),
    ]
    if own.arms:
        context |= _of_arms(own)
        tables += _arm_tables(own)
    return Page(context, tables, [own.method, *([own.losses_method] if own.losses else [])])


def _of_arms(own: ParticipantFlow) -> dict[str, object]:
    clear = [one for one in own.losses if one.verdict in (Verdict.ABOVE, Verdict.BELOW)]
    return {
        "lost": [(one, one.verdict.value, one.stage) for one in clear],
        "smallest_p": min((one.p_holm for one in own.losses), default=None),
    }


def _arm_tables(own: ParticipantFlow) -> list[Table]:
    """Steps as rows, arms as columns."""
    steps = {(step.code, step.reason): step for arm in own.arms for step in arm.steps}
    order = list(Code)
    rows = sorted(steps.values(), key=lambda step: order.index(step.code))
    columns = (
        c.text(_("Step"), lambda row: row.label),
        *(c.count(arm.arm, partial(ArmFlow.n_of, arm)) for arm in own.arms),
    )
    return [
        *c.page_table(_("Participants by arm"), columns, rows, "flow_arms"),
        *c.page_table(_("Losses by arm"), LOSSES, own.losses, "flow_losses"),
    ]


# --- What the chapter on exposures shows.


def exposures_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ItemExposures).exposures)
    columns = (c.count(_("Times judged"), "n"), c.count(_("Test cases"), "items"))
    return Page(
        {"own": own}, c.page_table(_("Exposures"), columns, own.histogram, "exposures_items")
    )


# --- What the chapter on reaction times shows.


def reaction_times_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ReactionTimes).reaction_times)
    columns = (
        c.text(_("Answers"), lambda row: _("right") if row.is_correct else _("wrong")),
        c.count(_("n"), "n"),
        c.shown(_("Median, s"), lambda row: f.seconds(row.median)),
        c.shown(
            _("Quartiles, s"),
            lambda row: (
                _("%(low)s to %(high)s") % {"low": f.seconds(row.q1), "high": f.seconds(row.q3)}
            ),
        ),
    )
    caption = _("Reaction times by answer")
    tables = c.page_table(caption, columns, own.by_correct, "reaction_times_histogram")
    return Page({"own": own}, tables, [own.method])
