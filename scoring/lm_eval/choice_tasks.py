"""A study's test cases, each in both orders, as tasks of other tools: to choose by likelihood for lm-evaluation-harness, in words for Inspect."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from experiment.models import Item
from scoring.domain.choosing import reading
from scoring.domain.choosing.reading import SIDES
from scoring.domain.conditions import parsed
from scoring.domain.generating import Message
from scoring.models import ChoiceRun
from scoring.services.choosing import prompts

FILES = Path(__file__).parent / "files"
READER = Path(reading.__file__)
Form = ChoiceRun.Form
# Those that a likelihood can follow
SCORED_PROMPTS = tuple(name for name in prompts.PROMPTS if name != prompts.REASONING)

YAML = """\
# Made by export_lm_eval_task --method choice; for lm-evaluation-harness 0.4:
#   lm_eval --model hf --model_args pretrained=MODEL,dtype=float32 --tasks {task} --include_path THIS_FOLDER \\
#     --output_path OUT --log_samples
# Add --apply_chat_template for a model that has a chat template, as the site uses it: the model's turn then begins with the letter,
# and examples are turns of their own (the harness's default).
# Each test case is two documents: the original is version A in one, and version B in the other (`order`).
#   acc  share of documents whose original has the likelier letter; of two that are as likely, the harness takes A
# The site decides by both orders together: manage.py import_choices --study SLUG --name MODEL OUT/.../samples_{task}_....jsonl
task: {task}
custom_dataset: !function utils.dataset
dataset_kwargs:
  documents: {task}.jsonl
{examples}test_split: test
output_type: multiple_choice
num_fewshot: {n_examples}
doc_to_text: text
doc_to_choice: ["A", "B"]
doc_to_target: order
target_delimiter: " "
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1.0
"""
YAML_EXAMPLES = """\
  examples: {task}_examples.jsonl
fewshot_split: examples
fewshot_config:
  sampler: first_n
"""


@dataclass(frozen=True)
class Told:
    """How a model is asked in an exported task; examples: practice items that are shown with their answers first."""

    field: str
    prompt: str
    layout: str
    examples: Sequence[Item] = ()

    def run(self, form: str) -> ChoiceRun:
        """A run of ours that asks so; it is not stored."""
        told = prompts.told(self.prompt, field=self.field)
        return ChoiceRun(prompt=self.prompt, instructions=told, form=form, layout=self.layout)


def write_harness_task(
    items: Sequence[Item], folder: Path, task: str, told: Told
) -> dict[str, str | int]:
    """Write a task folder for lm-evaluation-harness, and say what it holds; files of these names are replaced."""
    rows = [
        {**about, "subfield": item.subfield, "text": turns[-1].content}
        for item, about, turns in _questions(items, told, Form.LIKELIHOOD)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / f"{task}.jsonl", rows)
    if told.examples:
        *_rest, turns = next(_questions(items, told, Form.LIKELIHOOD))
        shown = zip(turns[0:-1:2], turns[1:-1:2], strict=True)
        examples = [{"text": asked.content, "order": said.content} for asked, said in shown]
        _write_lines(folder / f"{task}_examples.jsonl", examples)
    yaml = YAML.format(
        task=task,
        examples=YAML_EXAMPLES.format(task=task) if told.examples else "",
        n_examples=len(told.examples),
    )
    (folder / f"{task}.yaml").write_text(yaml, encoding="utf-8", newline="\n")
    shutil.copyfile(FILES / "utils.py", folder / "utils.py")
    return _said(items, folder, task, told)


def write_inspect_task(
    items: Sequence[Item], folder: Path, task: str, told: Told
) -> dict[str, str | int]:
    """Write a task file for Inspect, its test cases and the functions it needs, and say what it holds."""
    form = Form.REASONED if told.prompt == prompts.REASONING else Form.WRITTEN
    rows = [
        {
            "id": f"{item.key}-{item.version}-{about['order']}",
            "input": [asdict(turn) for turn in turns] if told.examples else turns[-1].content,
            "target": about["order"],
            "metadata": about,
        }
        for item, about, turns in _questions(items, told, form)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / f"{task}.jsonl", rows)
    shutil.copyfile(FILES / "inspect_task.py", folder / f"{task}.py")
    shutil.copyfile(READER, folder / "brainbench_reading.py")
    return _said(items, folder, task, told)


def _questions(
    items: Sequence[Item], told: Told, form: str
) -> Iterator[tuple[Item, Mapping[str, str | int], Sequence[Message]]]:
    """Each test case in both orders: what is known of the question, and what a run of ours asks."""
    run, examples = told.run(form), [parsed(example.markup) for example in told.examples]
    asked = {"prompt": run.prompt, "form": str(form), "layout": run.layout}
    asked |= {"instructions": run.instructions}
    if examples:
        asked["examples"] = "\n".join(example.key for example in told.examples)
    for item in items:
        abstract = parsed(item.markup)
        for side in SIDES:
            about: dict[str, str | int] = {
                "item": item.key,
                "version": item.version,
                "order": side,
                **asked,
            }
            yield item, about, prompts.conversation(run, examples, abstract, side)


def _write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def _said(items: Sequence[Item], folder: Path, task: str, told: Told) -> dict[str, str | int]:
    about = {"folder": str(folder), "task": task, "prompt": told.prompt, "layout": told.layout}
    counts = {"items": len(items), "documents": len(items) * len(SIDES)}
    return {**about, **counts, "examples": len(told.examples)}
