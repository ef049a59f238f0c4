"""The options that a team page's address gives, and what its form offers: people, a study's models with their accuracy, ways of combining."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.db.models import Count, Sum
from django.http import QueryDict
from django.urls import reverse
from django.utils.html import format_html

from analysis.data.filters import SOURCES
from analysis.lab import filter_form
from analysis.lab.filter_form import LABELS, Chosen, OneOf, choices_of, shortened
from analysis.lab.team_members import (
    HUMAN,
    PEOPLE,
    DefaultModels,
    Offered,
    default_models,
    members_of,
    offered_models,
)
from analysis.lab.team_words import METHODS, OUT_OF, SOURCE_LABELS
from analysis.services.compute import Asked, Waiting
from analysis.store import StoredResult
from analysis.teams.options import TeamOptions
from experiment.models import Item, ItemCount, Participant, Study, Trial
from experiment.services.counts import is_joined, judgments_of
from lib.formatting import count, percent

MOST_TOGETHER = 10  # models of a family that stand in one column


@dataclass(frozen=True, slots=True)
class Tick:
    """Something to be ticked, with a few words about it."""

    value: str
    label: str
    about: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Family:
    """Some models of a family: as many as stand together, below its name."""

    title: str
    ticks: Sequence[Tick]


def trial_counts(study: Study, shared: Chosen) -> dict[str, int]:
    """Trials by source, as the options let them through."""
    is_analysed = shared.options.trials == "analysed"
    if is_joined(study, shared.kind):
        shown = Item.objects.shown_by([study]).values("pk")
        trials = judgments_of(study, shared.kind).filter(trial__item__in=shown)
        trials = trials.valid() if is_analysed else trials
        return {s: trials.filter(trial__stratum=s).count() for s in SOURCES}
    of_kind = ItemCount.objects.filter(study=study, kind=shared.kind).order_by()
    counted = dict(
        of_kind.values_list("stratum").annotate(n=Sum("valid" if is_analysed else "judged"))
    )
    if not is_analysed:
        people = Participant.objects.of(study, shared.kind).under_way().order_by()
        judged = Trial.objects.filter(participant__in=people.values("pk"), judgment__isnull=False)
        for stratum, n in judged.order_by().values_list("stratum").annotate(n=Count("pk")):
            counted[stratum] = counted.get(stratum, 0) + n
    return {s: counted.get(s, 0) for s in SOURCES}


def people_ticks(n_trials: int, n_humans: int) -> list[Tick]:
    about: tuple[str, ...] = (
        count(n_trials, "trial"),
        "another participant's judgment of the same test case",
        "one more",
    )
    if not n_trials and not n_humans:
        return []
    values = [HUMAN, *(f"{HUMAN}-{n}" for n in range(2, len(PEOPLE) + 1))]
    rows = zip(values, PEOPLE, about, strict=True)
    return [Tick(v, label, words, n < n_humans) for n, (v, label, words) in enumerate(rows)]


def families_of(models: Mapping[str, Offered], current: Sequence[str]) -> list[Family]:
    """Families in the order in which their first models come; the nameless last."""
    found: dict[str, list[Tick]] = {}
    for name, m in models.items():
        tick = Tick(name, m.label, percent(m.accuracy), name in current)
        found.setdefault(m.family, []).append(tick)
    rest = found.pop("", [])
    if rest:
        found["Other models" if found else "Models"] = rest
    # A long family in parts, each with the name above it, so that none runs on into another column without it
    parts = []
    for title, ticks in found.items():
        size = ceil(len(ticks) / ceil(len(ticks) / MOST_TOGETHER))
        for start in range(0, len(ticks), size):
            name = f"{title}, continued" if start else title
            parts.append(Family(name, ticks[start : start + size]))
    return parts


# With more members than this, a slow method does not try the team's every part: that would take half a minute and more
MOST_MEMBERS = {"bayesian": 5, "logistic": 7}
SENT = (
    "sent"  # the form was sent, with whatever members: an address cannot say that none were ticked
)
SHARED = ("kind", "texts", "trials")  # filters that teams share with the other results
COMBINED_BY = "combined_by"  # how to combine; `method` is the reports' filter of models


def _with_about(labels: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    return {value: format_html("{} <small>{}</small>", *words) for value, words in labels.items()}


class TeamForm(forms.Form):
    combined_by = OneOf("Combined by", _with_about(METHODS), initial="logistic", says_initial=False)
    out_of = OneOf("Held out", _with_about(OUT_OF), initial="item", says_initial=False)


@dataclass(frozen=True)
class TeamChosen:
    """`problems` are sentences about what was left out; `is_chosen`: the address names the members, or none of them.

    default: the models that are ticked where the address names no members. elsewhere: where nothing can be combined, addresses' parts by
    which something can, and their labels.
    """

    page: ClassVar[str] = "results_teams"

    shared: Chosen
    form: TeamForm
    members: tuple[str, ...]
    is_chosen: bool
    problems: Sequence[str]
    people: Sequence[Tick]
    families: Sequence[Family]
    default: DefaultModels
    is_empty: bool = False
    elsewhere: Sequence[tuple[str, str]] = ()

    @cached_property
    def asked(self) -> Asked:
        return Asked(self.study, self.options, self.kind)

    def look(self, *, may_compute: bool = False) -> StoredResult | Waiting | None:
        """The result; else it is computed now, or by others, if members were chosen; None where they were not."""
        if not self.members or self.is_empty:
            return None
        # Nothing is computed for a glance
        return self.asked.ensure_computed() if self.is_chosen else self.asked.find()

    for_file = look

    @property
    def study(self) -> Study:
        return self.shared.study

    @property
    def kind(self) -> str:
        return self.shared.kind

    @property
    def address(self) -> str:
        return reverse("lab:results_teams", args=[self.study.slug])

    @property
    def source(self) -> str:
        return self.shared.options.source

    @property
    def method(self) -> str:
        return str(self.form[COMBINED_BY].value())

    @property
    def options(self) -> TeamOptions:
        return TeamOptions(**self._values, all_subsets=self.tries_all)

    @property
    def _values(self) -> dict[str, Any]:
        shared = self.shared.options
        return {
            "source": self.source,
            "members": self.members,
            "method": self.method,
            "out_of": self.form["out_of"].value(),
            "participants": shared.participants,
            "texts": shared.texts,
            "trials": shared.trials,
        }

    @property
    def not_all_tried(self) -> str:
        """Sentence on teams that the result leaves out; "" where it has all."""
        if self.tries_all:
            return ""
        return (
            f"With more than {self.most_members} members, this method is evaluated on the whole team, on the team with one person fewer and on "
            "single members, but not on every other combination."
        )

    @property
    def tries_all(self) -> bool:
        """True if every team that the ticked can form is tried."""
        return not self.most_members or len(self.members) <= self.most_members

    @property
    def most_members(self) -> int:
        """Up to how many members every team is tried; 0: any number."""
        return MOST_MEMBERS.get(self.method, 0)

    @property
    def query(self) -> str:
        """The address' part that gives this choice, without defaults but with the members."""
        defaults = {**self.shared.defaults, COMBINED_BY: "logistic", "out_of": "item"}
        values = {**self._values, "kind": self.kind, COMBINED_BY: self.method}
        single = ("source", COMBINED_BY, "out_of", *SHARED)
        pairs = [(name, values[name]) for name in single if values[name] != defaults[name]]
        return urlencode([*pairs, *(("members", name) for name in self.members)])

    @property
    def ticked(self) -> str:
        """Members that are ticked where the address names none."""
        members = [*(["a human"] if HUMAN in self.members else ()), self.default.words]
        return f"Ticked: {' and '.join(filter(None, members))}."

    @property
    def sources(self) -> forms.BoundField | None:
        """None where the study has one source only."""
        return next((field for field in self.shared.one_of if field.name == "source"), None)

    @property
    def hidden_source(self) -> str:
        """The source, where the form must hold it and does not offer it."""
        is_needed = not self.sources and self.source != self.shared.defaults["source"]
        return self.source if is_needed else ""

    @property
    def no_people(self) -> str:
        on_these = " on these test cases" if self.sources else ""
        return f"The analysis contains no participants' trials{on_these}."

    @property
    def no_models(self) -> str:
        return f"No language model has scored the full texts of {self._test_cases}, or was asked about them."

    @property
    def no_members(self) -> str:
        return (
            "A team needs two members, and there are none yet: the analysis contains no participants' trials, and no language model has scored "
            f"{self._test_cases} or was asked about them."
        )

    @property
    def _test_cases(self) -> str:
        return "these test cases" if self.sources else "the test cases"

    @property
    def others(self) -> list[forms.BoundField]:
        """Filters that are seldom changed."""
        return [field for field in self.shared.one_of if field.name in SHARED]

    @property
    def other_words(self) -> str:
        return " · ".join(LABELS[field.name][field.value()] for field in self.others)

    @property
    def command(self) -> str:
        """Command that computes this in a terminal, and stores it for the page."""
        parts = [".venv/bin/python", "manage.py", "team", self.study.slug, "--source", self.source]
        parts += ["--members", *self.members, "--method", self.method]
        parts += ["--all-subsets"] * self.tries_all
        defaults = {**self.shared.defaults, "out_of": "item"}
        values = {**self._values, "kind": self.kind}
        for name in ("out_of", *SHARED):
            if values[name] != defaults[name]:
                parts += [f"--{name.replace('_', '-')}", values[name]]
        return shlex.join([*parts, "--output", "FOLDER"])


