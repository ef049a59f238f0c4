"""Who is a member of a study's teams unless a user chooses others."""

import numpy as np

from analysis.data.dataset import SourceData
from analysis.stats import NotEnough
from analysis.teams.domain.gather import gather
from analysis.teams.domain.search import panel
from analysis.teams.options import PUBLISHED

PUBLISHED_RULE = "The members of the published teams."
PANEL_RULE = (
    "One human, where there are trials, and the three models with most trials right (ties: in the study's order), "
    "chosen on the trials on which they are tried."
)

NONE_COMPLETE = (
    "No language model of the study scored every judged test case.",
    "Finish the runs (Models), or choose the members (Teams).",
)
ONE_MODEL = (
    "There are no trials of people, and one language model: a team takes two members.",
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
