"""Runs lm-evaluation-harness on exported tasks, in a process of its own: from its command line, then from Python.

Usage: python run_lm_eval.py FOLDER; it holds the models gpt2/ and llama/ and the tasks paper/, clean/, isolated/ and
swapped/.
"""

import json
import sys
from pathlib import Path

from lm_eval import simple_evaluate
from lm_eval.__main__ import cli_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager


def from_command_line(folder):
    sys.argv = [
        *(
            "lm_eval",
            "--model",
            "hf",
            "--model_args",
            f"pretrained={folder / 'gpt2'},dtype=float32",
        ),
        *("--device", "cpu", "--batch_size", "3", "--tasks", "brainbench"),
        *("--include_path", str(folder / "paper")),
        *("--output_path", str(folder / "out"), "--log_samples"),
    ]
    cli_evaluate()


def from_python(folder):
    lm = HFLM(pretrained=str(folder / "llama"), dtype="float32", device="cpu")
    names = ("paper", "clean", "isolated", "swapped")
    tasks = [str(folder / name) for name in names]
    manager = TaskManager(include_path=tasks, include_defaults=False)

    def evaluate(task, **changes):
        done = simple_evaluate(
            model=lm, tasks=[task], task_manager=manager, bootstrap_iters=0, **changes
        )
        return done["samples"][task]

    samples = {"paper": evaluate("brainbench")}
    samples |= {name: evaluate(name) for name in names[1:]}
    try:
        evaluate("clean", system_instruction="You are a pirate.")
    except ValueError as error:
        samples["refused"] = str(error)
    (folder / "python.json").write_text(json.dumps(samples, default=str), encoding="utf-8")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    from_command_line(folder)
    from_python(folder)
