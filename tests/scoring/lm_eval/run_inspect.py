"""Runs Inspect on an exported task, in a Python of its own, with a model that answers as it is told.

Usage: python run_inspect.py TASK.py FOLDER ANSWERS.json; an answer is its text and why it ends, and each question takes the next.
"""

import json
import sys
from pathlib import Path

MODEL = "mockllm/model"


def main(task, folder, answers):
    # Of that Python alone
    from inspect_ai import eval as evaluate
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    outputs = [
        ModelOutput.from_content(MODEL, text, stop_reason=stop)
        for text, stop in json.loads(Path(answers).read_text(encoding="utf-8"))
    ]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=9, output_tokens=4, total_tokens=13)
    for kind in ("eval", "json"):
        (log,) = evaluate(
            task,
            model=get_model(MODEL, custom_outputs=list(outputs)),
            epochs=2,
            max_samples=1,
            log_dir=str(Path(folder) / kind),
            log_format=kind,
            display="none",
        )
        if log.status != "success":
            raise SystemExit(str(log.error))
        metrics = {score.name: score.metrics["mean"].value for score in log.results.scores}
        print(json.dumps(metrics))


if __name__ == "__main__":
    main(*sys.argv[1:])
