"""A study whose versions differ in length, and runs on it."""

import pytest

from experiment.services.study_setup import create_study, pin_items
from scoring.models import LanguageModel, ScoringRun
from tests.factories import make_item

# Versions of different lengths: where sums and means disagree
MARKUPS = (
    "Rats [[slept, fasted for two whole days]] after training.",
    "The [[blood oxygen level dependent response | response]] of neurons rose by [[12 | 5]]%.",
    "[[5-HT, β-endorphin]] neurons fired “late”.",
    "In mice, [[no | a very large and unexpected]] change was seen.\nIt lasted.",
    "Place cells [[fired again, were silent]] during sleep.",
    "The task was [[hard, learned within three of the five sessions]].",
)


@pytest.fixture
def study(db):
    made = create_study("memory", "brainbench", contact="lab@example.org")
    items = [
        make_item(f"item-{n}", markup=markup, doi=f"10.1/{n}") for n, markup in enumerate(MARKUPS)
    ]
    pin_items(made, items)
    return made


def make_run(study, **fields):
    model, _ = LanguageModel.objects.get_or_create(name="org/tiny", display_name="Tiny")
    values = {
        "language_model": model,
        "backend": "transformers",
        "status": "finished",
        "total": len(MARKUPS),
    }
    return ScoringRun.objects.create(study=study, **(values | fields))
