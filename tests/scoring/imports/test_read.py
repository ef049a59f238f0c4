"""The published models' results, imported whole; figures are those of the reference analysis."""

import json
import zlib
from collections import defaultdict
from statistics import fmean, median

import numpy as np
import pytest

from experiment.models import Item, Study
from scoring.domain.perplexity import accuracy
from scoring.domain.prompts import PAPER_SENTENCE
from scoring.imports.read import results
from scoring.models import CorpusScore, ItemScore, LanguageModel, ScoringRun

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def reference(shared_dir):
    path = shared_dir / "reference" / "published_human_items.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def study(imported, db):
    return Study.objects.get(slug="brainbench")


def scores_of(name: str, condition: str = "full", seed: int | None = None) -> list[ItemScore]:
    run = ScoringRun.objects.get(
        language_model__name=name, study__slug="brainbench", condition=condition, seed=seed
    )
    return list(run.item_scores.select_related("item").order_by("item__key", "unit"))


def counted(scores):
    return accuracy([score.decision for score in scores])


def ratios(name: str, corpus: str) -> list[float]:
    rows = CorpusScore.objects.filter(run__language_model__name=name, run__corpus=corpus)
    return [row.zlib_bytes / row.ppl for row in rows]


def test_the_papers_models_are_right_as_often_as_published(study, reference):
    assert len(reference["llm_accuracy"]) == 15
    for name, expected in reference["llm_accuracy"].items():
        found = counted(scores_of(name))
        assert (found.n, found.n_correct) == (expected["n"], expected["n_correct"])
        assert (found.value, found.sem) == (expected["accuracy"], expected["sem_binomial"])


def test_the_report_tells_the_same_of_all_29_models(imported, reference):
    models = {model["name"]: model for model in imported["models"]}
    assert len(models) == 29
    assert [name for name in models if models[name]["is_of_paper"]] == reference["meta"][
        "models_order"
    ]
    for name, expected in reference["llm_accuracy"].items():
        assert models[name]["n_correct"] == expected["n_correct"]
        assert models[name]["accuracy"] == expected["accuracy"]
    assert imported["runs"] == {"full": 29, "isolated": 15, "swapped": 30, "corpus": 19}
    n_scores = 29 * 200 + 15 * 488 + 2 * 15 * 200 + 16 * 1000 + 3
    created = imported["created"]
    assert (created["models"], created["runs"], created["scores"]) == (29, 93, n_scores)
    assert ItemScore.objects.count() + CorpusScore.objects.count() == n_scores


def test_the_other_models_are_right_as_often_as_published(study, reference):
    published = reference["other_models_figS2"]
    tuned = {name: row["acc_after"] for name, row in reference["finetuning"].items()}
    expected = {name: row["accuracy"] for name, row in published.items()} | tuned
    assert len(expected) == 29 - 15
    assert {name: counted(scores_of(name)).value for name in expected} == expected


def test_isolated_sentences_give_the_published_accuracies_pooled_and_within_items(study, reference):
    pooled, within = [], []
    for name, expected in reference["iso"]["llm"].items():
        scores = scores_of(name, "isolated")
        of_items = defaultdict(list)
        for score in scores:
            of_items[score.item_id].append(score.decision.points)
        pooled.append(counted(scores).value)
        within.append(fmean(fmean(right) for right in of_items.values()))
        assert (len(scores), len(of_items)) == (expected["n_sentences"], expected["n_items"])
        assert pooled[-1] == expected["accuracy_pooled_sentences"]
        assert within[-1] == pytest.approx(expected["accuracy_mean_of_item_means"], rel=1e-14)
    assert fmean(pooled) == pytest.approx(reference["iso"]["mean_pooled"], rel=1e-14)
    assert fmean(within) == pytest.approx(reference["iso"]["mean_item"], rel=1e-14)


@pytest.mark.parametrize("seed", [42, 1234])
def test_swapped_context_gives_the_published_accuracies(study, reference, seed):
    expected = reference[f"swap_seed{seed}"]
    found = {name: counted(scores_of(name, "swapped", seed)) for name in expected["llm"]}
    assert len(found) == 15
    for name, row in expected["llm"].items():
        assert (found[name].value, found[name].sem) == (row["accuracy"], row["sem_binomial"])
    assert fmean(a.value for a in found.values()) == pytest.approx(expected["mean"], rel=1e-14)


def test_compressed_lengths_and_ratios_of_the_items_are_the_published_ones(study, reference):
    for name, expected in reference["memorisation"].items():
        rows = scores_of(name)
        for key, which in (("brainbench_correct", "original"), ("brainbench_altered", "altered")):
            if key in expected:
                lengths = [getattr(row, f"zlib_{which}_bytes") for row in rows]
                ppl = [getattr(row, f"ppl_{which}") for row in rows]
                assert median(lengths) == expected[key]["zlib_median"]
                assert median(ppl) == expected[key]["ppl_median"]
                shares = [length / p for length, p in zip(lengths, ppl, strict=True)]
                assert median(shares) == pytest.approx(expected[key]["median"], rel=1e-14)


def test_reference_corpora_and_the_anchor_are_the_published_ones(study, reference):
    n_corpora = 0
    for name, expected in reference["memorisation"].items():
        for corpus, figures in expected.items():
            if isinstance(figures, dict) and not corpus.startswith("brainbench"):
                found = ratios(name, corpus)
                assert len(found) == figures["n"]
                assert median(found) == pytest.approx(figures["median"], rel=1e-14)
                assert max(found) == pytest.approx(figures["max"], rel=1e-14)
                n_corpora += 1
    assert n_corpora == ScoringRun.objects.exclude(corpus="").count() == 19
    anchors = ScoringRun.objects.filter(is_anchor=True)
    assert set(anchors.values_list("corpus", flat=True)) == {"gettysburg_address"}
    assert [round(ratios(name, "gettysburg_address")[0], 2) for name in (
        "tiiuae/falcon-180B", "meta-llama/Llama-2-70b-hf", "facebook/galactica-120b"
    )] == [604.34, 639.95, 530.60]  # fmt: skip
    assert not anchors.exclude(study=None).exists()


