"""`score`: from texts to figures on one's own terminal; how texts are read; runs listed, removed, queued, and several models.

Long: one command with all its options.
"""

import json
import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, GPT2LMHeadModel

from experiment.models import Item, Study
from lib.jobs import leases
from scoring.backends.model_files import weights_sha256
from scoring.demo_lm import MODEL_FOLDER
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.backend import Backend
from scoring.domain.perplexity import zlib_bytes
from scoring.domain.prompts import Prompt
from scoring.models import ItemScore, LanguageModel, ScoringRun
from scoring.services import open_model, token_store
from scoring.services.execute import execute
from scoring.services.runs import create_run
from scoring.services.summary import summarise_run
from tests.factories import make_item, make_study
from tests.scoring.commands import hf, score, score_json, sentence_of
from tests.scoring.made_runs import ask, scores
from tests.scoring.ngram_backend import NgramBackend
from tests.scoring.tiny_models import WINDOW, save_gpt2, save_lora
from tests.scoring.tokenizers_made import save_shuffled_demo
from tests.storages import records_folder

pytestmark = pytest.mark.django_db
KEYS = "model n_items n_correct n_ties accuracy sem near_ties tokens_per_s conditions scores"
SCORE_KEYS = (
    "item unit source doi condition prompt ppl_original ppl_altered nll_original nll_altered "
    "tokens_original tokens_altered"
)


@pytest.fixture
def study() -> Study:
    return make_study(human=5, machine=3)


def test_perplexities_are_those_of_the_plain_computation_in_float64(
    study: Study, tiny: Path
) -> None:
    data = score_json(*hf(tiny))
    model = GPT2LMHeadModel.from_pretrained(tiny).double().eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    row = next(row for row in data["scores"] if row["item"] == "memory-machine-2")
    item = study.items.get(key="memory-machine-2")
    run = ScoringRun.objects.get()
    for version in ("original", "altered"):
        text = run.prompt_text.replace("<choice abstract>", getattr(item, version))
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            logprobs = torch.log_softmax(model(ids).logits[0, :-1], -1)
        nll = -logprobs.gather(1, ids[0, 1:, None]).sum().item()
        n = ids.shape[1] - 1
        assert row[f"tokens_{version}"] == n
        assert row[f"nll_{version}"] == pytest.approx(nll, rel=1e-5)
        assert row[f"ppl_{version}"] == pytest.approx(math.exp(nll / n), rel=1e-5)


def test_json_has_the_promised_keys_and_adds_up(study: Study, tiny: Path) -> None:
    data = score_json(*hf(tiny, "--conditions", "isolated,full,swapped", "--source", "human"))
    assert " ".join(data) == KEYS
    assert {" ".join(row) for row in data["scores"]} == {SCORE_KEYS}
    assert list(data["conditions"]) == ["isolated", "full", "swapped"]
    assert {name: data[name] for name in KEYS.split()[1:7]} == {
        name: data["conditions"]["full"][name] for name in KEYS.split()[1:7]
    }
    for condition, figures in data["conditions"].items():
        rows = [row for row in data["scores"] if row["condition"] == condition]
        right = sum(row["ppl_original"] < row["ppl_altered"] for row in rows)
        assert (figures["n_items"], figures["n_correct"]) == (len(rows), right)
        assert figures["accuracy"] == right / len(rows)
        p = right / len(rows)
        assert figures["sem"] == pytest.approx(math.sqrt(p * (1 - p) / len(rows)))
    assert {row["source"] for row in data["scores"]} == {"human"}
    assert {row["doi"] for row in data["scores"]} == {f"10.1234/memory.h{n}" for n in range(1, 6)}
    for row in data["scores"]:
        mean = row["nll_original"] / row["tokens_original"]
        assert row["ppl_original"] == pytest.approx(math.exp(mean), rel=1e-14)


def test_the_embedded_model_is_labelled_a_demonstration(study: Study) -> None:
    data = score_json("--model", "embedded", "--study", "memory", "--limit", "2")
    model = LanguageModel.objects.get()
    assert (data["model"], model.name, model.is_demo) == (DEMO_NAME, DEMO_NAME, True)
    assert data["n_items"] == 2


def test_a_lower_precision_is_warned_of(study: Study, tiny: Path) -> None:
    _, err, error = score(*hf(tiny, dtype="bfloat16"))
    assert error is None
    assert "Scored in bfloat16, in which rounding may change near-ties" in err


def test_a_prompt_of_ones_own_comes_from_the_line_or_from_a_file(
    study: Study, tiny: Path, tmp_path: Path
) -> None:
    text = "Is this so? <choice abstract>"
    file = tmp_path / "prompt.txt"
    file.write_text(text)
    from_line = score_json(*hf(tiny, "--prompt", text))
    from_file = score_json(*hf(tiny, "--prompt_file", file))
    assert {row["prompt"] for row in from_line["scores"]} == {"custom"}
    assert from_line["scores"] == from_file["scores"]


