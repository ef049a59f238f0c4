"""Statistics of one version: by study, by model, beside the field's other test cases. Nothing that its reader may not see."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.contrib.auth.models import User
from django.db.models import Q

from analysis.data.item_figures import (
    KINDS,
    known_cutoffs,
    people_figures,
    valid_judgments,
    whole_text_scores,
)
from analysis.data.items import read_columns
from analysis.services.items.listing import beside, marks_for
from analysis.stats import MissingResult, NotEnough
from analysis.stats.estimates import Mean, Proportion, mean_of, proportion
from analysis.stats.item_marks import Mark
from analysis.stats.item_response import (
    FEWEST_ANSWERS,
    ItemRest,
    TwoParameters,
    item_rest,
    rank_differences,
    two_parameters,
)
from experiment.domain.roles import Right
from experiment.models import Item, Participant, ResearchField, Study
from experiment.models.studies import StudyQuerySet
from experiment.services.curation.reviews import difficulty_seen_by, may_see_difficulty
from experiment.services.rights import studies_with
from lib.points import point
from scoring.models import LanguageModel, ScoringRun
from scoring.services.model_facts import told_apart


@dataclass(frozen=True)
class ModelPart:
    """difficulty: ppl(altered) - ppl(original). rank: from 1, the hardest, of n of the field's that the model scored."""

    name: str
    difficulty: float
    rank: float
    n: int
    is_early: bool  # published before its training data end
    run: int
    has_trace: bool

    @property
    def points(self) -> float:
        """Points of its decision."""
        return point(self.difficulty)

    @property
    def decision(self) -> str:
        return "right" if self.points == 1 else "a tie" if self.points else "wrong"


# By model, and by item: difficulty, run, whether it can have a trace
Scored = Mapping[int, Mapping[int, tuple[float, int, bool]]]


def scores(research_field: ResearchField, user: User) -> Scored:
    """Scores of the field's test cases whose difficulty the person may know."""
    items = Item.objects.filter(difficulty_seen_by(user, research_field), kind=Item.Kind.TEST)
    columns = ("run__language_model", "item", "run", "run__backend", "ppl_original", "ppl_altered")
    found: dict[int, dict[int, tuple[float, int, bool]]] = defaultdict(dict)
    rows = whole_text_scores(items.values("pk"), studies_with(user, Right.SEE_DATA))
    for model, item, run, backend, original, altered in rows.values_list(*columns):
        can_trace = backend != ScoringRun.Backend.IMPORTED
        found[model][item] = (altered - original, run, can_trace)
    return found


def model_parts(item: Item, scored: Scored) -> tuple[ModelPart, ...]:
    """The hardest for them first."""
    parts = []
    known = LanguageModel.objects.in_bulk(scored)
    names = told_apart(known.values())
    for pk, by_item in scored.items():
        if item.pk not in by_item:
            continue
        name, cutoff = names[pk], known[pk].training_cutoff
        is_early = bool(item.publication_date and cutoff and item.publication_date <= cutoff)
        difficulty, run, can_trace = by_item[item.pk]
        ranks = dict(zip(by_item, ranks_of([d for d, *_ in by_item.values()]), strict=True))
        rank = ranks[item.pk]
        parts.append(ModelPart(name, difficulty, rank, len(by_item), is_early, run, can_trace))
    return tuple(sorted(parts, key=lambda part: (part.rank / part.n, part.name)))


def ranks_of(values: Sequence[float]) -> list[float]:
    from scipy.stats import rankdata

    return [float(rank) for rank in rankdata(values)]


N_COMMENTS = 20


@dataclass(frozen=True)
class StudyPart:
    """Valid judgments of one study, or of all (title empty). recognised: of those who were asked; median_rt_ms: of those timed."""

    title: str
    slug: str
    accuracy: Proportion
    median_rt_ms: float | None
    recognised: Proportion | None
    confidence_right: Mean | None
    confidence_wrong: Mean | None


@dataclass(frozen=True)
class Said:
    """A comment on the study, by somebody who judged the test case."""

    text: str
    study: str


