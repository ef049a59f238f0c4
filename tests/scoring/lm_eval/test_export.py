"""The command export_lm_eval_task."""

import json

import pytest
from django.core.management import CommandError, call_command

from experiment.services.study_setup import create_study, pin_items
from scoring.domain.perplexity import NEAR_TIE_NATS
from scoring.domain.prompts import PAPER_SENTENCE
from scoring.lm_eval.task import HELPER, YAML
from scoring.services.texts import texts_of
from tests.factories import make_item
from tests.scoring.lm_eval.conftest import MARKUPS, make_run


def test_the_command_writes_a_task_folder_with_the_studys_items(study, tmp_path, capsys):
    machine = make_item("machine-1", source="machine", generator="GPT-4")
    pin_items(study, [machine, make_item("practice", kind="practice")])
    call_command("export_lm_eval_task", tmp_path / "task", study="memory", json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "folder": str(tmp_path / "task"),
        "task": "brainbench",
        "prompt": "paper",
        "condition": "full",
        "items": len(MARKUPS) + 1,
        "documents": len(MARKUPS) + 1,
    }
    names = sorted(path.name for path in (tmp_path / "task").iterdir())
    assert names == ["brainbench.jsonl", "brainbench.yaml", "utils.py"]
    call_command("export_lm_eval_task", tmp_path / "task", source="human", prompt="clean")
    lines = (tmp_path / "task" / "brainbench.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["item"] for row in rows] == [f"item-{n}" for n in range(len(MARKUPS))]
    assert rows[2]["altered"] == "β-endorphin neurons fired “late”."
    assert {(row["counted"], row["prompt"]) for row in rows} == {("text", PAPER_SENTENCE)}
    assert "--tasks brainbench --include_path" in capsys.readouterr().out


@pytest.mark.parametrize("condition", ["isolated", "swapped"])
def test_a_task_of_a_condition_has_the_texts_of_a_run_of_it(study, tmp_path, capsys, condition):
    alone = make_item("alone", markup="Rats [[slept, ran]].", subfield="Of its own")
    pin_items(study, [alone, make_item("two", markup="Rats [[slept, ran]]. Mice [[ate, slept]].")])
    folder = tmp_path / "task"
    call_command("export_lm_eval_task", folder, condition=condition, seed=3)
    said = capsys.readouterr().out
    assert f"--tasks brainbench_{condition} " in said
    assert ("alone needs 1 result of another work" in said) == (condition == "swapped")
    lines = (folder / f"brainbench_{condition}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["item"], row["unit"]): row for row in map(json.loads, lines)}
    texts = texts_of(make_run(study, condition=condition, seed=3)).texts
    assert list(rows) == [(text.item.key, text.unit) for text in texts]
    for text, row in zip(texts, rows.values(), strict=True):
        assert [row["original"], row["altered"]] == [t.text.strip() for t in text.texts]
        assert row["condition"] == condition


def test_what_the_harness_runs_has_the_same_rule_for_near_ties():
    # It runs outside this project, and so has its own copy
    assert f"\nNEAR_TIE_NATS = {NEAR_TIE_NATS}\n" in HELPER.read_text(encoding="utf-8")
    assert f"less than {NEAR_TIE_NATS} nat" in YAML


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"study": "nowhere"}, "no study “nowhere”"),
        ({"source": "machine"}, "no such test case"),
        ({"task": "a/b"}, "A task's name"),
        ({"folder": "taken/file"}, "was not written"),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_sentence(study, tmp_path, arguments, message):
    (tmp_path / "taken").write_text("")
    folder = tmp_path / arguments.pop("folder", "task")
    with pytest.raises(CommandError, match=message):
        call_command("export_lm_eval_task", folder, **arguments)
    assert not (tmp_path / "task").exists()


def test_of_several_studies_one_has_to_be_named(study, tmp_path):
    create_study("other", "brainbench", contact="lab@example.org")
    with pytest.raises(CommandError, match="several studies"):
        call_command("export_lm_eval_task", tmp_path)