def test_resuming_what_is_finished_shows_it_again(study: Study, tiny: Path) -> None:
    before = score_json(*hf(tiny, "--conditions", "full,isolated"))
    out, err, error = score(*hf(tiny, "--conditions", "full,isolated", "--resume", "--json"))
    assert error is None
    assert "Run 1 (full) is already finished." in re.sub(r"Run \d+", "Run 1", err)
    assert json.loads(out)["scores"] == before["scores"]
    assert ScoringRun.objects.count() == 2


def test_without_resume_a_new_run_begins_and_says_so(study: Study, tiny: Path) -> None:
    score_json(*hf(tiny))
    old = ScoringRun.objects.get()
    ScoringRun.objects.update(status="cancelled", done=3)
    _, err, error = score(*hf(tiny))
    assert error is None
    assert f"Run {old.pk} with the same settings has reached 3 of 8 (cancelled); --resume" in err
    assert ScoringRun.objects.count() == 2


def test_nothing_is_stored_of_a_model_that_cannot_be_loaded(study: Study, tmp_path: Path) -> None:
    assert "no/such/model" in sentence_of(*hf(Path("no/such/model")))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "does not contain model weights" in sentence_of(*hf(empty))
    assert not ScoringRun.objects.exists()
    assert not LanguageModel.objects.exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--study", "memory"), "Name the model"),
        (("--model", "hf", "--study", "memory"), "--model hf needs pretrained="),
        (
            ("--model", "hf", "--model_args", "pretrained", "--study", "memory"),
            "--model_args: “pretrained”",
        ),
        (("--model", "embedded", "--study", "memory", "--conditions", "half"), "choose from full"),
        (("--model", "embedded", "--study", "memory", "--prompt", "Hello"), "prompt cannot be"),
        (("rm", "77"), "there is no run 77"),
    ],
)
def test_wrong_words_are_named(study: Study, arguments: tuple[str, ...], part: str) -> None:
    assert part in sentence_of(*arguments)


SAID = "The tokenizer belongs to another model"


def test_another_models_tokenizer_is_warned_about_kept_in_the_run_and_no_reason_to_stop(
    tmp_path: Path,
) -> None:
    make_study(human=2)
    _, err, error = score(*hf(MODEL_FOLDER, tokenizer=save_shuffled_demo(tmp_path), device="cpu"))
    assert error is None
    assert SAID in err
    (sentence,) = ScoringRun.objects.get().identity["warnings"]
    assert SAID in sentence


LONG = f"In study memory {'the response rose and ' * 30}[[rose, fell again]] {'at last ' * 6}late."


@pytest.fixture
def mixed() -> Study:
    made = make_study(human=2, machine=1)
    made.study_items.create(item=make_item("memory-long", markup=LONG))
    return made


@pytest.fixture
def long(mixed: Study) -> Item:
    return mixed.items.get(key="memory-long")


class Plain:
    """The same model, one forward pass at a time, in float64."""

    def __init__(self, folder: Path) -> None:
        self.model = GPT2LMHeadModel.from_pretrained(folder).double().eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def ids(self, text: str) -> list[int]:
        run = ScoringRun.objects.order_by("pk").first()
        assert run is not None
        prompted = run.prompt_text.replace("<choice abstract>", text)
        return list(self.tokenizer(prompted)["input_ids"])

    def nlls(self, ids: list[int]) -> list[float]:
        with torch.no_grad():
            logprobs = self.model(torch.tensor([ids])).logits[0, :-1].log_softmax(-1)
        return [-float(row[token]) for row, token in zip(logprobs, ids[1:], strict=True)]


def test_rolling_windows_give_what_each_window_gives_alone(
    mixed: Study, tiny: Path, long: Item
) -> None:
    window = 100
    data = score_json(*hf(tiny, max_length=window, overlong="rolling"))
    plain, row = Plain(tiny), next(r for r in data["scores"] if r["item"] == long.key)
    for version in ("original", "altered"):
        ids = plain.ids(getattr(long, version))
        assert len(ids) > 2 * window  # three windows
        expected, scored = plain.nlls(ids[:window]), window
        while scored < len(ids):
            end = min(scored + window - 1, len(ids))
            expected += plain.nlls(ids[end - window : end])[scored - end :]
            scored = end
        assert row[f"tokens_{version}"] == len(expected) == len(ids) - 1
        assert row[f"nll_{version}"] == pytest.approx(math.fsum(expected), rel=1e-5)
        mean = math.fsum(expected) / len(expected)
        assert row[f"ppl_{version}"] == pytest.approx(math.exp(mean), rel=1e-5)


