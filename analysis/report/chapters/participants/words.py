"""The four chapters on who took part, one after the other, as sentences and tables."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from django.utils.formats import date_format
from django_countries import countries

from analysis import columns as c
from analysis.codec import MissingResult, need, present
from analysis.presentation import FigureText, Paragraph, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.advised.own_answers import own_answers
from analysis.report.chapters.participants.results import NO_ANALYSED, Answers, Participants, People
from analysis.report.chapters.participants.results.flow import (
    LEFT,
    LOSSES,
    NOT_ANALYSED,
    STEPS,
    ArmFlow,
    Code,
    Flow,
    ParticipantFlow,
    TrialFlow,
)
from analysis.report.chapters.participants.results.trials import ItemExposures, ReactionTimes, Times
from analysis.stats.distributions import Exposures, Spread
from analysis.stats.verdicts import Verdict
from experiment.models import Channel, Participant
from experiment.participant.forms import GENDERS
from lib import formatting as f

MOST_COUNTRIES = 3  # a sentence names so many; the table has all


CHARACTERISTICS = (c.text("Characteristic", "0"), c.text("Answer", "1"), c.shown("n (%)", "2"))


def participants_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Participants).people)
    flow = present(source.of(Flow).flow)
    if own.n_analysed:
        # Of others no trial was published
        their = "their " if flow and flow.is_after_publication else ""
        trials = [
            f"{f.number(of.analysed, 0)} of {their}{f.count(of.judged, *nouns)}"
            for of, nouns in _trials(flow, "judged trial")
        ]
        people = f.count(own.n_analysed, "participant")
        counted = ", and ".join([people, " and ".join(trials)] if trials else [people])
        found = f"The analysis of the whole study includes {counted}."
    else:
        found = NO_ANALYSED[0]
    ethics = (
        f"The study was approved by {own.ethics_body} (number {own.ethics_number})."
        if own.ethics_number
        else ""
    )
    methods_text = sentences(*_recruited(own, flow), found, *_answers(own), *own.payment, ethics)
    others = ""
    if own.other_kinds:
        kinds = (f"{Participant.Kind(k.code).label} ({f.number(k.n, 0)})" for k in own.other_kinds)
        others = (
            f"This description does not include other kinds of participants: {', '.join(kinds)}."
        )
    text = [
        Paragraph(methods_text, copied_as="methods-text"),
        *(Paragraph(one, is_quiet=True) for one in (*_missing(own), others) if one),
    ]

    named: Mapping[str, tuple[str, Callable[[str], str]]] = {
        "gender": ("Gender identity", _gender),
        "position": ("Current position", str),
        "country": ("Country", _country),
    }
    rows = []
    for name, answers in own.answers.items():
        title, label = named[name]
        groups = [(label(group.answer), group.n, group.share) for group in answers.groups]
        if answers.n_rest:
            groups.append(("rarer answers, or no answer", answers.n_rest, answers.share_rest))
        rows += [(title, answer, f"{f.number(n, 0)} ({f.percent(share)})") for answer, n, share in groups]  # fmt: skip
    tables = c.page_table("Participants in the analysis", CHARACTERISTICS, rows, "participants")
    return Page(text=text, tables=tables, methods=[own.method], finding=found)


def _trials(
    flow: ParticipantFlow | None, judged: str
) -> Iterator[tuple[TrialFlow, tuple[str, str]]]:
    """Judgments and answers, as far as there are any, and a noun for each; `judged` is that of judgments."""
    if flow and flow.trials.judged:
        yield flow.trials, (judged, f"{judged}s")
    if flow and flow.answers.judged:
        yield flow.answers, ("answer to questions", "answers to questions")


def _recruited(own: People, flow: ParticipantFlow | None) -> Iterator[str]:
    """How and when people came, and how many stayed."""
    origins = {
        "simulated": "The participants were simulated to test the study; no person took part.",
        "imported": "Participants and trials come from previously published data.",
    }
    if own.kind in origins:
        yield origins[own.kind]
    if own.kind != "simulated" and own.first_day and own.last_day:
        first, last = (date_format(day, "j F Y") for day in (own.first_day, own.last_day))
        when = f"on {first}" if first == last else f"from {first} to {last}"
        yield f"Data were collected {when}."

    n = flow.first_counts if flow else {}
    if n.get(Code.CONSENTED):
        started, finished = (f.number(n.get(code), 0) for code in (Code.STARTED, Code.FINISHED))
        people = f.count(n[Code.CONSENTED], "participant")
        yield f"{people} gave consent, {started} started the trials and {finished} finished."
    elif flow and flow.is_after_publication:
        yield f"The numbering of the published data has {f.count(n[Code.RECRUITED], 'participant')}."
    if any(route.code for route in own.routes):
        platforms = dict(Channel.Platform.choices)
        named = (
            f"{platforms.get(route.code, route.code) or 'a plain link'} ({f.number(route.n, 0)})"
            for route in own.routes
        )
        yield f"They came through {', '.join(named)}."

    if n.get(Code.WITHDRAWN):
        yield f"{f.number(n[Code.WITHDRAWN], 0)} withdrew, and their data were removed."
    if flow and flow.n_excluded:
        n_excluded = f.number(flow.n_excluded, 0)
        excluded = f"{n_excluded} {f.verb(flow.n_excluded, 'was', 'were')} excluded"
        reasons = [step for step in flow.steps if step.code is Code.EXCLUDED]
        counted = [f"{step.label} ({f.number(step.n, 0)})" for step in reasons]
        if flow.is_after_publication:
            yield f"{excluded} before publication."
        else:
            yield f"{excluded}: {reasons[0].label if len(reasons) == 1 else ', '.join(counted)}."
    # They are among those excluded, and told once more with the researchers' reasons
    if flow and flow.by_hand:
        n_by_hand = sum(each.n for each in flow.by_hand)
        why = ", ".join(f"{each.label} ({f.number(each.n, 0)})" for each in flow.by_hand)
        yield f"The researchers excluded {f.count(n_by_hand, 'participant')} by hand: {why}."


def _answers(own: People) -> Iterator[str]:
    gender, position = present(own.gender), present(own.position)
    age, experience = present(own.age), present(own.experience_years)
    country = present(own.country)
    if gender and gender.groups:
        groups = _groups(
            gender, lambda code: _in_sentence(_gender(code)), "another one, or not stated"
        )
        yield f"Their self-reported gender identities were {groups}."
    if age:
        span = (
            ""
            if age.min == age.max
            else f", range {f.number(age.min, 0)} to {f.number(age.max, 0)}"
        )
        yield f"Their mean age was {f.number(age.mean, 1)} years (SD = {f.number(age.sd, 1)}{span}{_known(age, own)})."
    if position and position.groups:
        groups = _groups(position, _in_sentence, "another one, or not stated")
        yield f"Their current positions were {groups}."
    if experience:
        mean, sd = f.number(experience.mean, 1), f.number(experience.sd, 1)
        yield f"They had a mean of {mean} years of experience in the field (SD = {sd}{_known(experience, own)})."
    if country:
        lived = f"They lived in {f.count(country.n_different, 'country', 'countries')}"
        groups = _groups(country, _country, "another country, or not stated", MOST_COUNTRIES)
        yield f"{lived}: {groups}." if country.groups else f"{lived}."
    if trial_s := present(own.trial_s):
        median, low, high = (f.number(x, 0) for x in (trial_s.median, trial_s.q1, trial_s.q3))
        yield f"The median trial took {median} s (quartiles {low} and {high} s)."
    if minutes := present(own.minutes):
        median, low, high = (f.number(x, 0) for x in (minutes.median, minutes.q1, minutes.q3))
        yield f"The median time from consent to the end was {median} minutes (quartiles {low} and {high})."


def _known(spread: Spread, own: People) -> str:
    """Sentence on how many people a number is known of, where these are not all."""
    return f"; n = {f.number(spread.n, 0)}" if spread.n < own.n_analysed else ""


def _groups(
    answers: Answers, label: Callable[[str], str], rest: str, most: int | None = None
) -> str:
    """Groups with their sizes, in the order of these; `rest` names those who gave another answer, or none."""
    shown = answers.groups[:most]
    # Groups of equal size are all shown, or none is
    shown += tuple(g for g in answers.groups[len(shown) :] if shown and g.n == shown[-1].n)
    parts = [f"{label(g.answer)} ({f.number(g.n, 0)}, {f.percent(g.share)})" for g in shown]
    named = sum(g.n for g in answers.groups)
    if further := named - sum(g.n for g in shown):
        parts.append(f"other countries ({f.number(further, 0)}, {f.percent(further / answers.n)})")
    if others := answers.n - named:
        parts.append(f"{rest} ({f.number(others, 0)}, {f.percent(others / answers.n)})")
    return ", ".join(parts)


def _missing(own: People) -> Iterator[str]:
    """A sentence for each reason why something is not described."""
    parts = {
        "gender identity": own.gender,
        "age": own.age,
        "current position": own.position,
        "years of experience": own.experience_years,
        "country": own.country,
        "time per trial": own.trial_s,
        "time from consent to the end": own.minutes,
    }
    found: dict[MissingResult, list[str]] = {}
    for name, part in parts.items():
        if isinstance(part, MissingResult):
            found.setdefault(part, []).append(name)
    for why, names in found.items():
        yield f"Not described: {f.listing(names)}. {why.reason} {why.needed}".rstrip()


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


# --- From recruitment to analysis.

FIRST = (Code.RECRUITED, Code.CONSENTED, Code.STARTED)
SHOWN_FIRST = (*FIRST, Code.FINISHED)  # in the figure


EXCLUDED_TRIALS = (c.text("Reason", "label"), c.count("Trials", "n"))
EXCLUDED_ANSWERS = (c.text("Reason", "label"), c.count("Answers", "n"))


def flow_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(Flow).flow)
    n = own.first_counts
    found = "These participants have neither judged a test case nor answered a question."
    if own.trials.judged or own.answers.judged:
        analysed = n[Code.ANALYSED]
        began = next((n[code] for code in FIRST if n.get(code)), None)
        of_all = (
            f.count(analysed, "participant")
            if began is None or began == analysed
            else f"{f.number(analysed, 0)} of {f.count(began, 'participant')}"
        )
        numbered = " in the published numbering" if own.is_after_publication else ""
        found = f"The analysis includes {of_all}{numbered}."
    where = "of the analysed participants" if own.is_after_publication else "in the whole study"
    judged = [
        f"Of {f.count(of.judged, *nouns)} {where}{', on test cases of every source' if of is own.trials else ''}, "
        f"{f.number(of.analysed, 0)} {f.verb(of.analysed, 'is', 'are')} analysed."
        for of, nouns in _trials(own, "judged trial")
    ]
    tables = [
        *c.page_table("Participants", STEPS, own.steps, "flow_steps"),
        *c.page_table(
            "Trials that are not analysed", EXCLUDED_TRIALS, own.trials.excluded, "flow_trials"
        ),
        *c.page_table(
            "Answers that are not analysed", EXCLUDED_ANSWERS, own.answers.excluded, "flow_answers"
        ),
    ]
    if own.arms:
        # Steps as rows, arms as columns
        steps = {(step.code, step.reason): step for arm in own.arms for step in arm.steps}
        order = list(Code)
        rows = sorted(steps.values(), key=lambda step: order.index(step.code))
        columns = (
            c.text("Step", lambda row: row.label),
            *(c.count(arm.arm, partial(ArmFlow.n_of, arm)) for arm in own.arms),
        )
        tables += c.page_table("Participants by arm", columns, rows, "flow_arms")
        tables += c.page_table("Losses by arm", LOSSES, own.losses, "flow_losses")
    text = [
        *paragraphs(found, sentences(*judged)),
        *([Paragraph("", _arms_compared(own))] if own.losses else []),
        *paragraphs(own.note),
    ]
    methods = [own.method, *([own.losses_method] if own.losses else [])]
    return Page(text=text, tables=tables, methods=methods, finding=found)


LOST = {LEFT: "left before finishing", NOT_ANALYSED: "finished and are not analysed"}


def _arms_compared(own: ParticipantFlow) -> list[str]:
    """A sentence for each arm that clearly lost another share, or that none did."""
    told = []
    for one in own.losses:
        if one.verdict not in (Verdict.ABOVE, Verdict.BELOW):
            continue
        larger = "larger" if one.verdict is Verdict.ABOVE else "smaller"
        happened = (
            f"a {larger} share of participants left before finishing"
            if one.stage == LEFT
            else f"a {larger} share of finishers is not analysed"
        )
        told.append(
            f"In the arm “{one.arm}”, {happened} than in the other arms: {f.percent(one.share)} "
            f"against {f.percent(one.share_others)} ({f.p_value(one.p_holm)} after Holm)."
        )
    if told:
        return told
    smallest = f.p_value(min(one.p_holm for one in own.losses))
    stages = {one.stage for one in own.losses}
    who = [words for stage, words in LOST.items() if stage in stages]
    return [
        f"Arms do not clearly differ in the share of participants who {', or who '.join(who)} (smallest p after Holm: {smallest})."
    ]


def flow_figure(own: ParticipantFlow) -> FigureText:
    first = next((s.n for s in own.steps if s.code in SHOWN_FIRST), 0)
    counted = ", ".join(f"{s.label.lower()} {f.number(s.n, 0)}" for s in own.steps if s.n)
    return FigureText(
        "From recruitment to analysis",
        sentences(
            f"n = {f.count(first, 'person', 'people')} at the first step. Counts cover the whole study and have no interval. "
            "If several reasons for exclusion apply, the first counts.",
            own.note,
        ),
        sentences(
            f"Flow of people: {counted}.",
            *(
                f"{plural.capitalize()}: {f.number(of.judged, 0)}, analysed {f.number(of.analysed, 0)}."
                for of, (_, plural) in _trials(own, "judgment")
            ),
        ),
    )


# --- How often each test case was judged.


EXPOSURES = (c.count("Times judged", "n"), c.count("Test cases", "items"))


def exposures_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ItemExposures).exposures)
    low, high = f.number(own.min, 0), f.number(own.max, 0)
    how_often = (
        f.count(own.min, "time")
        if own.min == own.max
        else f"{f.number(own.mean)} times on average (SD {f.number(own.sd)}, from {low} to {high})"
    )
    judged = f.verb(own.n_items, "was", "were each")
    found = f"{f.count(own.n_items, 'test case')} {judged} judged {how_often}."
    tables = c.page_table("Judgments per test case", EXPOSURES, own.histogram, "exposures_items")
    return Page(text=paragraphs(found, own_answers(source)), tables=tables, finding=found)


def exposures_figure(own: Exposures) -> FigureText:
    cases = f.count(own.n_items, "test case")
    spread = f"mean {f.number(own.mean)}, SD {f.number(own.sd)}, from {own.min} to {own.max}."
    return FigureText(
        "Judgments per test case",
        f"n = {cases}: {spread} Counts have no interval.",
        f"Judgments per test case over {cases}: {spread}",
    )


# --- How long answers took.


BY_ANSWER = (
    c.text("Answers", lambda row: "right" if row.is_correct else "wrong"),
    c.count("n", "n"),
    c.shown("Median, s", lambda row: f.seconds(row.median)),
    c.shown("Quartiles, s", lambda row: f"{f.seconds(row.q1)} to {f.seconds(row.q3)}"),
)


def reaction_times_page(source: SourceResults, about: About) -> Page:
    own = need(source.of(ReactionTimes).reaction_times)
    q1, median, q3 = (f.seconds(x) for x in own.quartiles)
    answers = f.count(own.n, "answer")
    spread = (
        f"at least half of {answers} took about as long"
        if q1 == q3
        else f"half of {answers} took between {q1} and {q3} seconds"
    )
    found = f"The median time per answer was {median} seconds; {spread}."
    without = (
        f"{f.count(own.n_missing, 'trial')} without a time {f.verb(own.n_missing, 'is', 'are')} excluded."
        if own.n_missing
        else ""
    )
    tables = c.page_table(
        "Reaction times by answer", BY_ANSWER, own.by_correct, "reaction_times_histogram"
    )
    text = paragraphs(found, without, own_answers(source))
    return Page(text=text, tables=tables, methods=[own.method], finding=found)


def reaction_times_figure(own: Times) -> FigureText:
    judgments = f.count(own.n, "judgment")
    median = f"median {f.seconds(own.quartiles[1])} s"
    if own.median_ci95:
        low, high = (f.seconds(x) for x in own.median_ci95)
        median += f" (95% interval from order statistics {low} to {high} s)"
    without = f"; {f.count(own.n_missing, 'judgment')} without a time" if own.n_missing else ""
    return FigureText(
        "Time taken for a judgment",
        f"n = {judgments}{without}; {median}.",
        f"Histogram of the times of {judgments} on a logarithmic axis: {median}.",
    )
