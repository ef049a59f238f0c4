"""`score` lists runs, removes them, does a queue of them, and scores several models one after the other."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from experiment.models import Study
from lib.jobs import leases
from scoring.backends.model_files import weights_sha256
from scoring.domain.backend import Backend
from scoring.models import LanguageModel, ScoringRun
from scoring.services import open_model
from scoring.services.execute import execute
from scoring.services.runs import create_run
from scoring.services.summary import summarise_run
from tests.factories import make_study
from tests.scoring.commands import hf, score, score_json, sentence_of
from tests.scoring.made_runs import ask, scores
from tests.scoring.tiny_models import save_gpt2, save_lora
from tests.storages import records_folder

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_gpt2(tmp_path_factory.mktemp("models") / "tiny-gpt2")


@pytest.fixture
def study() -> Study:
    return make_study(human=5, machine=3)


def queued(study: Study, tiny: Path, **fields: Any) -> ScoringRun:
    model, _ = LanguageModel.objects.get_or_create(name="tiny", display_name="Tiny")
    args = {"backend": "transformers", "model_args": {"pretrained": str(tiny)}}
    return create_run(study=study, language_model=model, **(args | fields))


def test_runs_are_listed_with_what_became_of_them(study: Study, tiny: Path) -> None:
    assert score("ls")[0] == "There are no runs.\n"
    first, second = queued(study, tiny), queued(study, tiny, condition="isolated")
    execute(first)
    out, _, _ = score("ls", "--study", "memory")
    _, waiting, finished = out.splitlines()
    assert waiting.split()[0] == str(second.pk)
    assert waiting.split()[-4:] == ["paper", "waiting", "0/8", "-"]
    assert finished.split()[-3:-1] == ["finished", "8/8"]
    data = json.loads(score("ls", "--json")[0])
    assert [row["run"] for row in data["runs"]] == [second.pk, first.pk]
    assert data["runs"][1]["accuracy"] == summarise_run(first).counted.accuracy.value
    make_study("other")
    assert json.loads(score("ls", "--study", "other", "--json")[0]) == {"runs": []}


def test_past_runs_that_read_an_adapter_unasked_are_listed(
    study: Study, tiny: Path, tmp_path: Path
) -> None:
    both = tmp_path / "both"
    shutil.copytree(tiny, both)
    clean, touched, changed, gone = (
        queued(study, folder) for folder in (tiny, both, both, tmp_path / "gone")
    )
    execute(clean)
    for path in save_lora(tiny, tmp_path / "adapter").glob("adapter_*"):
        shutil.copy(path, both)
    for run, weights in ((touched, weights_sha256(both, "all")), (changed, "0"), (gone, "1")):
        run.identity = {"weights_sha256": weights}
        run.save()
    rows = json.loads(score("ls", "--adapters", "--json")[0])["runs"]
    assert {row["run"]: row["adapter"].partition(":")[0] for row in rows} == {
        touched.pk: "applied",
        changed.pk: "unknown",
        gone.pk: "unknown",
    }


def test_the_queue_is_scored_with_one_model_for_all_its_runs(study: Study, tiny: Path) -> None:
    direct = score_json(*hf(tiny))["scores"]
    first, second = queued(study, tiny), queued(study, tiny, condition="isolated")
    out, _, error = score("--queue")
    assert error is None
    assert [line.split()[0] for line in out.splitlines()[1:]] == [str(second.pk), str(first.pk)]
    for run in (first, second):
        run.refresh_from_db()
        assert run.status == "finished"
    by_hand = ScoringRun.objects.exclude(pk__in=[first.pk, second.pk]).get()
    assert scores(first) == scores(by_hand)
    assert len(direct) == 8
    assert score("--queue")[0] == "No run waits.\n"


def test_a_run_of_the_queue_that_fails_does_not_keep_the_others(study: Study, tiny: Path) -> None:
    bad = queued(study, Path("no/such/model"))
    good = queued(study, tiny)
    _, _, error = score("--queue")
    assert f"run {bad.pk}" in str(error)
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.status, good.status) == ("failed", "finished")
    assert "no/such/model" in bad.error


def test_a_removed_run_is_gone_with_its_records(study: Study, tiny: Path) -> None:
    score_json(*hf(tiny))
    run = ScoringRun.objects.get()
    out, _, error = score("rm", run.pk)
    assert error is None
    assert out.startswith("Removed: ")
    assert not ScoringRun.objects.exists()
    assert not records_folder(run).exists()


def test_a_run_at_work_is_not_removed(study: Study, tiny: Path) -> None:
    run = queued(study, tiny)
    assert leases.take(run) is not None
    assert f"{run.pk} is being worked on" in sentence_of("rm", run.pk)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--queue", "--study", "memory"), "--queue scores the runs that wait"),
        (("--watch",), "--watch goes with --queue"),
        (("ls", "5"), "Numbers of runs go with `score rm`"),
        (("--prompt", "clean", "--prompt_file", "p.txt"), "not allowed with argument --prompt"),
    ],
)
def test_what_would_be_ignored_is_refused(arguments: tuple[str, ...], sentence: str) -> None:
    _, _, error = score(*arguments)
    assert sentence in str(error)


def test_what_was_published_is_not_removed_with_ones_own(study: Study, tiny: Path) -> None:
    run = queued(study, tiny)
    ScoringRun.objects.update(backend="imported", status="finished")
    _, _, error = score("rm", run.pk)
    assert "was not scored here but published" in str(error)
    assert ScoringRun.objects.filter(pk=run.pk).exists()


STUDY = ("--study", "memory")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The models one/ and two/."""
    folder = tmp_path_factory.mktemp("models")
    save_gpt2(folder / "one")
    save_gpt2(folder / "two", seed=1)
    return folder


