"""Kinds of advisers: who can be chosen, by the set-up's form and by `set_adviser`, and the evidence that their advice goes by.

A kind is a class here, and stands in KINDS under its name in `experiment/domain/advice.py`. `evidence.py` reads scores and judgments.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError

from analysis.data.filters import ASKED, asked_label
from experiment.domain.advice import PLANTED
from experiment.models import Adviser, Item, Judgment, Participant, Study
from scoring.models import ChoiceRun, LanguageModel, ScoringRun

if TYPE_CHECKING:  # what computes is loaded where advice is worked out
    from analysis.services.evidence import Evidence
    from analysis.stats.arrays import Floats

MOST_MEMBERS = 10  # their names fit in the adviser's source
MODEL_NAME = "language_model__name"
Found = Mapping[str, Sequence[str]]  # kind -> sources of advice in a study


class UnknownSourceError(Exception):
    """A source that does not exist: the words for one and for several, its name, and the names of those that there are."""


class Kind:
    """A kind of adviser.

    heading: above its choices in the form. option: of `set_adviser`, with what argparse is told of it. has_passages: the
    passages that counted most can be shown.
    """

    name: ClassVar[str]
    heading: ClassVar[str]
    option: ClassVar[tuple[str, Mapping[str, Any]] | None] = None
    has_passages: ClassVar[bool] = False

    def sources(self, study: Study) -> list[str]:
        """Names of those who can advise in the study, as the adviser's `source` has them."""
        return []

    def choices(self, found: Found) -> list[tuple[str, str]]:
        """(source, words) of the form's choices."""
        return [(source, source) for source in found[self.name]]

    def fields(self, found: Found) -> dict[str, forms.Field]:
        """Fields of the form for this kind alone."""
        return {}

    def initial(self, adviser: Adviser) -> dict[str, Any]:
        """Values of the form for an adviser of this kind."""
        return {"adviser": f"{self.name}:{adviser.source}"}

    def faults(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """(field, sentence) of what the form lacks where this kind is chosen."""
        yield from ()

    def values(self, source: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The adviser's columns for the form's choice."""
        return {"kind": self.name, "source": source, "planted_accuracy": None}

    def chosen(self, asked: Any, study: Study, found: Found) -> dict[str, Any]:
        """The adviser's columns for the value of the command's option.

        Raises:
            UnknownSourceError, ValidationError: there is no such adviser.
        """
        return self.values(asked, {})

    def evidence(self, adviser: Adviser, items: Sequence[Item]) -> "dict[str, Evidence]":
        """By source, in the order of `items`."""
        raise NotImplementedError

    def joined(
        self, names: Sequence[str], towards: "Floats", work: Sequence[str], seed: int
    ) -> "tuple[Floats, str] | None":
        """(n,) log-odds of the original that several sources give together, fitted out of sample, and the method; None where one's are calibrated.

        towards: (n, sources) how strongly each prefers the original, as in Evidence.
        """
        return None


class Model(Kind):
    """A model that took this test."""

    name, heading = "model", "Models"
    option = (
        "--models",
        {
            "nargs": "+",
            "metavar": "NAME",
            "help": f"a model that took this test, as results name it, or a team of 2 to {MOST_MEMBERS} of them",
        },
    )
    has_passages = True

    def sources(self, study: Study) -> list[str]:
        is_finished = {"status": ScoringRun.Status.FINISHED}
        runs = ScoringRun.objects.seen_in([study]).filter(**is_finished)
        full = runs.filter(condition=ScoringRun.Condition.FULL)
        choices = ChoiceRun.objects.seen_in([study]).filter(**is_finished)
        scored, asked = (
            dict.fromkeys(of_models.order_by(MODEL_NAME).values_list(MODEL_NAME, flat=True))
            for of_models in (full, choices)
        )
        return [*scored, *(f"{name}{ASKED}" for name in asked)]

    def choices(self, found: Found) -> list[tuple[str, str]]:
        return [*_labels(found[self.name]).items()]

    def chosen(self, asked: Any, study: Study, found: Found) -> dict[str, Any]:
        """Several models are a team."""
        names, known = list(dict.fromkeys(asked)), fit_for_teams(found)
        for name in names:
            if name not in known:
                raise UnknownSourceError("model", "models that took this test", name, known)
        if len(names) > MOST_MEMBERS:
            raise ValidationError(f"A team has at most {MOST_MEMBERS} models.")
        if len(names) > 1:
            return Team().values("", {"members": names})
        return self.values(names[0], {})

    def evidence(self, adviser: Adviser, items: Sequence[Item]) -> "dict[str, Evidence]":
        from analysis.services.evidence import of_models

        return of_models(adviser.study, [adviser.source], items)


class Team(Kind):
    """Several models that took this test, whose fits have not seen the test case."""

    name, heading = "team", "Models"

    def choices(self, found: Found) -> list[tuple[str, str]]:
        is_possible = len(fit_for_teams(found)) > 1
        return [("", "a team of models, chosen below")] if is_possible else []

    def fields(self, found: Found) -> dict[str, forms.Field]:
        models = fit_for_teams(found)
        if len(models) < 2:
            return {}
        members = forms.MultipleChoiceField(
            required=False,
            widget=forms.CheckboxSelectMultiple,
            choices=_labels(models).items(),
            label="Models of the team",
            help_text="Only for a team: two to ten models.",
        )
        return {"members": members}

    def initial(self, adviser: Adviser) -> dict[str, Any]:
        return {"adviser": f"{self.name}:", "members": adviser.members}

    def faults(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if not 2 <= len(given.get("members", [])) <= MOST_MEMBERS:
            yield "members", "Choose two to ten models."

    def values(self, source: str, given: Mapping[str, Any]) -> dict[str, Any]:
        return super().values(Adviser.JOINT.join(given["members"]), given)

    def evidence(self, adviser: Adviser, items: Sequence[Item]) -> "dict[str, Evidence]":
        from analysis.services.evidence import of_models

        return of_models(adviser.study, adviser.members, items)

    def joined(
        self, names: Sequence[str], towards: "Floats", work: Sequence[str], seed: int
    ) -> "tuple[Floats, str]":
        from scipy.special import logit

        from analysis.teams.domain.machines import of_models

        p_original, method = of_models(names, towards, work, seed)
        return logit(p_original), method


class People(Kind):
    """The majority of one kind of participants."""

    name, heading = "people", "Majority of participants"
    option = (
        "--people",
        {"choices": Participant.Kind.values, "help": "the majority of these participants"},
    )

    def sources(self, study: Study) -> list[str]:
        judgments = Judgment.objects.filter(trial__participant__study=study).order_by()
        judged = set(judgments.values_list("trial__participant__kind", flat=True).distinct())
        return [kind for kind in Participant.Kind.values if kind in judged]

    def choices(self, found: Found) -> list[tuple[str, str]]:
        return [(kind, str(Participant.Kind(kind).label)) for kind in found[self.name]]

    def chosen(self, asked: Any, study: Study, found: Found) -> dict[str, Any]:
        if asked not in found[self.name]:
            said = f"No {asked} participants of {study.slug} have judged anything."
            raise ValidationError(said)
        return self.values(asked, {})

    def evidence(self, adviser: Adviser, items: Sequence[Item]) -> "dict[str, Evidence]":
        from analysis.services.evidence import of_people

        return {adviser.source: of_people(adviser.study, adviser.source, items)}


class Planted(Kind):
    """Advice of a stated accuracy, made up for the study: the one kind that goes by no evidence."""

    name, heading = PLANTED, "Made up for this study"
    option = (
        "--planted",
        {
            "type": int,
            "metavar": "PERCENT",
            "help": "advice made up for this study, correct on this share of the test cases (50 to 100)",
        },
    )

    def choices(self, found: Found) -> list[tuple[str, str]]:
        return [("", "advice of a stated accuracy")]

    def fields(self, found: Found) -> dict[str, forms.Field]:
        share = forms.IntegerField(
            min_value=50,
            max_value=100,
            required=False,
            label="Correct advice, in percent of the test cases",
            help_text="Only for made-up advice. The debrief reveals it, and the study needs its own debriefing text.",
        )
        return {"planted_percent": share}

    def initial(self, adviser: Adviser) -> dict[str, Any]:
        share = adviser.planted_accuracy
        percent = {} if share is None else {"planted_percent": round(100 * share)}
        return super().initial(adviser) | percent

    def faults(self, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        if given.get("planted_percent") is None:
            yield "planted_percent", "Give the share of correct advice."

    def values(self, source: str, given: Mapping[str, Any]) -> dict[str, Any]:
        share = given["planted_percent"] / 100
        return super().values(source, given) | {"planted_accuracy": share}

    def chosen(self, asked: Any, study: Study, found: Found) -> dict[str, Any]:
        return self.values("", {"planted_percent": asked})


# In the order in which the form offers them
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (Model(), Team(), People(), Planted())}


def sources_of(study: Study) -> dict[str, list[str]]:
    """Sources of advice in the study, by kind of adviser."""
    return {name: kind.sources(study) for name, kind in KINDS.items()}


def fit_for_teams(found: Found) -> list[str]:
    """Models whose names can be told apart when they are joined."""
    return [name for name in found[Model.name] if Adviser.JOINT not in name]


def source_label(adviser: Adviser) -> str:
    """The adviser's source as the study team reads it."""
    labels = _labels(sources_of(adviser.study)[Model.name])
    return Adviser.JOINT.join(labels.get(name, name) for name in adviser.members)


def _labels(names: Sequence[str]) -> dict[str, str]:
    """Labels of models among these, by their names in results; the own name of one that was scored may end like that of one that was asked."""
    own = set(LanguageModel.objects.filter(name__in=names).values_list("name", flat=True))
    asked = {name: name.removesuffix(ASKED) for name in names if name not in own}
    return {
        name: asked_label(asked[name], is_also_scored=asked[name] in names)
        if name in asked
        else name
        for name in names
    }
