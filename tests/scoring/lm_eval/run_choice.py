"""Runs lm-evaluation-harness's command on an exported task of choices, with and without a chat template.

Usage: python run_choice.py FOLDER; it holds the models plain/ and chat/, and the task in task/. Samples go to out/MODEL/.
"""

import sys
from pathlib import Path

from lm_eval.__main__ import cli_evaluate


def main(folder):
    for name, more in (("plain", ()), ("chat", ("--apply_chat_template",))):
        sys.argv = [
            *("lm_eval", "--model", "hf", "--device", "cpu", "--batch_size", "3", "--log_samples"),
            *("--model_args", f"pretrained={folder / name},dtype=float32"),
            *("--tasks", "brainbench_choice", "--include_path", str(folder / "task")),
            *("--output_path", str(folder / "out" / name), *more),
        ]
        cli_evaluate()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