@pytest.fixture
def small_study() -> Study:
    return make_study(human=2, machine=2)


def args_of(*paths: object) -> list[object]:
    return [word for path in paths for word in ("--model_args", f"pretrained={path}")]


def test_several_models_come_to_what_each_comes_to_alone(small_study: Study, folder: Path) -> None:
    alone = [
        score_json(*hf(folder / name, "--conditions", "full,isolated")) for name in ("one", "two")
    ]
    both = args_of(folder / "one", folder / "two")
    data = score_json("--model", "hf", *both, *STUDY, "--conditions", "full,isolated")
    assert list(data) == ["results"]
    for one, together in zip(alone, data["results"], strict=True):
        assert together["scores"] == one["scores"]
        assert together["accuracy"] == one["accuracy"]
        assert together["model"] == one["model"]
        assert together["prompt"] == "paper"
    assert alone[0]["scores"] != alone[1]["scores"]


def test_one_that_fails_does_not_stop_the_rest(small_study: Study, folder: Path) -> None:
    words = args_of(folder / "one", folder / "none", folder / "two")
    out, err, error = score("--model", "hf", *words, *STUDY)
    assert error is not None
    assert error.returncode != 0
    assert str(error).startswith("1 of 3 failed; the first is ")
    assert "none" in str(error)
    lines = out.splitlines()
    names = [f"{folder.name}/{name}" for name in ("one", "two", "none")]
    assert [line.split()[0].rstrip(",") for line in lines[1:]] == names
    assert "failed:" in lines[-1]
    assert "none" in err  # said at once, too
    printed, _, error = score("--model", "hf", *words, *STUDY, "--json")
    assert error is not None
    data = json.loads(printed)["results"]
    assert ["error" in one for one in data] == [False, True, False]
    assert [one.get("n_items") for one in data] == [4, None, 4]
    assert ScoringRun.objects.filter(status="finished").count() == 4


