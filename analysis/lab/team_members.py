"""The members that the form of teams offers, models with their accuracy, and why one that an address names is not among them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from analysis.data.filters import ASKED, ReportOptions, asked_label
from analysis.data.runs import choose_choice_runs, choose_scoring_runs
from analysis.data.version import participants_kind
from analysis.lab.filter_form import shortened
from analysis.teams.options import PUBLISHED
from experiment.models import Item, Participant, Study
from scoring.models import ChoiceRun, ModelSetMember, ScoringRun
from scoring.services.choosing.summary import summarise
from scoring.services.model_facts import told_apart
from scoring.services.summary import count_by_run

HUMAN = "human"
PEOPLE = ("Human", "Second human", "Third human")
N_DEFAULT_MODELS = 3
FULL = ScoringRun.Condition.FULL


@dataclass(frozen=True, slots=True)
class Offered:
    """A model that took the test one way; n: test cases that it decided. is_again: it was asked, and is offered by its perplexities too."""

    name: str
    label: str
    family: str
    in_set: bool
    n: int
    accuracy: float
    is_again: bool = False


def offered_models(study: Study, options: ReportOptions) -> dict[str, Offered]:
    """Name -> a model with decisions on the source's test cases, as data of results name and order them: the set's first."""
    # Of models with perplexities of full texts: the run that counts in results
    counted = count_by_run(study, FULL, options.source)
    coverage = {(pk, options.source): each.accuracy.n for pk, each in counted.items()}
    runs = ScoringRun.objects.filter(status=ScoringRun.Status.FINISHED, pk__in=counted)
    is_published = participants_kind(study, options) == Participant.Kind.IMPORTED
    with_models = list(runs.select_related("language_model"))
    kept = choose_scoring_runs(study, with_models, coverage, is_published)
    scored = {
        run.language_model_id: (run.language_model, counted[run.pk].accuracy) for run, _ in kept
    }
    # Of models that chose: the run that counts in results, its test cases and accuracy
    items = Item.objects.shown_by([study]).of_stratum(options.source).values_list("pk", flat=True)
    chosen = choose_choice_runs(study, list(items))
    summaries = [(run, summarise(run, study, options.source)) for run, _source in chosen]
    asked = [(run, s.n_judged, s.accuracy) for run, s in summaries if s.accuracy is not None]

    places = dict(
        ModelSetMember.objects.filter(model_set__study=study).values_list(
            "language_model", "position"
        )
    )
    last = max(places.values(), default=0) + 1
    names = told_apart(
        [*(m for m, _ in scored.values()), *(run.language_model for run, *_ in asked)]
    )
    found = []
    for m, own in scored.values():
        one = Offered(m.name, names[m.pk], m.family, m.pk in places, own.n, own.value)
        found.append((places.get(m.pk, last), m.name, False, one))
    for run, n, accuracy in asked:
        m = run.language_model
        is_again = m.pk in scored
        # In the place of a member of the set without perplexities
        in_set = m.pk in places and not is_again
        label = asked_label(names[m.pk], is_also_scored=is_again, is_simulated=run.is_simulated)
        one = Offered(f"{m.name}{ASKED}", label, m.family, in_set, n, accuracy, is_again)
        found.append((places[m.pk] if in_set else last, m.name, True, one))
    return {one.name: one for *_place, one in sorted(found, key=lambda row: row[:3])}


@dataclass(frozen=True, slots=True)
class DefaultModels:
    """Members that are ticked where the address names none: the published team's models, all models, or the most accurate ones."""

    names: Sequence[str]
    is_published: bool = False
    is_all: bool = False

    @property
    def words(self) -> str:
        """
        >>> DefaultModels(["a", "b"]).words, DefaultModels(["a"], is_all=True).words, DefaultModels([]).words
        ('the 2 most accurate language models', 'the language model', '')
        """
        n = len(self.names)
        if self.is_published:
            return "the three Llama-2 chat models of the published teams"
        if n == 0:
            return ""
        if self.is_all:
            return "the language model" if n == 1 else f"all {n} language models"
        return (
            "the most accurate language model"
            if n == 1
            else f"the {n} most accurate language models"
        )


def default_models(study: Study, models: Mapping[str, Offered]) -> DefaultModels:
    """The published team; else the most accurate of the set, of those that decided as many test cases as any, each model once."""
    is_brainbench = study.items.filter(collection=Item.Collection.BRAINBENCH).exists()
    if is_brainbench and set(PUBLISHED) <= models.keys():
        return DefaultModels([name for name in models if name in PUBLISHED], is_published=True)
    once = [m for m in models.values() if not m.is_again]
    of_set = [m for m in once if m.in_set] or once
    most = max((m.n for m in of_set), default=0)
    best = sorted((m for m in of_set if m.n == most), key=lambda m: -m.accuracy)[:N_DEFAULT_MODELS]
    names = [m.name for m in of_set if m in best]
    return DefaultModels(names, is_all=len(names) == len(once))


def members_of(
    study: Study, wanted: Sequence[str], models: Mapping[str, Offered], problems: list[str]
) -> tuple[int, list[str]]:
    """Number of people and the models, each in one order, so that a result is stored once."""
    people = {HUMAN, *(f"{HUMAN}-{n}" for n in range(2, len(PEOPLE) + 1))}
    n_humans = sum(name in people for name in wanted)
    if n_humans > len(PEOPLE):
        problems.append(
            f"Members: at most {len(PEOPLE)} humans are possible, so {len(PEOPLE)} were used."
        )
    for name in dict.fromkeys(wanted):
        if name and name not in people and name not in models:
            why = _why_not(study, name, models)
            problems.append(f"Members: “{shortened(name)}” was left out: {why}.")
    return min(n_humans, len(PEOPLE)), [name for name in models if name in wanted]


def _why_not(study: Study, name: str, models: Mapping[str, Offered]) -> str:
    """Why a model that an address names is not among those that are offered, as the end of a sentence."""
    model = name.removesuffix(ASKED)
    is_asked = name != model
    asked = ChoiceRun.objects.seen_in([study]).filter(language_model__name=model)
    scored = ScoringRun.objects.seen_in([study], checkpoints=True).filter(
        language_model__name=model
    )
    runs: QuerySet[ChoiceRun] | QuerySet[ScoringRun] = asked if is_asked else scored
    newest = runs.order_by("pk").last()
    other = model if is_asked else f"{model}{ASKED}"
    if newest is None and other in models:
        how = "scored, not asked" if is_asked else "asked, not scored"
        return f"it was {how}: “{other}” is its name here"
    if newest is None:
        return "this study has no run of it"
    if not runs.filter(status=newest.Status.FINISHED).exists():
        return f"none of its runs is finished; the newest is {newest.get_status_display()}"
    if is_asked and not asked.filter(is_simulated=False).exists():
        real = ChoiceRun.objects.seen_in([study]).filter(
            status=newest.Status.FINISHED, is_simulated=False
        )
        if real.exists():
            return "its runs are simulated, and other models were really asked"
    if is_asked:
        return "of none of these test cases can its answers in both orders be read"
    if not scored.of_models().exists():
        return "it is a checkpoint of a training"
    return "it has not scored the full texts of these test cases"