def study_parts(item: Item, studies: StudyQuerySet) -> tuple[StudyPart, ...]:
    """Each study's part, and where they are several, all of them first."""
    own = ("own_correct", "own_confidence", "own_rt_ms", "recognised")
    judged = valid_judgments(studies).filter(trial__item=item)
    rows = list(judged.values_list("trial__participant__study", *own))
    by_study: dict[int, list[tuple[object, ...]]] = defaultdict(list)
    for study, *row in rows:
        by_study[study].append(tuple(row))
    found = Study.objects.filter(pk__in=by_study).order_by("title")
    parts = [_part(study.title, study.slug, by_study[study.pk]) for study in found]
    if len(parts) > 1:
        parts.insert(0, _part("", "", [tuple(row) for _, *row in rows]))
    return tuple(parts)


def _part(title: str, slug: str, rows: Sequence[tuple[object, ...]]) -> StudyPart:
    # None, where nothing was said, becomes NaN
    correct, confidence, rt_ms, recognised = np.array(rows, dtype=float).T
    timed, asked = rt_ms[~np.isnan(rt_ms)], recognised[~np.isnan(recognised)]
    return StudyPart(
        title,
        slug,
        proportion(correct),
        float(np.median(timed)) if len(timed) else None,
        proportion(asked) if len(asked) else None,
        _mean(confidence[correct == 1]),
        _mean(confidence[correct == 0]),
    )


