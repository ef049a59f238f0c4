"""The command that scores steps on the way: which it takes, what it shows, and that it goes on."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from experiment.models import Study
from scoring.models import Checkpoint, LanguageModel, ScoringRun, Training
from scoring.services.training import run
from tests.scoring.trainings import asked, build_onions, folders_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def training(settings: Any, tmp_path: Path) -> Training:
    """It kept two steps."""
    folders_in(settings, tmp_path)
    done = run.run(asked(build_onions(tmp_path / "papers.jsonl"), keep=(2, 3)))
    assert done.status == "finished"
    return done


def told(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("lm_checkpoints", *arguments, "--json", stdout=out)
    return dict(json.loads(out.getvalue()))


def test_steps_are_scored_once_and_shown_in_their_order(training: Training, study: Study) -> None:
    for arguments, words in (
        (("leek-lm",), "There is no training “leek-lm”. Newest trainings: lab/onion-lm."),
        (("lab/onion-lm", "--steps", "7"), "did not save step 7. It has 0, 2, 3."),
    ):
        with pytest.raises(CommandError, match=words):
            told(*arguments, "--study", study.slug)
    assert not Checkpoint.objects.exists()

    first = told("lab/onion-lm", "--study", study.slug, "--steps", "3,0")
    assert [one["step"] for one in first["checkpoints"]] == [0, 3]
    every = told(str(training.pk), "--study", study.slug)
    assert [one["step"] for one in every["checkpoints"]] == [0, 2, 3]
    assert {one["run"] for one in first["checkpoints"]} <= {
        one["run"] for one in every["checkpoints"]
    }
    assert ScoringRun.objects.count() == 3
    names = LanguageModel.objects.filter(checkpoint__isnull=False).values_list("name", flat=True)
    assert set(names) == {f"lab/onion-lm @ step {n}" for n in (0, 2, 3)}
    assert all(one["ppl_original"] > 0 for one in every["checkpoints"])
    out = StringIO()
    call_command("lm_checkpoints", "lab/onion-lm", "--study", study.slug, stdout=out)
    assert len(out.getvalue().splitlines()) == 4
