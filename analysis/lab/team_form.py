"""The options that a team page's address gives, and the choices that its form offers."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from analysis.data.filters import SOURCES
from analysis.lab import filter_form
from analysis.lab.filter_form import Chosen, Filter
from analysis.lab.team_offers import (
    HUMAN,
    METHODS,
    OUT_OF,
    PEOPLE,
    DefaultModels,
    Family,
    Offered,
    Tick,
    default_models,
    families_of,
    offered_models,
    people_ticks,
    trial_counts,
)
from analysis.services.compute import Asked, Waiting
from analysis.store import StoredResult
from analysis.teams.options import TeamOptions
from experiment.models import Study

# With more members than this, a slow method does not try the team's every part; 26 Bayesian teams of 5 take half a minute
MOST_SLOW = 5
SLOW = ("bayesian", "improved")
SENT = (
    "sent"  # the form was sent, with whatever members: an address cannot say that none were ticked
)
SHARED = ("participants", "texts", "trials")  # filters that teams share with the other results


@dataclass(frozen=True)
class TeamChosen:
    """`problems` are sentences about what was left out; `is_chosen`: the address names the members, or none of them.

    default: the models that are ticked where the address names no members. elsewhere: where nothing can be combined, addresses' parts by
    which something can, and their labels.
    """

    page: ClassVar[str] = "results_teams"

    shared: Chosen
    members: tuple[str, ...]
    method: str
    out_of: str
    is_chosen: bool
    problems: Sequence[str]
    people: Sequence[Tick]
    families: Sequence[Family]
    default: DefaultModels
    is_empty: bool = False
    elsewhere: Sequence[tuple[str, str | Promise]] = ()

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
    def options(self) -> TeamOptions:
        return TeamOptions(**self._values, all_subsets=self.tries_all)

    @property
    def _values(self) -> dict[str, Any]:
        shared = self.shared.options
        return {
            "source": self.source,
            "members": self.members,
            "method": self.method,
            "out_of": self.out_of,
            **{name: getattr(shared, name) for name in SHARED},
        }

    @property
    def tries_all(self) -> bool:
        """Whether every team that the ticked can form is tried."""
        return self.method not in SLOW or len(self.members) <= MOST_SLOW

    @property
    def query(self) -> str:
        """The address' part that gives this choice, without defaults but with the members."""
        defaults = {**self.shared.defaults, "method": "logistic", "out_of": "item"}
        values = {**self._values, "participants": self.shared.kind}
        single = ("source", "method", "out_of", *SHARED)
        pairs = [(name, values[name]) for name in single if values[name] != defaults[name]]
        return urlencode([*pairs, *(("members", name) for name in self.members)])

    @property
    def back(self) -> str:
        """The query that leads to the page."""
        return self.query

    @property
    def has_human(self) -> bool:
        return HUMAN in self.members

    @property
    def sources(self) -> Filter | None:
        return next((f for f in self.shared.one_of if f.name == "source"), None)

    @property
    def others(self) -> list[Filter]:
        """Filters that are seldom changed."""
        return [f for f in self.shared.one_of if f.name in SHARED]

    @property
    def other_words(self) -> str:
        return " · ".join(str(c.label) for f in self.others for c in f.choices if c.is_current)

    @property
    def methods(self) -> list[Tick]:
        return [Tick(v, *words, v == self.method) for v, words in METHODS.items()]

    @property
    def held_out(self) -> list[Tick]:
        return [Tick(v, *words, v == self.out_of) for v, words in OUT_OF.items()]

    @property
    def command(self) -> str:
        """What computes this in a terminal, and stores it for the page."""
        parts = [".venv/bin/python", "manage.py", "team", self.study.slug, "--source", self.source]
        parts += ["--members", *self.members, "--method", self.method]
        parts += ["--all-subsets"] * self.tries_all
        for name in ("out_of", *SHARED):
            default = {**self.shared.defaults, "participants": "", "out_of": "item"}[name]
            if self._values[name] != default:
                parts += [f"--{name.replace('_', '-')}", self._values[name]]
        return shlex.join([*parts, "--output", "FOLDER"])