def read(study: Study, query: QueryDict) -> TeamChosen:
    """The choice that an address gives; a sentence names what is wrong, which is left out."""
    own = ("source", *SHARED, "members", COMBINED_BY, "out_of", SENT)
    unknown = [name for name in query if name not in (*own, *filter_form.OTHERS)]
    problems = [f"There is no choice “{shortened(name)}”." for name in unknown]
    shared = _shared(study, query, problems)
    form = TeamForm(query, auto_id=False)
    problems += [str(problem) for errors in form.errors.values() for problem in errors]

    models = offered_models(study, shared.options)
    n_trials = trial_counts(study, shared).get(shared.options.source, 0)
    is_chosen = "members" in query or SENT in query
    is_empty = not n_trials and not models
    default = default_models(study, models)
    names = list(default.names)
    n_humans = min(1, n_trials)
    if is_chosen:
        n_humans, names = members_of(study, query.getlist("members"), models, problems)
    if form["out_of"].value() == "participant" and n_humans != 1:
        said = (
            "Participants can only be held out if the team has exactly one human, so that each trial belongs to one "
            "participant. Only test cases were held out."
        )
        problems.append(said)
        sent = query.copy()
        sent["out_of"] = "item"
        form = TeamForm(sent, auto_id=False)
    return TeamChosen(
        shared=shared,
        form=form,
        members=(HUMAN,) * n_humans + tuple(names),
        is_chosen=is_chosen,
        problems=problems,
        people=people_ticks(n_trials, n_humans),
        families=families_of(models, names),
        default=default,
        is_empty=is_empty,
        elsewhere=_elsewhere(study, shared) if is_empty else (),
    )


