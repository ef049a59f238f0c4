"""The benchmark of training measures what it says it does; how fast the machine is, is no test's matter."""

import json

import pytest
import torch
from django.core.management import call_command


@pytest.mark.sweep
@pytest.mark.skipif(torch.cuda.is_available(), reason="on a GPU it measures a model of 7 billion weights")  # fmt: skip
def test_a_step_is_timed_with_and_without_checkpointing(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("bench_training", "--json")
    told = json.loads(capsys.readouterr().out)
    without, checkpointed = told["steps"]
    assert (without["gradient_checkpointing"], checkpointed["gradient_checkpointing"]) == (False, True)  # fmt: skip
    assert checkpointed["activation_bytes"] < without["activation_bytes"] / 2
    for step in told["steps"]:
        assert step["tokens_per_s"] == pytest.approx(told["context"] / step["step_s"])
        assert step["flop_share"] > 0
    # By layer: rank 16 on q, o (256 to 256), v (256 to 64), gate, up (256 to 896) and down (896 to 256)
    assert told["trainable_parameters"] == 4 * 16 * (2 * 512 + 320 + 3 * 1152)
    call_command("bench_training")
    assert "not measured" in capsys.readouterr().out
