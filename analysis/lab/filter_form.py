"""The options of the report that a results page's address gives, and the choices that its form offers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from analysis.data.filters import PARTICIPANTS, SOURCE_CHOICES, TEXTS, TRIALS, ReportOptions
from experiment.models import Item, Participant, Study
from experiment.services.counts import kind_counts
from experiment.services.participant_kinds import default_kind, published_elsewhere
from scoring.models import LanguageModel, ModelSetMember, ScoringRun

LABELS = {
    "source": {
        "human": gettext_lazy("human-created test cases"),
        "machine": gettext_lazy("machine-created test cases"),
        "all": gettext_lazy("both, one below the other"),
    },
    "participants": {
        "real": gettext_lazy("real participants"),
        "simulated": gettext_lazy("simulated participants"),
        "imported": gettext_lazy("imported participants"),
    },
    "texts": {
        "as-published": gettext_lazy("texts as published"),
        "repaired": gettext_lazy("damaged texts repaired"),
    },
    "trials": {
        "analysed": gettext_lazy("trials of the analysis"),
        "all": gettext_lazy("all judged trials"),
    },
}
NAMES = {
    "source": gettext_lazy("Test cases"),
    "participants": gettext_lazy("Participants"),
    "texts": gettext_lazy("Texts"),
    "trials": gettext_lazy("Trials"),
    "models": gettext_lazy("Language models"),
    "subfields": gettext_lazy("Subfields"),
}
KNOWN = {"source": SOURCE_CHOICES, "participants": PARTICIPANTS, "texts": TEXTS, "trials": TRIALS}
OTHERS = ("v", "now")  # parameters that are no filters


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str | Promise
    is_current: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """A field of the form."""

    name: str
    label: str | Promise
    choices: Sequence[Choice]


@dataclass(frozen=True, slots=True)
class Chosen:
    """`problems` are sentences about parameters that were left out of the options."""

    options: ReportOptions
    kind: str
    problems: Sequence[str]
    defaults: Mapping[str, str]
    one_of: Sequence[Filter]
    any_of: Sequence[Filter]

    @property
    def query(self) -> str:
        """The address' part that gives these options, without defaults."""
        return query_of(self.options, self.defaults)

    @property
    def sources(self) -> list[tuple[str, str | Promise, bool]]:
        """Query, label and whether it is shown, for each choice of a source; empty where there is one only."""
        found = next((f for f in self.one_of if f.name == "source"), None)
        return [
            (self._with_source(c.value), c.label, c.is_current)
            for c in (found.choices if found else ())
        ]

    def _with_source(self, source: str) -> str:
        changed = {**self.options.as_dict(), "source": source}
        return _encode(changed, self.defaults)

    @property
    def summary(self) -> list[str | Promise]:
        """What is shown, in a few words each."""
        o = self.options
        words: list[str | Promise] = [
            LABELS["participants"][self.kind],
            LABELS["trials"][o.trials],
        ]
        if o.texts != self.defaults["texts"]:
            words.append(LABELS["texts"][o.texts])
        n = len(o.models)
        some = ngettext("%(n)s chosen model", "%(n)s chosen models", n) % {"n": n}
        words.append(some if n else _("all models"))
        n = len(o.subfields)
        some = ngettext("%(n)s chosen subfield", "%(n)s chosen subfields", n) % {"n": n}
        words.append(some if n else _("all subfields"))
        return words


def query_of(options: ReportOptions, defaults: Mapping[str, str]) -> str:
    return _encode(options.as_dict(), defaults)


def _encode(values: Mapping[str, object], defaults: Mapping[str, str]) -> str:
    defaults_sent = {**defaults, "participants": ""}
    pairs = [(n, values[n]) for n in KNOWN if values[n] not in (defaults_sent[n], defaults[n])]
    pairs += [(n, v) for n in ("models", "subfields") for v in values[n]]  # type: ignore[attr-defined]
    return urlencode(pairs)