def _elsewhere(study: Study, shared: Chosen) -> list[tuple[str, str]]:
    """Choices, other than those made, that would find trials or scores."""
    now = {name: shared.form.value(name) for name in ("kind", "texts", "trials", "source")}
    found = []
    for field in shared.one_of:
        for value, _label in choices_of(field):
            if value == now.get(field.name) or field.name == "texts":
                continue
            query = urlencode({**now, field.name: value})
            other = _shared(study, QueryDict(query), [])
            options = other.options
            n_trials = trial_counts(study, other).get(options.source, 0)
            if n_trials or offered_models(study, options):
                found.append((query, LABELS[field.name][value]))
    return found


def _shared(study: Study, query: QueryDict, problems: list[str]) -> Chosen:
    """The filters that teams share with other results; one source at a time."""
    own = QueryDict(mutable=True)
    for name in ("source", *SHARED):
        if name in query:
            own.setlist(name, query.getlist(name))
    source = own.get("source", "")
    if source not in SOURCES:
        own.pop("source", None)
        if source not in ("", "all"):
            problems.append(
                f"Test cases: “{shortened(source)}” is not one of {', '.join(SOURCES)}."
            )
    shared = filter_form.read(study, own)
    problems += shared.problems
    # There is no team on both sources at once
    offered = choices_of(shared.form["source"])
    shared.form.one("source").choices = [(v, SOURCE_LABELS[v]) for v, _ in offered if v != "all"]
    return shared
