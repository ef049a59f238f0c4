"""Background stays as it is, and only words are wrapped."""

from experiment.domain.item_checks.text import check_item
from experiment.domain.markup import parse
from tests.experiment.domain.item_checks.abstracts import OPENING, codes, found


def test_an_edit_in_the_first_two_sentences_is_found() -> None:
    text = OPENING.replace("causes", "[[causes, effects]]")
    assert [f.quote for f in check_item(parse(text)) if f.code == "edited_opening"] == [
        "causes | effects"
    ]


def test_one_in_the_third_is_not() -> None:
    text = OPENING.replace("year", "[[year, day]]") + "They slept."
    assert "edited_opening" not in {f.code for f in check_item(parse(text))}


def test_a_text_of_two_sentences_has_no_background() -> None:
    text = "Rats were watched. They [[slept, ran]]."
    assert "edited_opening" not in {f.code for f in check_item(parse(text))}


def test_a_sentence_whose_words_stay_is_wrapped_too_widely() -> None:
    text = "[[The old rats slept through the night. | The old rats slept through the day.]] It was warm."
    (one,) = [f for f in found(text) if f.code == "whole_sentence"]
    assert "6 of 7" in one.message
    assert "whole_sentence" in codes(
        "[[The old rats slept through the night | The old rats ran through the night]]. It was warm."
    )


def test_a_sentence_that_is_new_throughout_and_words_of_one_are_not() -> None:
    assert "whole_sentence" not in codes(
        "[[Memory got worse in every group | No effect on recall could be seen]]. It was warm."
    )
    assert "whole_sentence" not in codes("The old rats [[slept | ran]] through the night.")