def test_one_model_is_in_memory_at_a_time_and_loaded_once(
    small_study: Study, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Backend] = []
    original = open_model.open_backend

    def watched(kind: str, args: Mapping[str, str]) -> Backend:
        assert not any("model" in vars(backend) for backend in opened), "one is still open"
        opened.append(original(kind, args))
        return opened[-1]

    monkeypatch.setattr(open_model, "open_backend", watched)
    words = args_of(folder / "one", folder / "two")
    several = ("--conditions", "full,isolated", "--prompt", "paper,clean")
    score_json("--model", "hf", *words, *STUDY, *several)
    assert len(opened) == 2
    assert ScoringRun.objects.filter(status="finished").count() == 8


def test_several_prompts_have_rows_of_their_own(small_study: Study, folder: Path) -> None:
    out, _, error = score(*hf(folder / "one", "--prompt", "paper, none"))
    assert error is None
    head, *rows = out.splitlines()
    assert head.split()[:3] == ["model", "prompt", "condition"]
    assert [row.split()[1] for row in rows[:2]] == ["paper", "none"]
    data = score_json(*hf(folder / "one", "--prompt", "paper,none", "--resume"))
    assert [one["prompt"] for one in data["results"]] == ["paper", "none"]
    assert ScoringRun.objects.count() == 2


def test_a_text_of_ones_own_may_have_commas(small_study: Study, folder: Path) -> None:
    data = score_json(*hf(folder / "one", "--prompt", "paper, clean, <choice abstract>"))
    assert {row["prompt"] for row in data["scores"]} == {"custom"}


def test_models_stand_in_a_file_line_by_line(
    small_study: Study, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "models.txt"
    file.write_text(
        f"# those of the paper\n\npretrained={folder / 'one'}\nembedded dtype=float32\n"
    )
    data = score_json("--model", "hf", "--models", file, *STUDY)
    assert [one["model"].rpartition("/")[2] for one in data["results"]] == ["one", "demo-lm"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--model_args", "pretrained=a", "--model_args", "pretrained=a"), "asked for twice"),
        (("--model_args", "pretrained=a", "--model_args", "x", "--name", "n"), "“x”"),
        (
            ("--model_args", "pretrained=a", "--model_args", "pretrained=b", "--name", "n"),
            "a name names",
        ),
        (("--models", "nowhere.txt"), "nowhere.txt cannot be read"),
        (("--model_args", "pretrained=a", "--model_args", "dtype=float32"), "needs pretrained="),
    ],
)
def test_what_cannot_be_meant_ends_before_anything_is_scored(
    small_study: Study, words: tuple[str, ...], part: str
) -> None:
    out, _, error = score("--model", "hf", *words, *STUDY)
    assert error is not None
    assert part.lower() in str(error).lower()
    assert out == ""
    assert not ScoringRun.objects.exists()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("--workers", "gpus"), "no GPU is seen here"),
        (("--workers", "0"), "neither a whole number from 1 nor gpus"),
        (("--workers", "many"), "neither a whole number from 1 nor gpus"),
        (("--queue", "--runs", "1,x"), "not numbers of runs"),
        (("--queue", "--workers", "2"), "--queue is one worker"),
    ],
)
def test_workers_that_cannot_be_had_are_said_in_a_sentence(
    small_study: Study,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    part: str,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    _, _, error = score(*hf(folder / "one", *words))
    assert part in str(error)
    assert not ScoringRun.objects.exists()


def test_a_queues_worker_goes_on_with_the_model_that_it_has(
    small_study: Study, folder: Path
) -> None:
    one, two = ({"pretrained": str(folder / name)} for name in ("one", "two"))
    runs = [
        ask(small_study, model_args=args, condition=condition)
        for condition in ("full", "isolated")
        for args in (one, two)
    ]
    other = ask(small_study, model_args=one, limit=1)
    assert score("--queue", "--runs", ",".join(str(run.pk) for run in runs))[2] is None
    in_order = ScoringRun.objects.filter(status="finished").order_by("finished_at")
    assert [run.pk for run in in_order] == [runs[n].pk for n in (0, 2, 1, 3)]
    other.refresh_from_db()
    assert other.status == "waiting"  # it was not asked for
