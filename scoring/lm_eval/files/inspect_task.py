"""Which version is the original? Each test case twice, the original once as A and once as B; made for Inspect 0.3.

In this folder:
inspect eval THIS_FILE --model openai/MODEL --temperature 0
inspect eval THIS_FILE --model openai/MODEL --temperature 1 --epochs 5

The log goes back: manage.py import_choices --study SLUG --name MODEL LOG.eval
"""

from pathlib import Path

from brainbench_reading import read_choice
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate

FILE = Path(__file__)
THOUGHT_END = "</think>"  # of a server that does not keep a thought apart


@task
def brainbench_choice():
    """Asks once; the site reads the log by the same rules, and decides by both orders together."""
    dataset = json_dataset(str(FILE.with_suffix(".jsonl")))
    return Task(name=FILE.stem, dataset=dataset, solver=generate(), scorer=choice())


@scorer(metrics={"original": [mean()], "side_a": [mean()], "read": [mean()]})
def choice():
    """Shares of all answers: the original chosen, side A chosen, and a choice at all; one that cannot be read is neither."""

    async def score(state, target):
        is_whole = bool(state.output.choices) and state.output.stop_reason == "stop"
        answer = state.output.completion.rpartition(THOUGHT_END)[2]
        read = read_choice(answer) if is_whole else None
        side = read.side if read else ""
        value = {"original": side == target.text, "side_a": side == "A", "read": bool(side)}
        confidence = read.confidence if read else None
        numbers = {name: float(is_so) for name, is_so in value.items()}
        return Score(value=numbers, answer=side, metadata={"confidence": confidence})

    return score
