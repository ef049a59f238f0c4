"""Runs: what is scored is what was asked for, once, whatever happens on the way."""

import math
from typing import Any

import numpy as np
import pytest

from experiment.models import Item, Study
from lib.jobs.leases import request_cancel
from scoring.domain.backend import ScoringError
from scoring.models import LanguageModel, ScoringRun
from scoring.services import token_store
from scoring.services.execute import execute
from scoring.services.runs import draft_run, newest_same, reopen
from scoring.services.summary import summarise_run
from scoring.services.texts import texts_of
from tests.factories import make_item
from tests.scoring.made_runs import Disturbed, ask, fail, scores, tokens
from tests.scoring.ngram_backend import NgramBackend
from tests.storages import part_path, records_folder

pytestmark = pytest.mark.django_db


# What is scored


@pytest.mark.parametrize("prompt", ["paper", "clean", "none"])
def test_perplexities_are_those_of_the_tokens_that_the_prompt_lets_count(
    study: Study, prompt: str
) -> None:
    model = NgramBackend()
    run = execute(ask(study, prompt=prompt), backend=model)
    assert (run.status, run.error, run.done, run.total) == ("finished", "", 12, 12)
    score = run.item_scores.get(item__key="memory-human-3")
    text = score.item.original
    before = "" if prompt == "none" else run.prompt_text.partition("<choice abstract>")[0]
    tokens = model.tokenizer(before + text, return_offsets_mapping=True)
    logprobs = model.logprobs("", np.array(tokens["input_ids"]))[1:]
    is_text = np.array([end > len(before) for _, end in tokens["offset_mapping"]])[1:]
    counted = logprobs if prompt == "paper" else logprobs[is_text]
    assert score.ppl_original == pytest.approx(math.exp(-counted.mean()), rel=1e-12)
    assert score.tokens_all_original == len(logprobs)
    assert score.tokens_text_original == is_text.sum()
    assert score.nll_all_original_nats == pytest.approx(-logprobs.sum(), rel=1e-12)
    assert score.nll_text_original_nats == pytest.approx(-logprobs[is_text].sum(), rel=1e-12)


def test_the_test_cases_that_were_asked_for_are_scored_once_and_nothing_else(study: Study) -> None:
    tests = study.items.filter(kind="test").order_by("key").values_list("key", flat=True)
    for asked, keys in (({}, tests), ({"source": "machine", "limit": 2}, tests[8:10])):
        run = execute(ask(study, **asked), backend=NgramBackend())
        assert [row[0] for row in scores(run)] == list(keys)


def test_isolated_sentences_are_scored_one_by_one_and_averaged_within_items(study: Study) -> None:
    item = make_item(
        "memory-two", markup="Rats [[slept, ran]] more. It was late. The response [[rose, fell]]."
    )
    study.study_items.create(item=item)
    run = execute(ask(study, condition="isolated"), backend=NgramBackend())
    assert list(run.item_scores.filter(item=item).values_list("unit", flat=True)) == [0, 2]
    figures = summarise_run(run)
    assert figures.counted.accuracy.n == 14
    assert figures.within_item.n_items == 13
    right = run.item_scores.filter(item=item)
    share = sum(score.decision.points for score in right) / 2
    others = sum(s.decision.points for s in run.item_scores.exclude(item=item))
    assert figures.within_item.accuracy == pytest.approx((others + share) / 13)


def test_token_records_hold_every_token_and_add_up_to_the_rows(study: Study) -> None:
    run = execute(ask(study), backend=NgramBackend())
    for score in run.item_scores.select_related("item"):
        rows = token_store.read_tokens(run, score.item.key).to_pylist()
        original = [row for row in rows if row["version"] == "original"]
        assert original[0]["logprob"] is None
        total = -math.fsum(row["logprob"] for row in original[1:])
        assert total == score.nll_all_original_nats
        of_text = [row["logprob"] for row in original[1:] if row["in_text"]]
        assert -math.fsum(of_text) == score.nll_text_original_nats
        passage = "".join(row["token"] for row in original if row["in_alternation"])
        assert passage.strip("Ġ") == "rose"


def test_figures_count_right_decisions_and_list_near_ties(study: Study) -> None:
    run = execute(ask(study), backend=NgramBackend())
    row = run.item_scores.first()
    row.ppl_altered = row.ppl_original * 1.0005
    row.save()
    figures = summarise_run(run)
    right = sum(s.ppl_original < s.ppl_altered for s in run.item_scores.all())
    assert (figures.counted.accuracy.n, figures.counted.accuracy.n_correct) == (12, right)
    assert figures.counted.accuracy.value == right / 12
    assert figures.counted.accuracy.sem == pytest.approx(
        math.sqrt(right / 12 * (1 - right / 12) / 12)
    )
    assert row.item.key in figures.near_tie_names
    assert figures.counted.near_ties == len(figures.near_tie_names)
    assert run.tokens_per_s > 0


