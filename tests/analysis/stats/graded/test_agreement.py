"""Kappa and alpha on planted disagreements, against scikit-learn, NLTK and a published example."""

import numpy as np
import pytest
from nltk.metrics.agreement import AnnotationTask
from nltk.metrics.distance import interval_distance
from sklearn.metrics import cohen_kappa_score, confusion_matrix

from analysis.stats import NotEnough
from analysis.stats.graded.agreement import confusion, krippendorff_alpha, weighted_kappa

GRADES = [-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
NO = np.nan
# Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, section C: 4 observers, 12 units
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ]
).T


def planted(seed: int, n: int = 400, share: float = 0.3) -> tuple[list[float], list[float]]:
    """Grades of a judge, and a person's, who says something else of so many."""
    rng = np.random.default_rng(seed)
    judge = rng.choice(GRADES, n, p=[0.2, 0.2, 0.05, 0.1, 0.05, 0.1, 0.1, 0.2])
    other = rng.choice(GRADES, n)
    return judge.tolist(), np.where(rng.random(n) < share, other, judge).tolist()


@pytest.mark.parametrize("weights", ["quadratic", "none"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_kappa_of_planted_disagreements_is_that_of_scikit_learn(weights, share):
    judge, human = planted(1, share=share)
    # Whose labels are whole numbers in order
    codes = ([GRADES.index(grade) for grade in grades] for grades in (judge, human))
    wanted = cohen_kappa_score(*codes, weights=None if weights == "none" else weights)
    assert weighted_kappa(judge, human, GRADES, weights).value == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_alpha_of_planted_disagreements_is_that_of_nltk(share):
    judge, human = planted(2, n=150, share=share)
    rows = [
        (rater, unit, grade)
        for rater, grades in enumerate((judge, human))
        for unit, grade in enumerate(grades)
    ]
    task = AnnotationTask(
        [(f"r{r}", f"u{u}", grade) for r, u, grade in rows], distance=interval_distance
    )
    found = krippendorff_alpha(np.column_stack([judge, human]))
    assert found.value == pytest.approx(task.alpha(), abs=1e-12)


def test_alpha_is_that_of_krippendorffs_own_example_with_ratings_missing():
    found = krippendorff_alpha(PUBLISHED)
    assert found.value == pytest.approx(0.849, abs=0.0005)
    assert found.n == 11  # one unit has a single rating
    low, high = found.ci95
    assert low < 0.849 < high


def test_the_table_of_both_is_that_of_scikit_learn_and_leaves_out_what_one_did_not_grade():
    judge, human = planted(3)
    wanted = confusion_matrix(*([GRADES.index(g) for g in grades] for grades in (judge, human)))
    assert confusion([*judge, None, 3.0], [*human, 3.0, NO], GRADES).tolist() == wanted.tolist()


def test_graders_who_always_say_the_same_have_no_agreement_beyond_chance():
    assert np.isnan(weighted_kappa(["good"] * 5, ["good"] * 5, ["good", "bad"]).value)
    assert np.isnan(krippendorff_alpha(np.ones((5, 2))).value)
    assert krippendorff_alpha(np.ones((5, 2))).ci95 is None


def test_grades_that_cannot_be_compared_are_refused():
    with pytest.raises(NotEnough):
        weighted_kappa([1, None], [None, 1], [1])
    with pytest.raises(NotEnough):
        krippendorff_alpha([[1, NO], [NO, 1]])
    with pytest.raises(ValueError, match="7"):
        weighted_kappa([7], [1], [1])
    with pytest.raises(NotEnough, match="different grades"):
        krippendorff_alpha(np.random.default_rng(1).random((300, 2)))


def agreement_of(
    seed: int, n_templates: int, each: int
) -> tuple[list[float], list[float], np.ndarray]:
    """Templates on which a person always, or never, grades by chance: rows of one are alike."""
    rng = np.random.default_rng(seed)
    judge = rng.choice([0.0, 1.0, 2.0, 3.0], n_templates * each)
    cluster = np.repeat(np.arange(n_templates), each)
    by_chance = (rng.random(n_templates) < 0.4)[cluster]
    human = np.where(by_chance, rng.choice([0.0, 1.0, 2.0, 3.0], len(judge)), judge)
    return judge.tolist(), human.tolist(), cluster


def test_intervals_hold_the_agreement_where_templates_differ():
    """Chance on 40% of templates: kappa and alpha are .6 over all templates there could be."""
    held = []
    for seed in range(60):
        judge, human, cluster = agreement_of(seed, 30, 10)
        kappa = weighted_kappa(judge, human, [0.0, 1.0, 2.0, 3.0], clusters=cluster)
        alpha = krippendorff_alpha(np.column_stack([judge, human]), clusters=cluster)
        held.append([low <= 0.6 <= high for low, high in (kappa.ci95, alpha.ci95)])
    assert (np.mean(held, axis=0) >= 0.88).all()  # below in one of 50 such tests, were it .95


def test_many_questions_are_left_out_in_groups():
    judge, human = planted(4, n=3000)
    low, high = krippendorff_alpha(np.column_stack([judge, human])).ci95
    small = krippendorff_alpha(np.column_stack([judge, human])[:300]).ci95
    assert 2 < (small[1] - small[0]) / (high - low) < 5  # of ten times fewer: sqrt(10)
