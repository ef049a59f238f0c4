"""Members of teams, the teams that are tried, and chosen teams tried on a study's trials."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.dataset import SourceData
from analysis.data.filters import ASKED, UnknownChoiceError
from analysis.stats import NotEnough
from analysis.teams.domain.deferral import policies
from analysis.teams.domain.evaluation import (
    MEASURES,
    MULTIPLICITY,
    resampling_words,
)
from analysis.teams.domain.evidence import Evidence, Gathered, Names, gather, human_name
from analysis.teams.domain.families import AND_DEFERRAL, TEAMS, TOGETHER, concluded
from analysis.teams.domain.folds import by_item, by_item_and_participant
from analysis.teams.domain.runs import Progress, Runs, member_results, method_named
from analysis.teams.domain.tables import tables
from analysis.teams.options import MOST_HUMANS, PUBLISHED, TeamOptions
from analysis.teams.results import FewItems, MemberResult, Method, TriedTeams

PUBLISHED_RULE = "The members of the published teams."
PANEL_RULE = (
    "One human, if there are trials, and the three most accurate models (equal ones in the study's order), "
    "chosen on the trials on which they are evaluated."
)

NONE_COMPLETE = (
    "No language model of the study scored every judged test case.",
    "Finish the runs on the Models page, or choose other members.",
)
ONE_MODEL = (
    "A team needs two members, but there are no trials of people and only one language model.",
    "Let participants finish the study, or score it with another model.",
)


def complete_models(data: SourceData) -> list[int]:
    """Numbers of the study's models that scored every judged test case (without trials: every one that any scored)."""
    members = data.set_models
    scored = np.isfinite(data.difficulty)
    judged = data.item_counts > 0 if len(data.trials) else scored[members].any(axis=0)
    return [int(m) for m in members if scored[m, judged].all()]


def usual_members(data: SourceData) -> tuple[int, list[int], str]:
    """Number of people, numbers of models, and the rule: four members at most, of which teams are formed.

    Raises:
        NotEnough: there are not two members.
    """
    n_humans = 0 if data.trials.empty else 1
    models = complete_models(data)
    if not models and len(data.set_models):
        reason, needed = NONE_COMPLETE
        raise NotEnough(reason, needed.format(study=data.study_slug))
    if not models:
        raise NotEnough(*data.no_scores)
    if n_humans + len(models) < 2:
        raise NotEnough(*ONE_MODEL)
    names = data.models["name"].tolist()
    published = [names.index(name) for name in PUBLISHED if name in names]
    if data.is_brainbench and n_humans and set(published) <= set(models) and len(published) == 3:
        return n_humans, published, PUBLISHED_RULE
    chosen = panel(gather(data, models, n_humans).evidence)
    return n_humans, [n for n in models if names[n] in chosen], PANEL_RULE


def subsets(names: Sequence[str], up_to: int) -> Iterator[Names]:
    """All teams of 1 to `up_to` members, smaller ones first, then in the order of names.

    >>> list(subsets(("a", "b", "c"), 2))
    [('a',), ('b',), ('c',), ('a', 'b'), ('a', 'c'), ('b', 'c')]
    """
    sizes = range(1, min(up_to, len(names)) + 1)
    return chain.from_iterable(combinations(names, size) for size in sizes)


def panel(evidence: Evidence, most: int = 4) -> Names:
    """The first human, if there is one, and the most - 1 most accurate models (equal ones in order), in member order."""
    earned = evidence.points.sum(axis=0)
    models = [k for k, m in enumerate(evidence.members) if not m.is_human]
    best = sorted(models, key=lambda k: (-float(earned[k]), k))[: most - 1]
    people = [k for k in (0,) if evidence.n_humans]
    return tuple(evidence.names[k] for k in (*people, *sorted(best)))


PEOPLE = frozenset(human_name(n) for n in range(MOST_HUMANS))  # as members are asked for
MOST_TEAMS = 500
SHORTENED = (
    "The request would give {n:,} teams. Only teams of at most {k} members were evaluated{whole}."
)
AND_WHOLE = ", as well as the whole team"
AND_FEWER = " and the same team with one person fewer"


def chosen_members(data: SourceData, asked: Sequence[str]) -> tuple[int, list[int]]:
    """Number of people, and numbers of the models; without a choice the panel.

    Raises:
        UnknownChoiceError: a name is none of the models', or part of several.
        NotEnough: no member was named, and there are no trials or scores.
    """
    if not asked:
        return usual_members(data)[:2]
    n_humans = sum(name.casefold() in PEOPLE for name in asked)
    if n_humans > MOST_HUMANS:
        raise UnknownChoiceError(
            f"members: {n_humans} humans are too many. A team has at most {MOST_HUMANS}."
        )
    models: list[int] = []
    for name in asked:
        if name.casefold() not in PEOPLE:
            number = _model_named(data, name)
            if number in models:
                raise UnknownChoiceError(
                    f"members: “{data.models['name'].iloc[number]}” is chosen twice"
                )
            models.append(number)
    return n_humans, models


def _model_named(data: SourceData, asked: str) -> int:
    names = data.models["name"].astype(str).tolist()
    if asked in names:
        return names.index(asked)
    displayed = data.models["display_name"].astype(str).tolist()
    wanted = asked.casefold()
    # A whole name, as tables and figures print it, is meant though it be part of another
    if [name.casefold() for name in displayed].count(wanted) == 1:
        return [name.casefold() for name in displayed].index(wanted)
    found = [
        n
        for n, (name, words) in enumerate(zip(names, displayed, strict=True))
        if wanted in name.casefold() or wanted in words.casefold()
    ]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"{names[n]} ({displayed[n]})" for n in found)
        raise UnknownChoiceError(f"members: “{asked}” is part of several names: {several}")
    known = ", ".join(("human", *names))
    raise UnknownChoiceError(
        f"members: “{asked}” is not a language model of this study. Choose from {known}."
    )


