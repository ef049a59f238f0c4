"""The options of the report that a results page's address gives, and the choices that its form offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.urls import reverse

from analysis.data.filters import (
    ASKED,
    CHOICE,
    METHODS,
    PARTICIPANTS,
    PERPLEXITY,
    SOURCES,
    TEXTS,
    ReportOptions,
    asked_label,
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
Kind = Participant.Kind
OTHERS = ("v", "now")  # parameters that are no filters


class OneOf(forms.ChoiceField):
    """One of a few. Where an address names none of them, the initial one is meant.

    known: values that an address may name; the choices are those that the page offers. says_initial: whether a problem says
    which one is meant.
    """

    widget = forms.RadioSelect

    def __init__(
        self, label: str, labels: Mapping[str, str], *, says_initial: bool = True, **options: Any
    ) -> None:
        super().__init__(label=label, choices=list(labels.items()), required=False, **options)
        self.labels, self.known, self.says_initial = labels, tuple(labels), says_initial

    def clean(self, value: str | None) -> str:
        if value and value not in self.known:
            ending = f"; shown are {self.labels[self.initial]}" if self.says_initial else ""
            raise ValidationError(
                f"{self.label}: “{shortened(value)}” is not one of {', '.join(filter(None, self.known))}{ending}."
            )
        return value or str(self.initial)

    def bound_data(self, data: str | None, initial: str) -> str:
        """The value that is meant."""
        return data if data and data in self.known else initial


class SomeOf(forms.MultipleChoiceField):
    """Any of several, in one order, so that a result is stored once; none are all of them."""

    widget = forms.CheckboxSelectMultiple

    names: Mapping[str, str] = {}  # of its values

    def clean(self, value: Sequence[str]) -> Sequence[str]:
        unknown = [each for each in dict.fromkeys(value) if each and each not in self.names]
        if unknown:
            raise ValidationError(
                [
                    f"{self.label}: this study has no “{shortened(each)}”; it was left out."
                    for each in unknown
                ]
            )
        return value

    def bound_data(self, data: Sequence[str], initial: Any) -> tuple[str, ...]:
        """The values that are meant."""
        found = tuple(name for name in self.names if name in data)
        return () if len(found) == len(self.names) else found


@dataclass(frozen=True, slots=True)
class OtherKind:
    """A link to participants that there are where there are none of the kind that is shown."""

    words: str
    href: str


class FilterForm(forms.Form):
    source = OneOf("Test cases", LABELS["source"])
    kind = OneOf("Participants", LABELS["kind"])
    texts = OneOf("Texts", LABELS["texts"], initial=ReportOptions().texts)
    trials = OneOf("Trials", LABELS["trials"], initial=ReportOptions().trials)
    method = OneOf("Method of the models", LABELS["method"], initial="")
    models = SomeOf(label="Language models", required=False)
    subfields = SomeOf(label="Subfields", required=False)

    def value(self, name: str) -> Any:
        return self[name].value()

    def one(self, name: str) -> OneOf:
        field = self.fields[name]
        assert isinstance(field, OneOf)
        return field

    def name(self, name: str, names: Mapping[str, str]) -> None:
        """Offer any of these, each as it is called."""
        field = self.fields[name]
        assert isinstance(field, SomeOf)
        field.names, field.choices = names, list(names.items())

    def offer(self, name: str, values: Sequence[str]) -> None:
        """Show these alone, with what is meant, where there are any."""
        field, meant = self.one(name), self.value(name)
        shown = [*values, meant] if values and meant not in values else values
        field.choices = [(value, field.labels[value]) for value in shown]


@dataclass(frozen=True)
class Chosen:
    """Options in the address of a study's results.

    `problems` are sentences about parameters that were left out of the options. counts: the study's participants by kind.
    has_elsewhere: whether published people of other studies judged its test cases.
    """

    page: ClassVar[str] = "results"

    study: Study
    form: FilterForm
    problems: Sequence[str]
    counts: Mapping[str, int]
    has_elsewhere: bool

    @cached_property
    def options(self) -> ReportOptions:
        kind = self.kind
        values = {name: self.form.value(name) for name in self.form.fields if name != "kind"}
        return ReportOptions(participants="" if kind == self.defaults["kind"] else kind, **values)

    @property
    def kind(self) -> str:
        return str(self.form.value("kind"))

    @property
    def defaults(self) -> dict[str, str]:
        fields = self.form.fields.items()
        return {name: field.initial for name, field in fields if isinstance(field, OneOf)}

    @property
    def one_of(self) -> list[forms.BoundField]:
        """Fields with more than one choice that makes a difference."""
        fields = (self.form[name] for name in ("source", "kind", "trials", "texts", "method"))
        return [field for field in fields if len(choices_of(field)) > 1]

    @property
    def any_of(self) -> list[forms.BoundField]:
        fields = (self.form["models"], self.form["subfields"])
        return [field for field in fields if len(choices_of(field)) > 1]

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
        # Pilots are no result: they are watched
        watching = reverse("lab:study", args=[self.study.slug])
        found = []
        for kind in Kind:
            n = self.counts.get(kind)
            if not n:
                continue
            said = f"Results of the {n} {kind.label}"
            if kind == Kind.PILOT:
                said = f"View the {f.count(n, 'pilot participant')} (pilot data are not results)."
            address = self.address if kind in PARTICIPANTS else watching
            found.append(OtherKind(said, f"{address}?kind={kind}"))
        return found

    @property
    def sources(self) -> list[tuple[str, str, bool]]:
        """Query, label and whether it is shown, for each choice of a source; empty where there is one only."""
        choices = choices_of(self.form["source"])
        shown = self.options.source
        found = [(self._with_source(v), label, v == shown) for v, label in choices]
        return found if len(found) > 1 else []

    def _with_source(self, source: str) -> str:
        values = {**self.options.as_dict(), "kind": self.kind, "source": source}
        pairs = [(n, values[n]) for n, usual in self.defaults.items() if values[n] != usual]
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
    counts, has_elsewhere = kind_counts(study), published_elsewhere(study).exists()
    models, has_choices = _models(study)

    form = FilterForm(query, auto_id=False)
    # Of both, the one that the paper is about; of questions alone, what is of the whole study
    form.one("source").initial = sources[0] if sources else "all"
    form.one("source").known = (*sources, "all")
    usual_kind = default_of(study, counts, PARTICIPANTS)
    form.one("kind").initial = usual_kind
    subfields = sorted({subfield for _source, subfield, _texts in items if subfield})
    form.name("models", models)
    form.name("subfields", {name: name for name in subfields})

    # Choices that make no difference here are not offered
    kinds = {*counts, usual_kind, *([Kind.IMPORTED.value] if has_elsewhere else [])}
    is_repaired = any(texts == Item.Texts.REPAIRED for *_, texts in items)
    form.offer("source", (*sources, "all") if len(sources) > 1 else ())
    form.offer("kind", [kind for kind in PARTICIPANTS if kind in kinds])
    form.offer("texts", TEXTS if is_repaired else ())
    form.offer("method", ("", *METHODS) if has_choices else ())

    unknown = [name for name in query if name not in form.fields and name not in OTHERS]
    problems = [f"There is no filter “{name}”." for name in unknown]
    problems += [str(problem) for errors in form.errors.values() for problem in errors]
    return Chosen(study, form, problems, counts, has_elsewhere)


def choices_of(field: forms.BoundField) -> list[tuple[str, str]]:
    """Values that a field offers, each with its label."""
    return list(field.field.choices)  # type: ignore[attr-defined]


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
        name, is_scored = names[m.pk], m.pk in scored | in_set
        found |= {m.name: name} if is_scored else {}
        if m.pk in asked:
            found[f"{m.name}{ASKED}"] = asked_label(name, is_also_scored=is_scored)
    return found, bool(asked)