def _mean(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Mean | None:
    known = values[~np.isnan(values)]
    return mean_of(known, (1, 100)) if len(known) else None


def comments(item: Item, studies: StudyQuerySet) -> tuple[Said, ...]:
    """The newest ones, of studies whose free comments the person may read."""
    people = Participant.objects.finished().filter(
        study__in=studies.order_by().values("pk"),
        kind__in=KINDS,
        trials__item=item,
        trials__judgment__isnull=False,
    )
    rows = people.exclude(comments="").order_by("-finished_at")
    found = rows.values_list("comments", "study__title")[:N_COMMENTS]
    return tuple(Said(text, title) for text, title in found)


FEWEST_RANKED = 8  # judgments of a test case whose accuracy is ranked


@dataclass(frozen=True)
class Place:
    """Where it stands among the field's test cases: accuracy of people, mean rank by models as a share, from 0, the hardest.

    disagreement: analysis/stats/item_discrimination.rank_differences.
    """

    keys: tuple[str, ...]
    people: tuple[float, ...]
    models: tuple[float, ...]
    at: int
    disagreement: float


def place_of(item: Item, research_field: ResearchField, user: User) -> Place | None:
    """Without the rest of its statistics; None too where the user may not know the models' part yet."""
    if not may_see_difficulty(user, item):
        return None
    return place_among(item, scores(research_field, user), studies_with(user, Right.SEE_DATA))


def place_among(item: Item, scored: Scored, studies: StudyQuerySet) -> Place | None:
    """Among those of its field that models scored and people judged often enough; None where it is none of them."""
    # Of each item, its rank with each model as a share of those it scored: from 0, the hardest, to 1
    shares: dict[int, list[float]] = defaultdict(list)
    for by_item in scored.values():
        model_ranks = ranks_of([difficulty for difficulty, *_ in by_item.values()])
        for pk, rank in zip(by_item, model_ranks, strict=True):
            shares[pk].append((rank - 0.5) / len(by_item))
    people = people_figures(list(shares), studies)
    pks = sorted(pk for pk, found in people.items() if found.n >= FEWEST_RANKED)
    if item.pk not in pks or len(pks) < 3:
        return None
    keys = dict(Item.objects.filter(pk__in=pks).values_list("pk", "key"))
    accuracy = [people[pk].n_right / people[pk].n for pk in pks]
    ranks = [float(np.mean(shares[pk])) for pk in pks]
    at = pks.index(item.pk)
    disagreement = float(rank_differences(accuracy, ranks)[at])
    return Place(tuple(keys[pk] for pk in pks), tuple(accuracy), tuple(ranks), at, disagreement)


MOST_ANSWERS = 300_000  # read for a page
MOST_FITTED = 20_000  # answers that a page waits for a fit of


@dataclass(frozen=True)
class Fitted:
    """One item's part of a fit."""

    fit: TwoParameters
    at: int
    n_items: int

    @property
    def a(self) -> tuple[float, float]:
        return float(self.fit.a[self.at]), float(self.fit.a_se[self.at])

    @property
    def b(self) -> tuple[float, float]:
        return float(self.fit.b[self.at]), float(self.fit.b_se[self.at])


def fitted(item: Item, user: User) -> Fitted | MissingResult:
    """The 2PL model of the field's test cases that were judged often enough, for this one."""
    try:
        table = _answers(item, studies_with(user, Right.SEE_DATA), MOST_FITTED)
        pks, number, counts = np.unique(table["item"], return_inverse=True, return_counts=True)
        enough = counts >= FEWEST_ANSWERS
        if item.pk not in pks[enough]:
            n = int(counts[pks == item.pk].sum())
            raise NotEnough(
                f"This test case has {n} judgments.", f"At least {FEWEST_ANSWERS} are needed."
            )
        keep = enough[number]
        numbers = np.searchsorted(pks[enough], table["item"][keep])
        n_items = int(enough.sum())
        fit = two_parameters(table["person"][keep], numbers, table["right"][keep], n_items=n_items)
        return Fitted(fit, int(np.searchsorted(pks[enough], item.pk)), n_items)
    except NotEnough as error:
        return MissingResult.of(error)


def rest_correlation(item: Item, studies: StudyQuerySet) -> ItemRest | MissingResult:
    try:
        table = _answers(item, studies, MOST_ANSWERS)
        pks, number = np.unique(table["item"], return_inverse=True)
        at = int(np.searchsorted(pks, item.pk))
        if at == len(pks) or pks[at] != item.pk:
            raise NotEnough("This test case has no judgments.", "At least 10 people are needed.")
        return item_rest(table["person"], number, table["right"], at)
    except NotEnough as error:
        return MissingResult.of(error)


def _answers(
    item: Item, studies: StudyQuerySet, most: int
) -> "Mapping[str, np.ndarray[tuple[int], np.dtype[np.int64]]]":
    """Person, item and whether right, of the valid judgments of the field's test cases."""
    rows = valid_judgments(studies).filter(
        trial__item__field=item.field, trial__item__kind=Item.Kind.TEST
    )
    if rows.count() > most:
        raise NotEnough(
            f"The field has more than {most:,} judgments.",
            "This is too much for a page. Use analysis/stats from Python.",
        )
    columns = {
        "person": ("trial__participant_id", np.int64),
        "item": ("trial__item_id", np.int64),
        "right": ("own_correct", bool),
    }
    table = read_columns(rows, columns)
    return {name: table[name].to_numpy() for name in columns}


HIDDEN = "The difficulty for models is shown after your verdict."
NO_PLACE = (
    "This needs at least three test cases of the field, including this one, that models have scored and people have "
    f"judged at least {FEWEST_RANKED} times."
)


@dataclass(frozen=True)
class Statistics:
    """models: None where this person may not know them yet. trace_study: through which study traces are looked at."""

    people: tuple[StudyPart, ...]
    models: tuple[ModelPart, ...] | None
    place: Place | None
    rest: ItemRest | MissingResult
    comments: tuple[Said, ...]
    may_read_comments: bool
    marks: tuple[Mark, ...]
    early_for: tuple[str, ...]
    trace_study: str

    @property
    def no_models(self) -> str:
        """Why there is no table of models."""
        return HIDDEN if self.models is None else "No model has scored this version."

    @property
    def no_place(self) -> str:
        """Why the test case has no place among others."""
        return HIDDEN if self.models is None else NO_PLACE


def statistics(item: Item, research_field: ResearchField, user: User) -> Statistics:
    studies = studies_with(user, Right.SEE_DATA)
    people = study_parts(item, studies)
    seen = may_see_difficulty(user, item)
    ranked = scores(research_field, user) if seen else {}
    cutoffs = known_cutoffs(beside(item), studies)
    published = item.publication_date
    early = dict.fromkeys(name for name, day in cutoffs if published and published <= day)
    commenting = studies_with(user, Right.IDENTIFY)
    shown = Q(study_items__item=item) | Q(item_counts__item=item, item_counts__assigned__gt=0)
    traced = studies.filter(shown).order_by("slug").values_list("slug", flat=True)
    return Statistics(
        people,
        model_parts(item, ranked) if seen else None,
        place_among(item, ranked, studies),
        rest_correlation(item, studies),
        comments(item, commenting),
        commenting.exists(),
        marks_for(item, user),
        tuple(early),
        traced.first() or "",
    )
