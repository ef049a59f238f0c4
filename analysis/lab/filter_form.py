"""The options of the report that a results page's address gives, and the choices that its form offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from analysis.data.filters import (
    ASKED,
    CHOICE,
    METHODS,
    PARTICIPANTS,
    PERPLEXITY,
    SOURCE_CHOICES,
    SOURCES,
    TEXTS,
    TRIALS,
    ReportOptions,
)
from analysis.services.compute import Asked, Computer, Waiting
from analysis.store import StoredResult
from experiment.lab.export import ALL_JUDGED, OF_ANALYSIS
from experiment.models import Item, Participant, Study
from experiment.services.counts import default_of, kind_counts, published_elsewhere
from lib import formatting as f
from scoring.models import ChoiceRun, LanguageModel, ModelSetMember, ScoringRun
from scoring.services.model_facts import known_in, told_apart

LABELS = {
    "source": {
        "human": "human-created test cases",
        "machine": "machine-created test cases",
        "all": "both, one after the other",
    },
    "kind": {
        "real": "real participants",
        "simulated": "simulated participants",
        "imported": "imported participants",
    },
    "texts": {
        "as-published": "texts as published",
        "repaired": "damaged texts repaired",
    },
    "trials": {
        "analysed": OF_ANALYSIS,
        "all": ALL_JUDGED,
    },
    "method": {
        "": "models scored and asked",
        PERPLEXITY: "models scored by perplexity",
        CHOICE: "models that were asked",
    },
}
NAMES = {
    "source": "Test cases",
    "kind": "Participants",
    "texts": "Texts",
    "trials": "Trials",
    "method": "Method of the models",
    "models": "Language models",
    "subfields": "Subfields",
}
KNOWN = {
    "source": SOURCE_CHOICES,
    "kind": PARTICIPANTS,
    "texts": TEXTS,
    "trials": TRIALS,
    "method": ("", *METHODS),
}
Kind = Participant.Kind
OTHERS = ("v", "now")  # parameters that are no filters


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """A field of the form."""

    name: str
    label: str
    choices: Sequence[Choice]


@dataclass(frozen=True, slots=True)
class OtherKind:
    """A link to participants that there are where there are none of the kind that is shown."""

    words: str
    href: str


@dataclass(frozen=True)
class Chosen:
    """Options in the address of a study's results.

    `problems` are sentences about parameters that were left out of the options. counts: the study's participants by kind.
    has_elsewhere: whether published people of other studies judged its test cases.
    """

    page: ClassVar[str] = "results"

    study: Study
    options: ReportOptions
    kind: str
    problems: Sequence[str]
    defaults: Mapping[str, str]
    one_of: Sequence[Filter]
    any_of: Sequence[Filter]
    counts: Mapping[str, int]
    has_elsewhere: bool

    @cached_property
    def asked(self) -> Asked:
        return Asked(self.study, self.options, self.kind)

    def look(self, *, may_compute: bool) -> StoredResult | Waiting:
        return self.asked.ensure_computed() if may_compute else self.asked.state()

    def for_file(self) -> StoredResult | Waiting:
        """Computed here if it may be; a file is nothing that others are asked for."""
        state = self.asked.state()
        if isinstance(state, Waiting) and state.by is Computer.PAGE:
            return self.asked.ensure_computed()
        return state

    @property
    def address(self) -> str:
        return reverse("lab:results", args=[self.study.slug])

    @property
    def command(self) -> str:
        return self.options.command(self.study.slug)

    @property
    def query(self) -> str:
        """The address' part that gives these options, without defaults."""
        return self._with_source(self.options.source)

    @property
    def other_kinds(self) -> list[OtherKind]:
        is_joined = self.kind == Kind.IMPORTED and self.has_elsewhere
        if self.kind in self.counts or is_joined:
            return []
        return [self._other(k, self.counts[k]) for k in Kind if self.counts.get(k)]

    def _other(self, kind: Participant.Kind, n: int) -> OtherKind:
        """Pilots are no result: they are watched."""
        watching = reverse("lab:study", args=[self.study.slug])
        address = f"{self.address if kind in PARTICIPANTS else watching}?kind={kind}"
        if kind == Kind.PILOT:
            pilots = f.count(n, "pilot participant")
            return OtherKind(f"View the {pilots} (pilot data are not results).", address)
        return OtherKind(f"Results of the {n} {kind.label}", address)

    @property
    def sources(self) -> list[tuple[str, str, bool]]:
        """Query, label and whether it is shown, for each choice of a source; empty where there is one only."""
        found = next((field for field in self.one_of if field.name == "source"), None)
        return [
            (self._with_source(c.value), c.label, c.is_current)
            for c in (found.choices if found else ())
        ]

    def _with_source(self, source: str) -> str:
        values = {**self.options.as_dict(), "kind": self.kind, "source": source}
        pairs = [(n, values[n]) for n in KNOWN if values[n] != self.defaults[n]]
        pairs += [(n, v) for n in ("models", "subfields") for v in values[n]]
        return urlencode(pairs)

    @property
    def summary(self) -> list[str]:
        """Options that are shown, in a few words each."""
        o = self.options
        words: list[str] = [
            LABELS["kind"][self.kind],
            LABELS["trials"][o.trials],
        ]
        if o.texts != self.defaults["texts"]:
            words.append(LABELS["texts"][o.texts])
        if o.method:
            words.append(LABELS["method"][o.method])
        n = len(o.models)
        words.append(f.count(n, "chosen model") if n else "all models")
        n = len(o.subfields)
        words.append(f.count(n, "chosen subfield") if n else "all subfields")
        return words