def wanted_teams(names: Names, n_humans: int, options: TeamOptions) -> tuple[list[Names], str]:
    """The teams to try, small ones first, each member alone among them; and what was left out, in a sentence.

    People are any participants, so of teams that differ only in which of them is a member one is tried.
    """
    people, models = names[:n_humans], names[n_humans:]
    alone: list[Names] = [(name,) for name in (*people[:1], *models)]
    whole = tuple(names)
    fewer = [people[:-1] + models] if people and len(names) > 1 else []
    if not options.all_subsets:
        return list(dict.fromkeys([*alone, *fewer, whole])), ""
    most = min(options.up_to or len(names), len(names))
    sizes = range(1, most + 1)
    counts = np.cumsum(
        [sum(comb(len(models), size - h) for h in range(min(n_humans, size) + 1)) for size in sizes]
    )
    shortened = ""
    if counts[-1] > MOST_TEAMS:
        fitting = max(1, int((counts <= MOST_TEAMS).sum()))
        also = "" if options.up_to else AND_WHOLE + (AND_FEWER if fewer else "")
        shortened = SHORTENED.format(n=int(counts[-1]), k=fitting, whole=also)
        sizes = range(1, fitting + 1)
    teams = [
        people[:h] + rest
        for size in sizes
        for h in range(min(n_humans, size), -1, -1)
        for rest in combinations(models, size - h)
    ]
    # The whole team stays, and with it what one more person brings to the others
    last = [] if options.up_to else [*fewer, whole]
    return list(dict.fromkeys([*teams, *last])), shortened


# Rows of the table of predictions; where they would be more, it has those of the largest team and its members alone
MOST_PREDICTIONS = 5_000_000


def try_teams(
    data: SourceData, options: TeamOptions, progress: Progress
) -> tuple[TriedTeams, dict[str, pd.DataFrame]]:
    """Teams of the members that the options name, with their tables; see docs/results.md.

    Raises:
        UnknownChoiceError: a member does not exist.
        NotEnough: there are no trials or scores that could be combined.
    """
    n_humans, models = chosen_members(data, options.members)
    gathered = gather(data, models, n_humans)
    hold_out = by_item if options.out_of == "item" else by_item_and_participant
    runs = Runs.of(gathered.evidence, data, hold_out)
    names = runs.evidence.names
    teams, shortened = wanted_teams(names, n_humans, options)
    runs.add(teams, method_named(options.method, data.seed), progress)
    if not runs.held:
        missing = runs.not_possible[0]
        raise NotEnough(missing.reason, missing.needed)
    method = Method(options.method)
    asked = {tuple(names), *(teams if options.all_subsets else ())}
    found = policies(runs, method)
    # Of others, which are there to be compared with, nothing is concluded
    known = concluded(
        runs.results(),
        runs.adding_human(),
        found.chosen,
        main=method,
        question=lambda team: TEAMS if team.names in asked else None,
        sizes=(runs.draws.n_items, runs.draws.n_people),
    )
    results, found = known.rows, replace(found, chosen=known.chosen)
    used = runs.folds_of.get(method, runs.folds)
    n_teams = sum(len(members) > 1 and members in asked for members, _ in runs.held)
    together = TOGETHER.format(
        teams=f"{n_teams} team{'s' * (n_teams != 1)}",
        others="",
        methods="",
        deferral=AND_DEFERRAL if found.chosen else "",
    )
    tried = TriedTeams(
        **in_common(gathered, runs),
        folds=used.words,
        folds_kind=used.kind,
        teams=results,
        adding_human=known.adding,
        policies=found.points,
        policies_chosen=found.chosen,
        policies_method=found.method,
        shortened=shortened,
        taken_twice=tuple(n for n in names if f"{n}{ASKED}" in names),
        multiplicity=MULTIPLICITY.format(family=together),
    )
    predicted = None
    if len(runs.evidence) * len(runs.held) > MOST_PREDICTIONS:
        longest = max((members for members, _ in runs.held), key=len)
        predicted = [longest, *(members for members, _ in runs.held if len(members) == 1)]
    return tried, tables(runs, data.items, results, found, predicted=predicted)


def in_common(
    gathered: Gathered, runs: Runs, left_out: Iterable[MemberResult] = ()
) -> dict[str, Any]:
    """Fields of TeamResults that follow from the trials and how they are held out and resampled; left_out: of its members."""
    evidence, draws = runs.evidence, runs.draws
    n_items = len(np.unique(evidence.item))
    return {
        "n_trials": len(evidence),
        "n_items": n_items,
        "few_items": FewItems.of(n_items),
        "n_participants": len(np.unique(evidence.participant)),
        "n_left_out": gathered.n_rows - len(evidence),
        "members": member_results(evidence, gathered.missing, left_out),
        "ratings": gathered.ratings,
        "folds_of": {name: of.words for name, of in runs.folds_of.items()},
        "not_possible": tuple(runs.not_possible),
        "resamples": draws.resamples,
        "seed": draws.seed,
        "measures": MEASURES,
        "method": resampling_words(draws),
    }
