"""Overlap with the expert's words, and what it has to do with grades."""

import subprocess
import sys

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from scipy import stats

from analysis.stats import NotEnough
from analysis.stats.graded.grade_correlation import grade_correlation
from analysis.stats.graded.text_metrics import overlap, overlaps

EXPERT = "Metformin is a first-line treatment of type 2 diabetes."


def test_rouge_is_that_of_counting_by_hand():
    """Answer a b c d, expert a b d: one of three pairs and one of two; longest common sequence a b d of 4 and 3."""
    found = overlap("a b c d", "a b d")
    assert found.rouge_2 == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert found.rouge_l == pytest.approx(2 * (3 / 4) * 1 / (3 / 4 + 1))


def test_rouge_is_that_of_rouge_score():
    scorer, rng = RougeScorer(["rouge2", "rougeL"], use_stemmer=True), np.random.default_rng(1)
    said = "the genes' risk of Alzheimer's disease raises raised 2.5 APOE-4, μ cells binding"
    words = np.array(said.split(" "))
    texts = [" ".join(rng.choice(words, n)) for n in (*range(8), 20, 60, 200)]
    for answer in texts:
        for expert in texts:
            wanted, found = scorer.score(expert, answer), overlap(answer, expert)
            assert found.rouge_2 == pytest.approx(wanted["rouge2"].fmeasure, abs=1e-12)
            assert found.rouge_l == pytest.approx(wanted["rougeL"].fmeasure, abs=1e-12)


def test_answers_without_a_word_have_no_overlap_and_no_answers_no_rows():
    assert overlaps([("", EXPERT), ("μ", "μ")]).shape == (2, 3)
    assert overlaps([("", EXPERT)]).tolist() == [[0, 0, 0]]
    assert overlaps([]).shape == (0, 3)


def test_libraries_for_overlap_are_loaded_only_where_they_are_used():
    code = "import sys, analysis.stats.graded.text_metrics; print({'sacrebleu', 'rouge_score', 'nltk'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_those_of_scipy_with_ties_on_both_sides(seed):
    rng = np.random.default_rng(seed)
    points = rng.choice([-1, 0, 0.5, 1, 2, 3], 300)
    metric = np.round(points + rng.normal(0, 2, 300), 1)
    found = grade_correlation(metric, points, np.arange(300))
    assert found.rho == pytest.approx(stats.spearmanr(metric, points).statistic, abs=1e-12)
    assert found.tau == pytest.approx(stats.kendalltau(metric, points).statistic, abs=1e-12)
    low, high = found.tau_ci95
    assert low < found.tau < high


def test_intervals_of_correlations_hold_the_truth_where_templates_differ():
    def drawn(rng, n_templates):
        shared = np.repeat(rng.normal(size=n_templates), 10)
        points = np.digitize(shared + rng.normal(size=10 * n_templates), [-1, 0, 1])
        return shared + rng.normal(size=len(points)), points, np.repeat(np.arange(n_templates), 10)

    many = grade_correlation(*drawn(np.random.default_rng(1), 2000))
    held, naive = [], []
    for seed in range(60):
        metric, points, cluster = drawn(np.random.default_rng(seed), 30)
        found = grade_correlation(metric, points, cluster)
        held.append(
            [
                low <= true <= high
                for (low, high), true in ((found.rho_ci95, many.rho), (found.tau_ci95, many.tau))
            ]
        )
        low, high = grade_correlation(metric, points, np.arange(300)).rho_ci95
        naive.append(low <= many.rho <= high)
    assert (np.mean(held, axis=0) >= 0.88).all()
    assert np.mean(naive) < 0.85


def test_values_that_do_not_vary_have_no_correlation():
    found = grade_correlation([1, 2, 3, np.nan], [2, 2, 2, 3], np.arange(4))
    assert found.n == 3
    assert np.isnan(found.rho)
    assert np.isnan(found.tau)
    assert found.rho_ci95 is None
    with pytest.raises(NotEnough):
        grade_correlation([1, 2], [1, 2], np.arange(2))
    many = np.arange(300.0)
    with pytest.raises(NotEnough, match="300 different grades"):
        grade_correlation(many, many, np.arange(300))
