"""Two processes that learn together, as `accelerate launch` starts them."""

import json
import os
import socket
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from scoring.training.corpus.manifest import open_corpus
from scoring.training.lm.models import Start
from scoring.training.lm.train import train
from scoring.training.settings import Lora
from tests.scoring.tiny_models import save_gpt2
from tests.scoring.training.lm.made import make_corpus, small
from tests.scoring.training.lm.test_trainer import STILL

SETTINGS = small(
    "lora",
    packing="joined",
    batch_rows=1,
    devices=2,
    limit=3,
    evaluations=1,
    lora=Lora(4, 8, 0.0, ("c_attn",)),
)


def _train(folder: Path, rank: int, port: int) -> None:
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in (names | address).items()})
    torch.set_num_threads(1)
    told: list[int] = []
    trained = train(
        SETTINGS,
        open_corpus(folder / "corpus"),
        Start(pretrained=folder / "base"),
        folder / "on",
        folder / "adapter",
        on_point=lambda point: told.append(point.tokens),
    )
    (folder / f"{rank}.json").write_text(json.dumps({"told": told, **asdict(trained)}))


@pytest.mark.sweep
def test_two_processes_take_the_same_steps_as_one_and_the_first_alone_writes(
    tmp_path: Path,
) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    start = Start(pretrained=save_gpt2(tmp_path / "base", **STILL))
    alone = train(SETTINGS, corpus, start, tmp_path / "alone", tmp_path / "one")

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    processes = [context.Process(target=_train, args=(tmp_path, rank, port)) for rank in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]

    first, second = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert (first["steps"], first["tokens"]) == (alone.steps, alone.tokens)
    assert first["untrained_held_out_loss"] == pytest.approx(alone.untrained_held_out_loss)
    assert first["held_out_loss"] == pytest.approx(alone.held_out_loss, abs=1e-4)
    assert first["told"][-1] == alone.tokens
    assert second["told"] == []
    assert set(first["files"]) == set(alone.files)
    assert second["files"] == {}
