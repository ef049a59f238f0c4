"""Who and what a team page offers to be chosen: people, a study's models with their accuracy, ways of combining."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from django.db.models import Count, Sum
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from analysis.data.filters import SOURCES
from analysis.lab.filter_form import Chosen
from analysis.teams.options import PUBLISHED
from experiment.models import Item, ItemCount, Participant, Study, Trial
from experiment.services.counts import is_joined, judgments_of
from lib.formatting import number, percent
from scoring.models import LanguageModel, ModelSetMember, ScoringRun
from scoring.services.summary import count_by_run

HUMAN = "human"
PEOPLE = (_("Human"), _("Second human"), _("Third human"))
N_DEFAULT_MODELS = 3
MOST_TOGETHER = 10  # models of a family that stand in one column
METHODS = {
    "logistic": (
        _("Logistic regression"),
        _("Weighs everybody's signed confidence, as in the published analysis."),
    ),
    "improved": (
        _("Improved logistic regression"),
        _(
            "Scales each member, allows for each participant's own calibration, and chooses its penalty within the training folds."
        ),
    ),
    "bayesian": (
        _("Bayesian"),
        _(
            "Correlated latent scores behind choices and confidence. A pair takes seconds, five members up to a minute."
        ),
    ),
    "average": (
        _("Average probability"),
        _("Confidence becomes a probability of being right; the mean decides."),
    ),
    "most-confident": (_("Most confident"), _("Whoever is surest, once calibrated, decides.")),
    "majority": (_("Majority"), _("One member, one vote; a tie goes to the surer side.")),
}
OUT_OF = {
    "item": (_("Test cases"), _("A team is tried on test cases that its fit has not seen.")),
    "participant": (
        _("Test cases and participants"),
        _("Nor has it seen the participant, as when a new one joins."),
    ),
}


@dataclass(frozen=True, slots=True)
class Tick:
    """Something to be ticked, with a few words about it."""

    value: str
    label: str | Promise
    about: str | Promise
    is_current: bool


@dataclass(frozen=True, slots=True)
class Family:
    """Some models of a family: as many as stand together, below its name."""

    title: str
    ticks: Sequence[Tick]


@dataclass(frozen=True, slots=True)
class Offered:
    model: LanguageModel
    in_set: bool
    n: int
    n_right: int

    @property
    def accuracy(self) -> float:
        return self.n_right / self.n


def offered_models(study: Study, source: str) -> dict[str, Offered]:
    """Name -> a model that scored whole texts of this source, and how it did: the set's first, in its order."""
    counted = count_by_run(study, "full", source)
    runs = ScoringRun.objects.filter(status="finished", pk__in=counted)
    best: dict[int, tuple[int, ScoringRun]] = {}
    for run in runs.select_related("language_model").order_by("pk"):
        n = counted[run.pk].accuracy.n
        if n and n >= best.get(run.language_model_id, (0,))[0]:
            best[run.language_model_id] = (n, run)
    places = dict(
        ModelSetMember.objects.filter(model_set__study=study).values_list(
            "language_model", "position"
        )
    )
    found = [
        Offered(
            r.language_model, r.language_model_id in places, n, counted[r.pk].accuracy.n_correct
        )
        for n, r in best.values()
    ]
    found.sort(key=lambda m: (places.get(m.model.pk, 10**6), m.model.name))
    return {m.model.name: m for m in found}


@dataclass(frozen=True, slots=True)
class DefaultModels:
    """Who is ticked where the address names no members: the published team's models, all models, or the most accurate ones."""

    names: Sequence[str]
    is_published: bool = False
    is_all: bool = False


def default_models(study: Study, models: Mapping[str, Offered]) -> DefaultModels:
    """The published team; else the most accurate of the set, of those that scored as many test cases as any."""
    is_brainbench = study.items.filter(collection=Item.Collection.BRAINBENCH).exists()
    if is_brainbench and set(PUBLISHED) <= models.keys():
        return DefaultModels([name for name in models if name in PUBLISHED], is_published=True)
    of_set = [m for m in models.values() if m.in_set] or list(models.values())
    most = max((m.n for m in of_set), default=0)
    best = sorted((m for m in of_set if m.n == most), key=lambda m: -m.accuracy)[:N_DEFAULT_MODELS]
    names = [m.model.name for m in of_set if m in best]
    return DefaultModels(names, is_all=len(names) == len(models))


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
    about: tuple[str | Promise, ...] = (
        ngettext("%(n)s trial", "%(n)s trials", n_trials) % {"n": number(n_trials, 0)},
        _("another participant's judgment of the same test case"),
        _("one more"),
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
        tick = Tick(name, str(m.model), percent(m.accuracy), name in current)
        found.setdefault(m.model.family, []).append(tick)
    rest = found.pop("", [])
    if rest:
        found[gettext("Other models") if found else gettext("Models")] = rest
    return [part for title, ticks in found.items() for part in _parts(title, ticks)]


def _parts(title: str, ticks: Sequence[Tick]) -> list[Family]:
    """A long family in parts, each with the name above it, so that none runs on into another column without it."""
    n = max(1, ceil(len(ticks) / MOST_TOGETHER))
    size = ceil(len(ticks) / n)
    return [
        Family(
            gettext("%(family)s, continued") % {"family": title} if start else title,
            ticks[start : start + size],
        )
        for start in range(0, len(ticks), size)
    ]