def read(study: Study, query: QueryDict) -> Chosen:
    """The options that an address gives; a sentence names what is wrong, which is left out."""
    sources = _sources(study)
    kind = default_kind(study)
    defaults = {
        "source": "machine" if sources == {"machine"} else "human",
        "participants": kind,
        "texts": ReportOptions().texts,
        "trials": ReportOptions().trials,
    }
    problems = [
        _("There is no filter “%(name)s”.") % {"name": name}
        for name in query
        if name not in (*NAMES, *OTHERS)
    ]
    single = {name: _one(name, query, defaults, problems) for name in KNOWN}
    known = {"models": _models(study), "subfields": _subfields(study)}
    several = {name: _some(name, query, names, problems) for name, names in known.items()}
    options = ReportOptions(
        source=single["source"],
        participants=_other_kind(single, kind),
        texts=single["texts"],
        trials=single["trials"],
        models=several["models"],
        subfields=several["subfields"],
    )
    return Chosen(
        options=options,
        kind=single["participants"],
        problems=problems,
        defaults=defaults,
        one_of=_one_of(study, single, sources, kind),
        any_of=[
            _filter(name, list(v.items()), several[name]) for name, v in known.items() if len(v) > 1
        ],
    )


def _one(name: str, query: QueryDict, defaults: Mapping[str, str], problems: list[str]) -> str:
    value = query.get(name) or defaults[name]
    if value in KNOWN[name]:
        return value
    problems.append(
        _("%(filter)s: “%(value)s” is none of %(known)s; shown are %(shown)s.")
        % {
            "filter": NAMES[name],
            "value": shortened(value),
            "known": ", ".join(KNOWN[name]),
            "shown": LABELS[name][defaults[name]],
        }
    )
    return defaults[name]


def _other_kind(single: Mapping[str, str], kind: str) -> str:
    """The kind of participants, "" for the study's own."""
    return "" if single["participants"] == kind else single["participants"]


def _some(
    name: str, query: QueryDict, known: Mapping[str, str], problems: list[str]
) -> tuple[str, ...]:
    wanted = [value for value in dict.fromkeys(query.getlist(name)) if value]
    for value in wanted:
        if value not in known:
            problems.append(
                _("%(filter)s: this study has no “%(value)s”; it was left out.")
                % {"filter": NAMES[name], "value": shortened(value)}
            )
    found = tuple(
        value for value in known if value in wanted
    )  # in one order, so that a result is stored once
    return () if len(found) == len(known) else found


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _sources(study: Study) -> set[str]:
    return set(_items(study).order_by().values_list("source", flat=True).distinct())


def _items(study: Study) -> QuerySet[Item]:
    return Item.objects.shown_by([study]).filter(kind=Item.Kind.TEST)


def _models(study: Study) -> dict[str, str]:
    """Name -> what it is called, of models that have finished runs or are of the study's set; as tables list them."""
    finished = ScoringRun.objects.seen_in([study]).filter(status=ScoringRun.Status.FINISHED)
    has_runs = Q(pk__in=finished.order_by().values("language_model"))
    of_set = ModelSetMember.objects.filter(model_set__study=study)
    rows = LanguageModel.objects.filter(has_runs | Q(pk__in=of_set.values("language_model")))
    return {
        m.name: str(m)
        for m in sorted(rows, key=lambda m: (m.family or "~", m.n_parameters or 0, m.name))
    }


def _subfields(study: Study) -> dict[str, str]:
    names = _items(study).order_by("subfield").values_list("subfield", flat=True).distinct()
    return {name: name for name in names if name}


def _one_of(
    study: Study, single: Mapping[str, str], sources: Collection[str], kind: str
) -> list[Filter]:
    """Fields with more than one choice that makes a difference."""
    there = {
        "source": SOURCE_CHOICES[1:] + SOURCE_CHOICES[:1] if len(sources) > 1 else (),
        "participants": [k for k in PARTICIPANTS if k in _kinds(study) or k == kind],
        "trials": TRIALS,
        "texts": TEXTS if _items(study).filter(texts=Item.Texts.REPAIRED).exists() else (),
    }
    for name, values in there.items():
        if single[name] not in values and values:
            there[name] = [*values, single[name]]
    return [
        _filter(name, [(v, LABELS[name][v]) for v in values], (single[name],))
        for name, values in there.items()
        if len(values) > 1
    ]


def _kinds(study: Study) -> set[str]:
    """Kinds of participants with trials on the study's test cases, its own or published elsewhere."""
    elsewhere = {Participant.Kind.IMPORTED.value} if published_elsewhere(study).exists() else set()
    return {*kind_counts(study), *elsewhere}


def _filter(
    name: str, choices: Sequence[tuple[str, str | Promise]], current: Sequence[str]
) -> Filter:
    return Filter(name, NAMES[name], [Choice(v, label, v in current) for v, label in choices])
