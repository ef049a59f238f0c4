import json
from pathlib import Path

import pytest

from lib.files import sha256_of
from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.demo_lm import MODEL_FOLDER
from scoring.training.corpus.manifest import BuiltCorpus
from scoring.training.lm.models import Start
from scoring.training.lm.train import claim, train
from scoring.training.settings import Point, TrainingError
from tests.scoring.training.lm.made import make_corpus, make_tokenizer_folder, small


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> BuiltCorpus:
    return make_corpus(tmp_path_factory.mktemp("corpora") / "demo")


@pytest.fixture(scope="module")
def start(corpus: BuiltCorpus, tmp_path_factory: pytest.TempPathFactory) -> Start:
    folder = tmp_path_factory.mktemp("tokenizers") / "own"
    return Start(tokenizer=make_tokenizer_folder(corpus, folder))


def test_a_model_from_scratch_learns_and_opens_as_any_other(
    corpus: BuiltCorpus, start: Start, tmp_path: Path
) -> None:
    told: list[Point] = []
    output = tmp_path / "model"
    settings = small(epochs=2, learning_rate=1e-2)
    trained = train(settings, corpus, start, tmp_path / "on", output, on_point=told.append)

    assert trained.held_out_loss < trained.untrained_held_out_loss - 0.2
    assert (told[0].step, told[0].held_out_loss) == (0, trained.untrained_held_out_loss)
    assert [p.step for p in told] == sorted({p.step for p in told})
    assert told[-1].step == trained.steps
    assert told[-1].tokens == trained.tokens == 2 * trained.rows * 32
    assert trained.held_out_loss == min(p.held_out_loss for p in told[1:] if p.held_out_loss)
    assert trained.files == {path.name: sha256_of(path) for path in output.iterdir()}
    assert json.loads((output / "training.json").read_text())["corpus"]["sha256"] == corpus.sha256
    backend = TransformersBackend({"pretrained": str(output)})
    assert backend.context_tokens == 32
    assert backend.tokenizer("the brain").input_ids[0] == 0  # the start token it was trained with


def test_an_adapters_folder_names_no_path_and_holds_no_pickle(
    corpus: BuiltCorpus, tmp_path: Path
) -> None:
    output = tmp_path / "adapter"
    trained = train(
        small("lora"), corpus, Start(pretrained=MODEL_FOLDER), tmp_path / "on", output, keep=[2]
    )

    assert trained.trainable_parameters < trained.parameters / 10
    config = json.loads((output / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == MODEL_FOLDER.name
    assert config["target_modules"] == ["c_attn", "c_proj"]
    kept = {path.name for path in (tmp_path / "on" / "step-000002").iterdir()}
    assert kept == set(trained.files) - {"training.json"}
    suffixes = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert suffixes == {".json", ".safetensors"}


def test_a_folder_that_holds_something_else_is_left_alone(
    corpus: BuiltCorpus, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "thesis.txt").write_text("years of work")
    with pytest.raises(TrainingError, match="contains other files"):
        train(small(), corpus, start, tmp_path / "on", tmp_path / "taken")
    assert [path.name for path in (tmp_path / "taken").iterdir()] == ["thesis.txt"]


def test_leftovers_of_a_kill_beside_and_within_checkpoints_are_cleared_away(tmp_path: Path) -> None:
    folder, output = tmp_path / "on", tmp_path / "model"
    claim(folder, output, {"seed": 1})
    for left in (".step-000002.part", "step-000001/.resume.gone"):
        (folder / left).mkdir(parents=True)
        (folder / left / "optimizer.json").write_text("{}")
    (folder / "step-000001" / "model.safetensors").write_bytes(b"x")
    claim(folder, output, {"seed": 1})
    left_over = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    assert left_over == {"training.json", "step-000001", "step-000001/model.safetensors"}