def read(study: Study, query: QueryDict) -> Chosen:
    """The options that an address gives; a sentence names what is wrong, which is left out."""
    shown = Item.objects.shown_by([study]).filter(kind=Item.Kind.TEST).order_by()
    items = set(shown.values_list("source", "subfield", "texts").distinct())
    sources = [source for source in SOURCES if study.has(source)]
    subfields = sorted({subfield for _source, subfield, _texts in items if subfield})
    counts, has_elsewhere = kind_counts(study), published_elsewhere(study).exists()
    defaults = {
        # Of both, the one that the paper is about; of questions alone, what is of the whole study
        "source": sources[0] if sources else "all",
        "kind": default_of(study, counts, PARTICIPANTS),
        "texts": ReportOptions().texts,
        "trials": ReportOptions().trials,
        "method": "",
    }
    problems = [f"There is no filter “{name}”." for name in query if name not in (*NAMES, *OTHERS)]
    known_values = {**KNOWN, "source": (*sources, "all")}
    single = {
        name: _one(name, query, values, defaults, problems) for name, values in known_values.items()
    }
    models, has_choices = _models(study)
    known = {"models": models, "subfields": {name: name for name in subfields}}
    several = {name: _some(name, query, names, problems) for name, names in known.items()}
    kind = single["kind"]
    kinds = {*counts, defaults["kind"], *([Kind.IMPORTED.value] if has_elsewhere else [])}
    there: dict[str, Sequence[str]] = {
        "source": known_values["source"] if len(sources) > 1 else (),
        "kind": [k for k in PARTICIPANTS if k in kinds],
        "trials": TRIALS,
        "texts": TEXTS if any(texts == Item.Texts.REPAIRED for *_, texts in items) else (),
        "method": KNOWN["method"] if has_choices else (),
    }
    return Chosen(
        study=study,
        options=ReportOptions(
            source=single["source"],
            participants="" if kind == defaults["kind"] else kind,
            texts=single["texts"],
            trials=single["trials"],
            method=single["method"],
            models=several["models"],
            subfields=several["subfields"],
        ),
        kind=kind,
        problems=problems,
        defaults=defaults,
        one_of=_one_of(there, single),
        any_of=[
            _filter(name, list(v.items()), several[name]) for name, v in known.items() if len(v) > 1
        ],
        counts=counts,
        has_elsewhere=has_elsewhere,
    )


def _one(
    name: str,
    query: QueryDict,
    known: Sequence[str],
    defaults: Mapping[str, str],
    problems: list[str],
) -> str:
    value = query.get(name) or defaults[name]
    if value in known:
        return value
    problems.append(
        f"{NAMES[name]}: “{shortened(value)}” is not one of {', '.join(filter(None, known))}; shown are {LABELS[name][defaults[name]]}."
    )
    return defaults[name]


def _some(
    name: str, query: QueryDict, known: Mapping[str, str], problems: list[str]
) -> tuple[str, ...]:
    wanted = [value for value in dict.fromkeys(query.getlist(name)) if value]
    for value in wanted:
        if value not in known:
            problems.append(
                f"{NAMES[name]}: this study has no “{shortened(value)}”; it was left out."
            )
    found = tuple(
        value for value in known if value in wanted
    )  # in one order, so that a result is stored once
    return () if len(found) == len(known) else found


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _models(study: Study) -> tuple[dict[str, str], bool]:
    """Name -> what it is called, of models that have finished runs or are of the study's set, as tables list them; and whether any was asked.

    Those that were asked come under the names of these rows, beside the same models scored.
    """
    finished = ScoringRun.objects.seen_in([study]).filter(status=ScoringRun.Status.FINISHED)
    of_set = ModelSetMember.objects.filter(model_set__study=study)
    choosing = ChoiceRun.objects.seen_in([study]).filter(status=ChoiceRun.Status.FINISHED)
    scored, in_set, asked = (
        set(rows.order_by().values_list("language_model", flat=True))
        for rows in (finished, of_set, choosing)
    )
    rows = known_in(LanguageModel.objects.filter(pk__in=scored | in_set | asked), study)
    names = told_apart(rows)
    found: dict[str, str] = {}
    for m in sorted(rows, key=lambda m: (m.family or "~", m.size or 0, m.name)):
        name = names[m.pk]
        found |= {m.name: name} if m.pk in scored | in_set else {}
        found |= {f"{m.name}{ASKED}": f"{name}{ASKED}"} if m.pk in asked else {}
    return found, bool(asked)


def _one_of(there: dict[str, Sequence[str]], single: Mapping[str, str]) -> list[Filter]:
    """Fields with more than one choice that makes a difference."""
    for name, values in there.items():
        if single[name] not in values and values:
            there[name] = [*values, single[name]]
    return [
        _filter(name, [(v, LABELS[name][v]) for v in values], (single[name],))
        for name, values in there.items()
        if len(values) > 1
    ]


def _filter(name: str, choices: Sequence[tuple[str, str]], current: Sequence[str]) -> Filter:
    return Filter(name, NAMES[name], [Choice(v, label, v in current) for v, label in choices])