def read(study: Study, query: QueryDict) -> TeamChosen:
    """The choice that an address gives; a sentence names what is wrong, which is left out."""
    known = (*filter_form.KNOWN, "members", "method", "out_of", SENT, *filter_form.OTHERS)
    problems = [
        _("There is no choice “%(name)s”.") % {"name": filter_form.shortened(name)}
        for name in query
        if name not in known
    ]
    shared = _shared(study, query, problems)
    source = shared.options.source
    method = _one("method", _("Method"), query, METHODS, "logistic", problems)
    out_of = _one("out_of", _("Held out"), query, OUT_OF, "item", problems)
    models = offered_models(study, source)
    n_trials = trial_counts(study, shared)[source]
    is_chosen = "members" in query or SENT in query
    is_empty = not n_trials and not models
    default = default_models(study, models)
    names = list(default.names)
    n_humans = min(1, n_trials)
    if is_chosen:
        n_humans, names = _members(query.getlist("members"), models, problems)
    return TeamChosen(
        shared=shared,
        members=(HUMAN,) * n_humans + tuple(names),
        method=method,
        out_of=out_of,
        is_chosen=is_chosen,
        problems=problems,
        people=people_ticks(n_trials, n_humans),
        families=families_of(models, names),
        default=default,
        is_empty=is_empty,
        elsewhere=_elsewhere(study, shared) if is_empty else (),
    )


def _elsewhere(study: Study, shared: Chosen) -> list[tuple[str, str | Promise]]:
    """Of the choices that are not made, those that would find trials or scores."""
    now = {**{name: getattr(shared.options, name) for name in SHARED}, "source": shared.options.source}  # fmt: skip
    now["participants"] = shared.kind
    found = []
    for field in shared.one_of:
        for choice in field.choices:
            if choice.is_current or field.name == "texts":
                continue
            query = urlencode({**now, field.name: choice.value})
            other = _shared(study, QueryDict(query), [])
            source = other.options.source
            if trial_counts(study, other)[source] or offered_models(study, source):
                found.append((query, choice.label))
    return found


def _shared(study: Study, query: QueryDict, problems: list[str]) -> Chosen:
    """The filters that teams share with other results; one source at a time."""
    own = QueryDict(mutable=True)
    for name in filter_form.KNOWN:
        if name in query:
            own.setlist(name, query.getlist(name))
    source = own.get("source", "")
    if source not in SOURCES:
        own.pop("source", None)
        if source not in ("", "all"):
            problems.append(_none_of(filter_form.NAMES["source"], source, SOURCES))
    shared = filter_form.read(study, own)
    problems += shared.problems
    # There is no team on both sources at once
    one_of = [
        Filter(f.name, f.label, [c for c in f.choices if (f.name, c.value) != ("source", "all")])
        for f in shared.one_of
    ]
    return replace(shared, one_of=one_of)


def _one(
    name: str,
    label: str,
    query: QueryDict,
    known: Iterable[str],
    default: str,
    problems: list[str],
) -> str:
    value = query.get(name) or default
    if value in known:
        return value
    problems.append(_none_of(label, value, known))
    return default


def _none_of(label: str | Promise, value: str, known: Iterable[str]) -> str:
    return _("%(filter)s: “%(value)s” is none of %(known)s.") % {
        "filter": label,
        "value": filter_form.shortened(value),
        "known": ", ".join(known),
    }


def _members(
    wanted: Sequence[str], models: Mapping[str, Offered], problems: list[str]
) -> tuple[int, list[str]]:
    """Number of people and the models, each in one order, so that a result is stored once."""
    people = {HUMAN, *(f"{HUMAN}-{n}" for n in range(2, len(PEOPLE) + 1))}
    n_humans = sum(name in people for name in wanted)
    if n_humans > len(PEOPLE):
        problems.append(_("Members: more than %(n)s humans; %(n)s are taken.") % {"n": len(PEOPLE)})
    for name in dict.fromkeys(wanted):
        if name and name not in people and name not in models:
            problems.append(
                _("Members: no finished run of “%(name)s” on these test cases; it was left out.")
                % {"name": filter_form.shortened(name)}
            )
    return min(n_humans, len(PEOPLE)), [name for name in models if name in wanted]