@pytest.mark.parametrize("condition", ["full", "isolated", "swapped"])
def test_a_limit_takes_the_first_as_they_read_in_the_whole(study: Study, condition: str) -> None:
    whole = texts_of(ask(study, condition=condition)).texts
    first = texts_of(ask(study, condition=condition, limit=4)).texts
    assert len({text.item for text in first}) == 4
    assert first == whole[: len(first)]


# What cannot be scored


def test_a_text_beyond_the_window_is_named_and_the_rest_goes_on(study: Study) -> None:
    long = make_item("memory-long", markup=f"{'word ' * 3000}[[rose, fell]]")
    study.study_items.create(item=long)
    run = execute(ask(study), backend=NgramBackend(context_tokens=1000))
    assert (run.status, run.done, run.total) == ("finished", 13, 13)
    assert run.item_scores.count() == 12
    (problem,) = summarise_run(run).unscored
    n = len(
        NgramBackend().tokenizer(run.prompt_text.replace("<choice abstract>", long.original))[
            "input_ids"
        ]
    )
    assert problem.name == "memory-long"
    assert problem.reason == (f"the original: needs {n:,} tokens, but the model's window has 1,000")


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_number_that_is_none_is_named_and_is_no_tie(study: Study, value: float) -> None:
    class Broken(NgramBackend):
        def logprobs(self, name: str, ids: Any) -> Any:
            found = super().logprobs(name, ids)
            if name == "memory-human-2, altered":
                found[5] = value
            return found

    run = execute(ask(study), backend=Broken())
    assert (run.status, run.done, run.item_scores.count()) == ("finished", 12, 11)
    (problem,) = summarise_run(run).unscored
    assert problem.name == "memory-human-2"
    assert problem.reason == f"the altered: the log-probability of token 6 is {value}"
    assert summarise_run(run).counted.accuracy.n == 11
    assert token_store.read_tokens(run, "memory-human-2").num_rows == 0


def test_an_item_that_does_not_fit_its_condition_is_named(study: Study) -> None:
    alone = make_item("memory-alone", subfield="Of its own")
    study.study_items.create(item=alone)
    run = execute(ask(study, condition="swapped"), backend=NgramBackend())
    assert (run.status, run.done, run.total) == ("finished", 13, 13)
    assert [problem.name for problem in summarise_run(run).unscored] == ["memory-alone"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"backend": "imported"}, "“imported” is not a backend"),
        ({"prompt": "custom", "custom_prompt": "Read this:"}, "The prompt cannot be used"),
        ({"source": "alien"}, "There is no source “alien”"),
        ({"limit": 0}, "limit must be 1 or more"),
    ],
)
def test_impossible_values_are_refused(study: Study, fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ScoringError, match=sentence):
        ask(study, **fields)
    assert not ScoringRun.objects.exists()


# Going on


def test_a_finished_run_is_left_alone(study: Study) -> None:
    run = execute(ask(study), backend=NgramBackend())
    before, again = scores(run), NgramBackend()
    assert execute(run, backend=again).status == "finished"
    assert (again.scored, scores(run)) == ([], before)


def test_a_run_in_pieces_scores_the_same_batches_once_and_comes_to_the_same(study: Study) -> None:
    whole = execute(ask(study), backend=NgramBackend())
    pieces, model, seen = ask(study), NgramBackend(), []
    for _ in range(20):
        pieces = execute(pieces, backend=model, max_pairs=3)
        seen.append((pieces.status, pieces.done))
        if pieces.status == "finished":
            break
        assert (pieces.status, pieces.worker, pieces.heartbeat_at) == ("waiting", "", None)
    assert len(seen) > 2
    assert seen == sorted(seen, key=lambda state: state[1])
    assert len(model.scored) == len(set(model.scored)) == 24
    assert scores(pieces) == scores(whole)
    assert tokens(pieces) == tokens(whole)
    assert pieces.plan == whole.plan


