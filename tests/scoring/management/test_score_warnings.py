"""What the command `score` says of a model that is scored, and perhaps should not be."""

from pathlib import Path

import pytest

from scoring.demo_lm import MODEL_FOLDER
from scoring.models import ScoringRun
from tests.factories import make_study
from tests.scoring.commands import hf, score
from tests.scoring.tokenizers_made import save_shuffled_demo

pytestmark = pytest.mark.django_db
SAID = "the tokenizer is another model's"


def test_another_models_tokenizer_is_warned_about_kept_in_the_run_and_no_reason_to_stop(
    tmp_path: Path,
) -> None:
    make_study(human=2)
    _, err, error = score(*hf(MODEL_FOLDER, tokenizer=save_shuffled_demo(tmp_path), device="cpu"))
    assert error is None
    assert SAID in err
    (sentence,) = ScoringRun.objects.get().identity["warnings"]
    assert SAID in sentence


def test_the_models_own_tokenizer_is_not_spoken_of() -> None:
    make_study(human=2)
    _, err, error = score(*hf(MODEL_FOLDER, device="cpu"))
    assert (err, error) == ("", None)
    assert "warnings" not in ScoringRun.objects.get().identity
