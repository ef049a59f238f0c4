"""The teams whose predictions are published: people, and the three Llama-2 chat models, combined by logistic regression."""

from functools import partial

from analysis.report.replication import places
from analysis.report.replication.recomputed import n_team_right
from analysis.report.replication.row import Printed
from analysis.teams.domain.evidence import HUMAN
from analysis.teams.options import PUBLISHED

PEOPLE = (HUMAN, "people")
MODELS = tuple(zip(PUBLISHED, ("7B", "13B", "70B"), strict=True))
SMALL, MIDDLE, LARGE = MODELS
# Correct of the 1,011 trials on human-created test cases
N_RIGHT = (
    ((PEOPLE,), "641"),
    ((SMALL,), "806"),
    ((MIDDLE,), "767"),
    ((LARGE,), "806"),
    ((PEOPLE, SMALL), "799"),
    ((PEOPLE, MIDDLE), "785"),
    ((PEOPLE, LARGE), "808"),
    ((SMALL, MIDDLE), "795"),
    ((SMALL, LARGE), "820"),
    ((MIDDLE, LARGE), "835"),
    ((PEOPLE, SMALL, MIDDLE), "815"),
    ((PEOPLE, SMALL, LARGE), "816"),
    ((PEOPLE, MIDDLE, LARGE), "823"),
    (MODELS, "844"),
    ((PEOPLE, *MODELS), "822"),
)

ROWS: tuple[Printed, ...] = tuple(
    Printed(
        place=places.TEAMS,
        what=f"{' + '.join(label for _, label in members)}: trials right",
        printed=printed,
        value=partial(n_team_right, names=frozenset(name for name, _ in members)),
    )
    for members, printed in N_RIGHT
)
