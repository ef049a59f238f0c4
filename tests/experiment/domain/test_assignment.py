import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.assignment import (
    WINDOW,
    Candidate,
    DrawRecord,
    NoItemLeftError,
    draw_item,
    expected_exposures,
    finish_chances,
    plan_trials,
    rng_key,
)
from experiment.domain.simulation import draw_scripts

COUNTS = {"human": 6, "machine": 3, "catch": 2}


@given(
    st.integers(),
    st.fixed_dictionaries(dict.fromkeys([*COUNTS, "question"], st.integers(0, 7))).filter(
        lambda counts: sum(counts.values())
    ),
)
def test_a_plan_has_every_stratum_and_balances_the_sides_of_all_but_questions(seed, counts):
    plan = plan_trials(counts, random.Random(seed))
    assert Counter(trial.stratum for trial in plan) == +Counter(counts)
    assert {trial.original_side for trial in plan if trial.stratum == "question"} <= {""}
    for stratum, n in counts.items():
        n_a = sum(trial.original_side == "A" for trial in plan if trial.stratum == stratum)
        assert n_a in ((n // 2, n - n // 2) if stratum != "question" else (0,))
    sides = Counter(trial.original_side for trial in plan)
    assert abs(sides["A"] - sides["B"]) <= 1


def test_every_position_gets_catch_trials_and_every_side_equally_often():
    plans = [plan_trials(COUNTS, random.Random(seed)) for seed in range(4000)]
    catch_at = Counter(
        i for plan in plans for i, trial in enumerate(plan) if trial.stratum == "catch"
    )
    # 8000 catch trials over 11 positions; five standard deviations of a binomial count
    assert all(abs(n - 8000 / 11) < 5 * (8000 / 11) ** 0.5 for n in catch_at.values())
    n_a = sum(trial.original_side == "A" for plan in plans for trial in plan)
    assert abs(n_a - 22000) < 5 * (44000 * 0.25) ** 0.5


def test_the_chance_to_finish_counts_only_those_who_got_that_far():
    # 4 left at page 0, 2 at page 5, 3 finished: page 0 was reached by 9, page 1 by 5, page 6 by 3
    assert finish_chances({0: 4, 5: 2}, 3, [0, 1, 6]) == {0: 4 / 11, 1: 4 / 7, 6: 4 / 5}


def test_holders_add_their_chances_to_the_exposure():
    chances = {2: 0.25, 9: 0.75}
    scores = expected_exposures({7: 3, 8: 0}, [(7, 2, 2), (8, 9, 1), (99, 9, 1)], chances)
    assert scores == {7: 3.5, 8: 0.75}


def test_the_draw_does_not_know_whether_answers_were_right():
    # What a draw is made from has no place for correctness; this pins the signature down.
    assert set(Candidate._fields) == {"item_id", "work", "score", "template"}


def test_ties_are_broken_evenly_and_reproducibly():
    candidates = [Candidate(item, "", 1.0) for item in range(10)]

    def drawn(seed, candidates=candidates):
        return draw_item(candidates, [], [], rng_key(seed, "draw", 1)).item_id

    counts = Counter(drawn(seed) for seed in range(5000))
    assert all(abs(counts[item] - 500) < 5 * 450**0.5 for item in range(10))
    assert drawn(5) == drawn(5, candidates[::-1])


def test_a_work_is_never_met_twice_and_running_out_is_an_error():
    candidates = [Candidate(1, "doi", 0.0), Candidate(2, "doi", 0.0), Candidate(3, "", 5.0)]
    assert draw_item(candidates, ["doi"], [], "k").item_id == 3
    with pytest.raises(NoItemLeftError):
        draw_item(candidates, ["doi"], [3], "k")


def test_scripts_drop_out_at_uniform_pages_and_exclude_the_published_share():
    scripts = draw_scripts(400, 0.8, 0.63, 11, random.Random(3))
    assert sum(s.misses_catch or s.cheats for s in scripts if s.finishes) == 60
    pages = Counter(s.leaves_on for s in scripts if not s.finishes)
    expected = sum(pages.values()) / 14
    assert set(pages) == set(range(14))
    assert all(abs(n - expected) < 5 * expected**0.5 for n in pages.values())


# Of seed 1, 2 and 3, as long as there are plans: strata and sides of the originals in order
PLANS = {
    1: "mB hA hB hA cA hB mA hB hA mA cB",
    2: "cA hB mB mA hB hA hA mA hA hB cB",
    3: "hB hA mB cB cA hA hA hB mA hB mA",
}


@pytest.mark.parametrize("seed", PLANS)
def test_without_questions_plans_are_what_they_always_were(seed: int) -> None:
    plan = plan_trials(COUNTS, random.Random(seed))
    assert " ".join(f"{each.stratum[0]}{each.original_side}" for each in plan) == PLANS[seed]


def test_a_tie_goes_to_an_item_of_the_template_met_least() -> None:
    candidates = [Candidate(n, f"q-{n}", 1.0, template=n // 3 + 1) for n in range(9)]
    candidates += [Candidate(9, "q-9", 1.5, template=9), Candidate(10, "q-10", 1.0)]
    for seed in range(50):
        met: dict[int, int] = {}
        taken: list[int] = []
        for n in range(5):
            key = rng_key(seed, "draw", n)
            drawn = draw_item(candidates, [], taken, key, taken_templates=met)
            assert drawn.record.item_id(key) == drawn.item_id
            template = next(c.template for c in candidates if c.item_id == drawn.item_id)
            taken.append(drawn.item_id)
            if template:
                met[template] = met.get(template, 0) + 1
        # The question without a template is as new as those of templates that were not met; the more exposed one waits
        assert sorted(met.values()) in ([1, 1, 2], [1, 1, 1, 1], [1, 2, 2])
        assert 9 not in taken


IDS = st.sets(st.integers(1, 2_000_000), min_size=1, max_size=400).map(sorted)


@given(tied=IDS, seed=st.integers(0, 2**62), n_before=st.integers(0, 2**40))
def test_a_record_is_short_and_replays_whatever_tied(
    tied: list[int], seed: int, n_before: int
) -> None:
    key = rng_key(seed, "draw", 11)
    record = DrawRecord.of(tied, key, n_before)
    packed = record.pack()
    assert len(packed) <= 200
    assert DrawRecord.unpack(packed) == record
    assert record.item_id(key) in tied
    assert (record.n_tied, record.n_before) == (len(tied), n_before)
    assert set(record.window) <= set(tied)


def test_each_of_many_tied_items_has_the_same_chance() -> None:
    tied = list(range(10, 10 + 2 * WINDOW + 4))
    keys = [rng_key(seed, "draw", 1) for seed in range(20_000)]
    drawn = Counter(DrawRecord.of(tied, key).item_id(key) for key in keys)
    expected = len(keys) / len(tied)
    assert set(drawn) == set(tied)
    assert all(abs(n - expected) < 5 * expected**0.5 for n in drawn.values())