@pytest.mark.parametrize(
    "chosen",
    [
        {"batch_tokens": 2**31 - 1},
        {"batch_tokens": None, "model_args": {"pretrained": "bigrams", "batch_size": "1000000"}},
    ],
)
def test_a_slice_ends_by_the_work_done_and_a_stop_is_heeded_whatever_size_of_batches_is_chosen(
    study: Study, chosen: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoring.domain.backend.PAIRS_PER_SLICE", 4)
    run = execute(ask(study, **chosen), backend=NgramBackend(), max_pairs=4)
    assert (run.status, run.done, run.total) == ("waiting", 4, 12)
    run = execute(run, backend=Disturbed(1, lambda: request_cancel(run)))
    assert (run.status, run.done) == ("cancelled", 8)


def test_an_error_of_the_backend_fails_the_run_and_a_new_attempt_goes_on(study: Study) -> None:
    whole = execute(ask(study), backend=NgramBackend())
    error = ScoringError("The server is gone.")
    run = execute(ask(study), backend=Disturbed(3, fail(error)))
    assert (run.status, run.error) == ("failed", "The server is gone.")
    assert 0 < run.done < run.total
    assert run.item_scores.count() == run.done
    model = NgramBackend()
    assert execute(run, backend=model).status == "failed"  # until it is reopened
    run = execute(reopen(run), backend=model)
    assert (run.status, run.error) == ("finished", "")
    assert 0 < len(model.scored) < 24
    assert (scores(run), tokens(run)) == (scores(whole), tokens(whole))


def test_a_model_that_cannot_be_opened_fails_the_run(study: Study) -> None:
    def opener(kind: str, args: Any) -> Any:
        raise ScoringError(f"There is no {kind} model {args['pretrained']}.")

    run = execute(ask(study), opener=opener)
    assert (run.status, run.error) == ("failed", "There is no transformers model bigrams.")


@pytest.mark.parametrize(
    ("begun", "now", "said"),
    [
        ({"weights": "aa"}, {"weights": "bb", "dtype": "float32"}, "dtype was float64, is float32; weights was aa, is bb"),
        ({}, {"machine": {"threads": 16}}, ""),
        ({}, {"experts": "eager"}, "experts was not there, is eager"),
        ({"experts": "eager"}, {"kernels": {"mamba-ssm": "1.0"}}, "kernels.mamba-ssm was not there, is 1.0"),
    ],
)  # fmt: skip
def test_another_model_than_at_the_beginning_is_refused_by_what_differs(
    study: Study, begun: dict[str, Any], now: dict[str, Any], said: str
) -> None:
    run = execute(ask(study), backend=NgramBackend(**begun), max_pairs=1)
    before = scores(run)
    run = execute(run, backend=NgramBackend(**now))
    assert run.status == ("failed" if said else "finished"), run.error
    assert said in run.error
    assert not said or scores(run) == before


def test_test_cases_that_changed_meanwhile_are_noticed(study: Study) -> None:
    run = execute(ask(study), backend=NgramBackend(), max_pairs=1)
    study.study_items.filter(item__key="memory-human-1").delete()
    run = execute(run, backend=NgramBackend())
    assert run.status == "failed"
    assert "have changed since it was created" in run.error


def test_a_lost_record_is_made_again_and_what_a_killed_writer_left_is_tidied_up(
    study: Study,
) -> None:
    whole = execute(ask(study), backend=NgramBackend())
    run = execute(ask(study), backend=NgramBackend(), max_pairs=4)
    n_parts = len(token_store.part_indices(run))
    part_path(run, 0).unlink()
    half = part_path(run, n_parts)
    half.write_bytes(b"PAR1 and no more")
    stray = half.with_name(f".{half.name}.1.abcd")
    stray.write_bytes(b"PAR1")
    run = execute(run, backend=NgramBackend())
    assert (run.status, run.done, run.item_scores.count()) == ("finished", 12, 12)
    assert (scores(run), tokens(run)) == (scores(whole), tokens(whole))
    assert not stray.exists()


def test_records_that_cannot_be_written_end_the_run_and_it_goes_on_to_the_same(
    study: Study,
) -> None:
    whole = execute(ask(study), backend=NgramBackend())
    run = ask(study)
    folder = records_folder(run)
    away = folder.with_name("away")

    def put_a_file_in_the_way() -> None:
        folder.rename(away)
        folder.touch()

    run = execute(run, backend=Disturbed(2, put_a_file_in_the_way))
    assert run.status == "failed"
    assert run.error == (
        f"{folder} cannot be used: file exists (move away the file in its place). Then continue with --resume."
    )
    assert 0 < run.done < run.total
    assert len(scores(run)) == run.done
    folder.unlink()
    away.rename(folder)
    run = execute(reopen(run), backend=NgramBackend())
    assert (run.status, run.error) == ("finished", "")
    assert (scores(run), tokens(run)) == (scores(whole), tokens(whole))


# Which run it is


def test_a_run_is_found_again_by_all_its_settings(study: Study) -> None:
    run = ask(study)
    asked = {
        "study": study,
        "language_model": run.language_model,
        "backend": "transformers",
        "model_args": {"pretrained": "bigrams"},
        "batch_tokens": 400,
    }
    assert newest_same(draft_run(**asked)) == run
    assert (
        newest_same(draft_run(**asked | {"seed": 5})) == run
    )  # nothing is drawn in condition full
    changes = (
        {"model_args": {"pretrained": "bigrams", "dtype": "float64"}},
        {"language_model": LanguageModel(name="other")},
        {"batch_tokens": 60},
        {"condition": "isolated"},
        {"prompt": "clean"},
        {"limit": 5},
        {"source": "human"},
    )
    for change in changes:
        assert newest_same(draft_run(**asked | change)) is None, change
    item = study.items.get(key="memory-human-1")
    newer = Item.objects.create(
        key=item.key, version=2, markup="It [[rose, fell]].", status="accepted"
    )
    study.study_items.filter(item=item).update(item=newer)
    assert newest_same(draft_run(**asked)) is None
