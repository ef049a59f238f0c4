"""A study's test cases, each in both orders, as tasks of other tools: to choose by likelihood for lm-evaluation-harness, in words for Inspect."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from experiment.models import Item
from scoring.domain.choosing import reading
from scoring.domain.choosing.reading import SIDES
from scoring.domain.conditions import parsed
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
# Add --apply_chat_template for a model that has a chat template, as the site uses it: the model's turn then begins with the letter.
# Each test case is two documents: the original is version A in one, and version B in the other (`order`).
#   acc  share of documents whose original has the likelier letter; of two that are as likely, the harness takes A
# The site decides by both orders together: manage.py import_choices --study SLUG --name MODEL OUT/.../samples_{task}_....jsonl
task: {task}
custom_dataset: !function utils.dataset
dataset_kwargs:
  documents: {task}.jsonl
test_split: test
output_type: multiple_choice
num_fewshot: 0
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


def write_harness_task(
    items: Sequence[Item], folder: Path, task: str, *, field: str, prompt: str, layout: str
) -> dict[str, str | int]:
    """Write a task folder for lm-evaluation-harness, and say what it holds; files of these names are replaced."""
    rows = [
        {**about, "subfield": item.subfield, "text": text}
        for item, about, text in _questions(items, field, prompt, Form.LIKELIHOOD, layout)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / f"{task}.jsonl", rows)
    (folder / f"{task}.yaml").write_text(YAML.format(task=task), encoding="utf-8", newline="\n")
    shutil.copyfile(FILES / "utils.py", folder / "utils.py")
    return _told(items, folder, task, prompt, layout)


def write_inspect_task(
    items: Sequence[Item], folder: Path, task: str, *, field: str, prompt: str, layout: str
) -> dict[str, str | int]:
    """Write a task file for Inspect, its test cases and the functions it needs, and say what it holds."""
    form = Form.REASONED if prompt == prompts.REASONING else Form.WRITTEN
    rows = [
        {
            "id": f"{item.key}-{item.version}-{about['order']}",
            "input": text,
            "target": about["order"],
            "metadata": about,
        }
        for item, about, text in _questions(items, field, prompt, form, layout)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    _write_lines(folder / f"{task}.jsonl", rows)
    shutil.copyfile(FILES / "inspect_task.py", folder / f"{task}.py")
    shutil.copyfile(READER, folder / "brainbench_reading.py")
    return _told(items, folder, task, prompt, layout)


def _questions(
    items: Sequence[Item], field: str, prompt: str, form: str, layout: str
) -> Iterator[tuple[Item, Mapping[str, str | int], str]]:
    """Each test case in both orders: what is known of the question, and what a run of ours asks."""
    told = prompts.told(prompt, field=field)
    asked = {"prompt": prompt, "form": str(form), "layout": layout, "instructions": told}
    for item in items:
        abstract = parsed(item.markup)
        for side in SIDES:
            about: dict[str, str | int] = {
                "item": item.key,
                "version": item.version,
                "order": side,
                **asked,
            }
            yield item, about, prompts.request(told, form, layout, abstract, side)


def _write_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8", newline="\n")


def _told(
    items: Sequence[Item], folder: Path, task: str, prompt: str, layout: str
) -> dict[str, str | int]:
    about = {"folder": str(folder), "task": task, "prompt": prompt, "layout": layout}
    return {**about, "items": len(items), "documents": len(items) * len(SIDES)}
