"""`score` with several models or prompts, one model in memory at a time."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from experiment.models import Study
from scoring.domain.backend import Backend
from scoring.models import ScoringRun
from scoring.services import open_model
from tests.factories import make_study
from tests.scoring.commands import hf, score, score_json
from tests.scoring.made_runs import ask
from tests.scoring.tiny_models import save_gpt2

pytestmark = pytest.mark.django_db


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
        (("--model_args", "pretrained=a", "--model_args", "pretrained=a"), "given twice"),
        (
            ("--model_args", "pretrained=a", "--model_args", "pretrained=b", "--name", "n"),
            "can name only one model",
        ),
    ],
)
def test_impossible_arguments_are_refused_before_anything_is_scored(
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
        (("--workers", "gpus"), "no GPU was found"),
        (("--workers", "0"), "neither a whole number from 1 nor gpus"),
        (("--queue", "--workers", "2"), "--queue starts one worker"),
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