def test_tuning_changes_the_perplexity_of_the_originals_as_published(study, reference):
    for name, expected in reference["finetuning"].items():
        tuned = LanguageModel.objects.get(name=name)
        assert tuned.tuned_from.name == expected["base"]
        after, before = scores_of(name), scores_of(tuned.tuned_from.name)
        assert fmean(row.ppl_original for row in before) == pytest.approx(
            expected["correct_ppl_before_mean"], rel=1e-14
        )
        assert fmean(row.ppl_original for row in after) == pytest.approx(
            expected["correct_ppl_after_mean"], rel=1e-14
        )


def test_scores_belong_to_the_texts_that_the_models_read(study, results_dir):
    run = ScoringRun.objects.get(language_model__name="gpt2", study=study)
    scored = run.item_scores.order_by("item__key")
    assert set(scored.values_list("item__version", "item__texts")) == {(1, "as-published")}
    labels = np.load(results_dir / "model_results/gpt2/human_abstracts/labels.npy")
    ppl = np.load(results_dir / "model_results/gpt2/human_abstracts/PPL_A_and_B.npy")
    assert [row.original_side for row in scored] == ["AB"[label] for label in labels]
    stored = [(row.item.key, row.ppl_original, row.ppl_altered) for row in scored]
    assert stored == [
        (f"brainbench-human-{row:03d}", pair[label], pair[1 - label])
        for row, (pair, label) in enumerate(zip(ppl.tolist(), labels, strict=True), start=1)
    ]


def test_the_studys_models_are_the_papers_in_its_order(study, reference):
    model_set = study.model_set
    members = model_set.members.select_related("language_model")
    assert model_set.name == "the paper's 15 models"
    assert [m.language_model.name for m in members] == reference["meta"]["models_order"]
    names = {m.language_model.name: m.language_model.display_name for m in members}
    assert names == reference["meta"]["model_display_names"]
    families = [m.language_model.family for m in members]
    assert list(dict.fromkeys(families)) == ["Galactica", "Falcon", "Llama-2", "Mistral"]


def test_chat_models_have_the_base_partners_of_the_papers_test(study, reference):
    partners = LanguageModel.objects.exclude(base_partner=None)
    pairs = {(m.base_partner.name, m.name) for m in partners.select_related("base_partner")}
    assert pairs == {tuple(pair) for pair in reference["base_vs_chat_paired_t"]["pairs"]}
    assert all(chat.is_chat and not chat.base_partner.is_chat for chat in partners)
    assert all(chat.n_parameters == chat.base_partner.n_parameters for chat in partners)


def test_a_run_says_where_its_numbers_are_from(study):
    run = ScoringRun.objects.get(
        language_model__name="gpt2", study=study, condition="full", source="human"
    )
    assert (run.backend, run.prompt, run.mode, run.status) == ("imported", "paper", "paper", "finished")  # fmt: skip
    assert run.prompt_text == f"{PAPER_SENTENCE} <choice abstract>"
    assert (run.total, run.done) == (200, 200)
    assert run.identity["backend"] == "imported"
    folder = "model_results/gpt2/human_abstracts"
    assert run.identity["files"].keys() == {
        f"{folder}/{name}.npy" for name in ("PPL_A_and_B", "labels", "ZLIB_A_and_B")
    }
    facts = run.identity["files"][f"{folder}/PPL_A_and_B.npy"]
    assert (facts["shape"], facts["dtype"], len(facts["sha256"])) == ([200, 2], "float64", 64)


# What provenance.py says of prompts rests on these

LLAMA_TEMPLATE = (
    "<s>[INST] <<SYS>>\n{system}\n<</SYS>>\n\n{user}\n\n[/INST] {abstract}"  # its chat format
)


def lengths(template: str, items: list[Item]) -> list[int]:
    system, _, user = PAPER_SENTENCE.partition(". ")
    texts = (
        template.format(system=f"{system}.", user=user, abstract=item.original) for item in items
    )
    return [len(zlib.compress(text.encode())) for text in texts]


@pytest.mark.parametrize(
    ("family", "template", "shorter_by"),
    [
        ("Galactica", "{system} {user} {abstract}", 0),
        ("GPT-2", "{system} {user} {abstract}", 0),
        ("Llama-2", LLAMA_TEMPLATE, 0),
        ("Falcon", "{system} {user} {abstract}", 23),
    ],
)
def test_compressed_lengths_tell_what_the_models_were_given(study, family, template, shorter_by):
    runs = ScoringRun.objects.filter(
        study=study, condition="full", language_model__family=family,
        item_scores__zlib_original_bytes__isnull=False,
    ).distinct()  # fmt: skip
    items = list(Item.objects.filter(key__startswith="brainbench-human-", version=1).order_by("key"))  # fmt: skip
    ours = lengths(template, items)
    assert runs
    for run in runs:
        assert run.identity["prompt"] == results.PROMPTS[family]
        rows = run.item_scores.order_by("item__key").values_list("zlib_original_bytes", flat=True)
        differences = [published - own for published, own in zip(rows, ours, strict=True)]
        if shorter_by:
            assert fmean(differences) == pytest.approx(shorter_by, abs=0.5)
        else:
            assert set(differences) == {0}
