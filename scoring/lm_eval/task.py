"""A study's items, under a condition, as a task folder that lm-evaluation-harness runs as it is."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from scoring.domain.prompts import Prompt
from scoring.services.texts import RunText

# The prompts that the harness can be asked to score as we do: something has to stand before the text
PROMPTS = ("paper", "clean")
COUNTED = {"paper": "all", "clean": "text"}
HELPER = Path(__file__).parent / "files" / "utils.py"

YAML = """\
# Made by export_lm_eval_task; for lm-evaluation-harness 0.4:
#   lm_eval --model hf --model_args pretrained=MODEL,dtype=float32 --tasks {task} --include_path THIS_FOLDER
# Each document is {shown} in two versions. Right is the model to which the original is less surprising:
#   acc       share of documents whose original has the lower perplexity, exp of the mean negative log-likelihood over
#             {counted}; a tie counts half. This is the study's accuracy.
#   near_tie  share of documents whose mean log-likelihoods differ by less than 0.001 nat
#   ppl_*     mean perplexity of the versions
task: {task}
custom_dataset: !function utils.dataset
dataset_kwargs:
  documents: {task}.jsonl
test_split: test
output_type: multiple_choice
num_fewshot: 0
doc_to_text: !function utils.context
doc_to_choice: !function utils.choices
doc_to_target: 0
target_delimiter: ""
process_results: !function utils.results
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
  - metric: near_tie
    aggregation: mean
    higher_is_better: false
  - metric: ppl_original
    aggregation: mean
    higher_is_better: false
  - metric: ppl_altered
    aggregation: mean
    higher_is_better: false
metadata:
  version: 1.0
"""
SHOWN = {
    "full": "an abstract",
    "isolated": "a sentence of an abstract",
    "swapped": "an abstract whose results are those of other abstracts,",
}
COUNTED_TOKENS = {
    "paper": "every token but the first, including the prompt's",
    "clean": "the abstract's tokens",
}


def write_task(
    texts: Sequence[RunText], folder: Path, task: str, prompt: str, condition: str = "full"
) -> dict[str, str | int]:
    """Write the task's description, its texts and the functions it needs, and say so; files of these names are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    before = Prompt.of(prompt).before.rstrip()
    rows = []
    for text in texts:
        item = text.item
        assert item is not None
        original, altered = (version.text.strip() for version in text.texts)
        row: dict[str, object] = {
            "item": item.key,
            "version": item.version,
            "condition": condition,
            "unit": text.unit,
            "source": item.source,
            "doi": item.doi,
            "subfield": item.subfield,
            "prompt": before,
            "counted": COUNTED[prompt],
            "original": original,
            "altered": altered,
        }
        rows.append(row)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    (folder / f"{task}.jsonl").write_text("".join(lines), encoding="utf-8", newline="\n")
    description = YAML.format(task=task, counted=COUNTED_TOKENS[prompt], shown=SHOWN[condition])
    (folder / f"{task}.yaml").write_text(description, encoding="utf-8", newline="\n")
    shutil.copyfile(HELPER, folder / HELPER.name)
    about = {"folder": str(folder), "task": task, "prompt": prompt, "condition": condition}
    return {**about, "items": len({row["item"] for row in rows}), "documents": len(rows)}