def test_a_truncated_text_is_read_from_the_same_place_in_both_versions(
    mixed: Study, tiny: Path, long: Item
) -> None:
    window = 100
    data = score_json(*hf(tiny, max_length=window, overlong="truncate"))
    plain, row = Plain(tiny), next(r for r in data["scores"] if r["item"] == long.key)
    versions = {name: plain.ids(getattr(long, name)) for name in ("original", "altered")}
    left_out = max(map(len, versions.values())) - window
    for version, ids in versions.items():
        expected = plain.nlls(ids[left_out:])
        assert row[f"tokens_{version}"] == len(expected) == len(ids) - left_out - 1
        assert row[f"nll_{version}"] == pytest.approx(math.fsum(expected), rel=1e-5)
    run = ScoringRun.objects.get()
    first = token_store.read_tokens(run, long.key).to_pylist()[0]
    assert (first["position"], first["logprob"]) == (0, None)
    assert first["start"] > 0  # in characters of the text, as ever
    # What zlib makes smaller is what the perplexity counts
    kept = ItemScore.objects.get(item=long)
    assert kept.zlib_original_bytes == zlib_bytes(long.original[first["start"] :])
    whole = Prompt(run.prompt, run.prompt_text).fill(long.original)
    assert kept.zlib_original_bytes < zlib_bytes(whole)


@pytest.mark.parametrize("overlong", ["rolling", "truncate"])
def test_texts_that_fit_come_to_the_same(mixed: Study, tiny: Path, overlong: str) -> None:
    plain = score_json(*hf(tiny))["scores"]
    data = score_json(*hf(tiny, overlong=overlong))
    assert data["scores"] == plain
    assert data["conditions"]["full"]["overlong"] == overlong
    run = ScoringRun.objects.order_by("-pk").first()
    assert run is not None
    assert (run.identity["overlong"], run.identity["max_length"]) == (overlong, WINDOW)


def test_batch_size_is_so_many_times_the_longest_text(mixed: Study) -> None:
    seen: list[int | None] = []

    class Watched(NgramBackend):
        def plan(self, groups, batch_tokens):  # type: ignore[no-untyped-def]
            seen.append(batch_tokens)
            self.longest = max(len(text.ids) for group in groups for text in group)
            return super().plan(groups, batch_tokens)

    args, model = {"pretrained": "bigrams", "batch_size": "3"}, Watched()
    run = execute(ask(mixed, model_args=args, batch_tokens=None), backend=model)
    assert run.status == "finished", run.error
    assert seen == [3 * model.longest]
    by_tokens = execute(ask(mixed, batch_tokens=3 * model.longest), backend=NgramBackend())
    assert scores(run) == scores(by_tokens)


def test_a_start_token_is_read_first_where_it_is_asked_for(
    mixed: Study, tiny: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny, tmp_path / "with-start")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"bos_token": tokenizer.convert_ids_to_tokens(0)})
    tokenizer.save_pretrained(folder)
    without, with_start, neither = (
        score_json(*hf(folder, "--prompt", "none", "--output_path", tmp_path / str(n), **args))
        for n, args in enumerate(({}, {"add_bos_token": "True"}, {"add_bos_token": "false"}))
    )
    assert neither["scores"] == without["scores"]
    plain, row = Plain(folder), with_start["scores"][0]
    text = mixed.items.get(key=row["item"]).original
    nlls = plain.nlls([0, *tokenizer(text)["input_ids"]])
    assert row["tokens_original"] == len(nlls) == without["scores"][0]["tokens_original"] + 1
    assert row["nll_original"] == pytest.approx(math.fsum(nlls), rel=1e-5)
    plain_run, run = ScoringRun.objects.order_by("pk")[:2]
    assert run.identity["tokenizer_sha256"] != plain_run.identity["tokenizer_sha256"]
    (results,) = (tmp_path / "1").glob("*/results_*.json")
    assert json.loads(results.read_text())["tokenizer_bos_token"][1] == "0"


@pytest.mark.parametrize(
    ("args", "options", "part"),
    [
        ({"max_length": "1"}, (), "max_length=1: expected a whole number from 2"),
        ({"max_length": "9999"}, (), f"the model's window has {WINDOW:,} tokens"),
        ({"overlong": "fold"}, (), "overlong=fold: choose one of refuse, truncate, rolling"),
        ({"batch_size": "2"}, ("--batch_size", "3"), "differ"),
        ({"batch_size": "2"}, ("--batch_tokens", "300"), "not both"),
        ({"add_bos_token": "True"}, (), "the tokenizer does not have a start token"),
        ({"parallelize": "True", "device": "cpu"}, (), "exclude each other"),
    ],
)
def test_wrong_arguments_end_in_one_sentence(
    mixed: Study, tiny: Path, args: dict[str, str], options: tuple[str, ...], part: str
) -> None:
    out, _, error = score(*hf(tiny, *options, **args))
    assert part in str(error)
    assert len(str(error).splitlines()) == 1
    assert out == ""
    assert not ScoringRun.objects.exists()


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
    assert sentence_of("ls", "--adapters", "--study", "memory") == (
        "--adapters lists runs of all studies. Leave out --study."
    )


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
    assert score("--queue")[0] == "No run is queued.\n"


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
    assert f"these runs are running: {run.pk}." in sentence_of("rm", run.pk)


def test_a_published_run_is_not_removed(study: Study, tiny: Path) -> None:
    run = queued(study, tiny)
    ScoringRun.objects.update(backend="imported", status="finished")
    _, _, error = score("rm", run.pk)
    assert "is a published run that was imported" in str(error)
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
