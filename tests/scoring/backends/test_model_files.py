"""Folders of models that were copied in part, or whose files are no model's: one sentence names the file."""

import json
import os
import shutil
from pathlib import Path

import pytest

from scoring.backends.model_files import LIMITS, LONGEST_HEADER, check_files
from scoring.backends.tokenizers import load_tokenizer
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import ScoringError

WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODEL_FOLDER, tmp_path / "models" / "tiny"))


def shards(folder: Path, *names: str) -> None:
    index = {"weight_map": {f"weight {n}": name for n, name in enumerate(names)}}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))


def said(folder: Path) -> str:
    with pytest.raises(ScoringError) as refused:
        check_files(folder)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_whole_model_is_taken_with_its_shards_and_links(folder: Path) -> None:
    shards(folder, WEIGHTS, WEIGHTS)
    blob = folder.parent / "blob"
    (folder / "tokenizer.json").rename(blob)
    (folder / "tokenizer.json").symlink_to(blob)  # so is the Hub's cache made
    check_files(folder)


@pytest.mark.parametrize("kept", [0, 8, -4096])
def test_weights_that_end_early_are_named(folder: Path, kept: int) -> None:
    path = folder / WEIGHTS
    path.write_bytes(path.read_bytes()[: kept or 0])
    assert said(folder).startswith(f"{path} is incomplete: ")


@pytest.mark.parametrize("header", [b"[]", b"{", b'{"x": {}}', b"[" * 9999, b'{"x": {"data_offsets": 1}}', b"\xff"])  # fmt: skip
def test_a_header_that_is_none_is_named(folder: Path, header: bytes) -> None:
    (folder / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header)
    assert said(folder) == f"{folder / WEIGHTS} is damaged: its header cannot be read."


def test_a_header_without_end_is_not_read(folder: Path) -> None:
    with (folder / WEIGHTS).open("wb") as file:
        file.write((LONGEST_HEADER + 1).to_bytes(8, "little"))
        file.truncate(2**31)  # of which the disk holds eight bytes
    assert "its header has more than" in said(folder)


def test_a_shard_that_is_missing_is_named(folder: Path) -> None:
    shards(folder, WEIGHTS, "model-00002-of-00002.safetensors")
    assert said(folder).startswith(f"{folder}/model-00002-of-00002.safetensors is missing")
    shards(folder, "../../secret.safetensors")
    assert "names weights outside its folder" in said(folder)
    (folder / f"{WEIGHTS}.index.json").write_text('{"weight_map": 7}')
    assert "index.json is damaged" in said(folder)


@pytest.mark.parametrize("name", ["config.json", "adapter_config.json", "tokenizer.json", "chat_template.jinja", "templates/x.jinja"])  # fmt: skip
def test_files_beyond_what_a_model_has_are_not_read(folder: Path, name: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(max(LIMITS.values()) + 1)
    assert said(folder).startswith(f"{path} has more than ")
    with pytest.raises(ScoringError, match="has more than"):
        load_tokenizer(str(folder))


def test_a_pipe_and_a_link_to_nowhere_are_no_files_of_a_model(folder: Path) -> None:
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    assert said(folder) == f"{folder / 'config.json'} is not a regular file."
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to("nothing")
    assert said(folder).startswith(f"{folder / 'config.json'} cannot be read: ")
