"""Nobody stands alone in a released file, and each form of a file can be asked for."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.release import (
    FORMATS,
    IN_TABLES,
    QUASI_IDENTIFIERS,
    SUPPRESSED,
    Answers,
    Form,
    release,
)
from experiment.models import TrialExport

NOTHING = (SUPPRESSED,) * len(QUASI_IDENTIFIERS)
ANSWERS = st.tuples(
    st.sampled_from(["GB", "DE", "JP", "prefer_not_to_say", None]),
    st.sampled_from(["0", "4.5", "12", "60", "nan", "inf", "-3", None]),
    st.sampled_from(["faculty", "other", None]),
    st.sampled_from(["17", "18", "34", "35", "99", "1e400", "prefer_not_to_say", None]),
    st.sampled_from(["female", "male", None]),
)


@given(st.lists(ANSWERS, max_size=60), st.integers(2, 8))
def test_no_combination_of_released_answers_fits_one_to_k_minus_1_people(
    told: list[Answers], k: int
) -> None:
    people = {str(n): answers for n, answers in enumerate(told)}
    released = release(people, k)
    assert released.answers.keys() == people.keys()
    for answers, n in Counter(released.answers.values()).items():
        assert n >= k or (answers == NOTHING and len(people) < k)
    for name, n in released.suppressed.items():
        place = QUASI_IDENTIFIERS.index(name)
        assert n == sum(own[place] == SUPPRESSED for own in released.answers.values())


@given(st.lists(ANSWERS, max_size=30))
def test_a_released_answer_is_the_given_one_its_band_or_suppressed(told: list[Answers]) -> None:
    released = release({str(n): answers for n, answers in enumerate(told)}, 3)
    for n, answers in enumerate(told):
        for was, said in zip(answers, released.answers[str(n)], strict=True):
            if said not in (was, SUPPRESSED):
                low = float(said.rstrip("+").split("-")[0])
                assert float(was) >= low


def test_people_with_enough_others_like_them_keep_all_answers() -> None:
    alike: Answers = ("GB", "12", "faculty", "34", "female")
    released = release({str(n): alike for n in range(7)}, 5)
    assert set(released.answers.values()) == {("GB", "10-19", "faculty", "25-34", "female")}
    assert set(released.suppressed.values()) == {0}


def test_the_most_identifying_answer_is_suppressed_first() -> None:
    people = {str(n): (c, "12", "faculty", "34", "female") for n, c in enumerate("ABCDEF")}
    released = release(people, 5)
    assert set(released.answers.values()) == {(SUPPRESSED, "10-19", "faculty", "25-34", "female")}


def test_every_form_of_an_export_can_be_stored() -> None:
    longest = max(
        len(Form(name, bom=True, zip=True, k=1_000_000, words=True).encode())
        for name in (*FORMATS, *IN_TABLES)
    )
    assert longest <= TrialExport._meta.get_field("format").max_length
