"""The checks of a text, its record and its neighbours: each on cases that it names and cases that it leaves."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.item_checks import form
from experiment.domain.item_checks.characters import (
    MAX_SHOWN,
    check_characters,
    check_tokens,
    unstorable,
)
from experiment.domain.item_checks.content import MOST_ALTERNATIONS, check_contradictions
from experiment.domain.item_checks.findings import Facts, Finding, Level, Other
from experiment.domain.item_checks.form import N_PROBES, check_others, check_record, probes
from experiment.domain.item_checks.text import check_item, check_text
from experiment.domain.item_checks.wording import article_of, check_leaks
from experiment.domain.markup import MAX_CHARACTERS, Alternation, Plain, parse, render

OPENING = (
    "Sleep matters to every animal. Little is known of its causes. We watched them for a year. "
)
TODAY = date(2026, 11, 22)
FOUND = {
    "same_look": [
        "They [[r\u00e9duit, re\u0301duit]] it.",
        "They were [[raised\u00a0by, raised by]] it.",
        "They were [[raised  by | raised by]] it.",
        "They [[\ufb01xed, fixed]] it.",
        "The [[CA1, \u0421\u04101]] fired.",  # Cyrillic
        "It took [[3\u20135 | 3-5]] days.",
        'It was [[\u201cgood\u201d, "good"]] there.',
        "It was [[10 \u00b5m, 10 \u03bcm]] long.",
    ],
    "hidden_difference": [
        "The [[na\u00efve rats, nai\u0308ve mice]] slept.",
        "It [[rose in 3\u00a0days | fell in 3 days]] there.",
        "It took [[1\u20132 | 4-5]] days.",
    ],
    "single_brackets": [
        "Recall [reduced, increased] in [[rats, mice]].",
        "Recall [was higher | was lower] in [[rats, mice]].",
        "Cells of the [VTA, PFC] fired in [[rats, mice]].",
        "Recall [rose by 20%, fell by 20%] in [[rats, mice]].",
        "[Increased, Reduced] recall was seen in [[rats, mice]].",
    ],
    "article": [
        "There was a [[rise, increase]] in it.",
        "There was [[an increase, an decrease]] in it.",
        "There was [[a, an]] increase in it.",
        "It was [[an excitatory, a inhibitory]] cell.",
    ],
    "sentence_start": [
        "[[In contrast | we did not find]] evidence.",
        "[[They slept well | they ran]] at night.",
    ],
    "sentence_end": ["They [[slept. | ran]] It was night."],
    "cut_passage": [
        "However, [[Cav2 | but not Cav3]], currents rose.",
        "They [[slept, | ran]] at night.",
    ],
    "contradiction": [
        "Cells of the [[VTA, SNc]] fired. Thus the [[VTA, PFC]] matters.",
        # The conclusion was changed to agree with what it now contradicts
        "Spindle density in old rats [[rose, fell]]. Thus spindle density in old rats is [[higher, even higher]].",
    ],
    "number": [
        "It took [[1 s | 1000 ms]] there.",
        "It took [[1,000 | 1000]] steps.",
        "It was [[0.50 | 0.5]] there.",
        "They had [[three | 3]] legs.",
        "It was [[50% | 50 percent]] there.",
        "It took [[100 | 104]] days.",
        "They (n = [[12 | 40]]) slept.",
        "They ([[n = 12 | n = 40]]) slept.",
        "It fell (p < [[0.01 | 0.001]]) there.",
        "It fell ([[p = .03 | p = .01]]) there.",
    ],
    "whole_sentence": [
        "[[The old rats slept through the night | The old rats ran through the night]]. It was warm."
    ],
    "trivial_verb": [
        "The results [[suggest, indicate]] it. The [[VTA, SNc]] fired.",
        "We [[found, have shown]] that the [[VTA, SNc]] fired.",
    ],
    "only_verbs": [
        "Spindles [[increased, decreased]].",
        "Spindles [[can, cannot]] be seen. They [[enhance, impair]] recall.",
    ],
}
NOT_FOUND = {
    "same_look hidden_difference": [
        "It was [[10\u00b2, 102]] there.",
        "It was [[x\u00b2, x\u2082]] there.",
        "The [[\u03b2, B]] cells fired.",
        "They [[slept, ran]] for 3\u00a0\u201cdays\u201d.",
        "The [[na\u00efve rats, na\u00efve mice]] slept.",
    ],
    "single_brackets": [
        f"It was so {bracket} in [[rats, mice]]."
        for bracket in (
            "[12]",
            "[12, 13]",
            "[sic]",
            "[1.2, 3.4]",
            "[95% CI, 1.2 to 3.4]",
            "[OR, 1.2]",
            "[mean, range]",
            "[SD, SEM]",
            "[Smith, 2010]",
            "[Smith et al., Jones et al.]",
            "[functional magnetic resonance imaging, fMRI]",
            "[e.g., the hippocampus]",
            "[rats, but not mice]",
            "[rats, mice, voles]",
            "[5 mg, 10 mg]",
            "[12 women, 14 men]",
            "[Na+, K+]",
            "[p < .05, n = 12]",
            "[see Methods, Table]",
        )
    ]
    + ["The chance P[rain | clouds] and arrays a[rows, columns] [[rose, fell]]."],
    "article": [
        "There was [[an increase, a decrease]] in it.",
        "There was a [[uniform, European]] shape in it.",
        "It took an [[hour, 8-week course]] or so.",
        "We used an [[MRI, fMRI]] scan.",
        "We saw a apple, which [[slept, ran]] away.",  # not near: typed so by the authors
        "Group A [[increased, decreased]] at 3 a.m. in it.",
    ],
    "sentence_start sentence_end cut_passage": [
        "[[Rats, Mice]] slept.",
        "[[p53, p21]] was found.",
        "[[mRNA, DNA]] was found.",
        "They [[slept, ran]]. It was night.",
        "They [[slept at night., ran at noon.]] It was warm.",
        "They slept [[and, but]] ate.",
        "They saw [[Purkinje cells, interneurons]] there.",
    ],
    "contradiction": [
        "Cells of the [[VTA, SNc]] fired. Thus the [[VTA, SNc]] matters.",
        # Exchanged, as is usual
        "Cells of the [[VTA, SNc]] fired, those of the [[SNc, VTA]] did not.",
        "Spindle density in old rats [[increased, decreased]]. Thus spindle density in old rats is [[higher, lower]].",
        # Not about the same
        "Spindle density [[increased, decreased]]. Heart rate at noon was [[higher, even higher]].",
        # No name: one word may be altered differently in two places
        "They [[slept, ran]] at night and [[slept, ate]] at noon.",
    ],
    "number": [
        "It took [[1 s | 1000 s]] there.",
        "It took [[100 | 500]] days.",
        "It fell (p = [[0.01 | 0.2]]) there.",
        "They had [[three | four]] legs.",
        "It took [[100 days | 100 weeks]] there.",
        "It was at [[3 Hz | 3 kHz]] there.",
        "It was in [[layer 5 | layer 2]] there.",
        "They [[slept | ran]] there.",
    ],
    "whole_sentence": [
        "[[Memory got worse in every group | No effect on recall could be seen]]. It was warm.",
        "The old rats [[slept | ran]] through the night.",
    ],
    "trivial_verb": ["The results [[suggest, do not suggest]] it."],
    "only_verbs": [
        "Spindles [[increased, decreased]] in the [[VTA, SNc]].",
        "Spindles were [[higher, lower]].",
        "[[Sleepy, Alert]] rats slept.",
    ],
    "decodable": [
        # Changed everywhere
        "The [[VTA, SNc]] fired. Thus cells of the [[VTA, SNc]] drive waking.",
        # Both stand elsewhere: either version may be the one that fits
        "The VTA and the SNc were recorded. The [[VTA, SNc]] fired.",
        # More of something else
        "Spindles were [[increased, decreased]]. Heart rate increased after lunch.",
        # In both passages
        "They saw [[VTA cells, VTA axons]]. The VTA mattered.",
        # Words that say nothing
        "They slept [[with, without]] food. They ate with spoons.",
    ],
}


def found(text: str, code: str) -> list[Finding]:
    """The findings of one check in these sentences, which stand behind an opening."""
    return [each for each in check_item(parse(OPENING + text)) if each.code == code]


def cases(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(codes, text) for codes, texts in table.items() for text in texts]


@pytest.mark.parametrize(("code", "text"), cases(FOUND))
def test_each_check_finds_its_faults(code: str, text: str) -> None:
    assert found(text, code)


@pytest.mark.parametrize(("codes", "text"), cases(NOT_FOUND))
def test_no_check_objects_to_sound_texts(codes: str, text: str) -> None:
    assert not [code for code in codes.split() if found(text, code)]


@pytest.mark.parametrize(
    ("article", "words"),
    [
        ("a", "unimodal unidirectional one-way hippocampal 180-day 110 PET"),
        ("an", "unimpaired uninformed unidentified honest 18-month 11 8 EEG"),
        ("", "SNARE mRNA X-ray \N{GREEK SMALL LETTER ALPHA}-wave"),
    ],
)
def test_sounds_decide_on_an_article_and_doubt_says_nothing(article: str, words: str) -> None:
    assert [article_of(word) for word in words.split()] == [article] * len(words.split())


@pytest.mark.parametrize(
    ("code", "text", "version", "quote"),
    [
        ("article", "It was a [[rise, increase]] here.", "altered", "a increase"),
        ("decodable", "The [[VTA, SNc]] fired. Thus the VTA drives it.", "original", "VTA"),
        (
            "decodable",
            "Spindles in sleeping rats were [[increased, decreased]]. The increase of spindles in rats was large.",
            "original",
            "increase",
        ),
        (
            "decodable",
            "Coupling of ripples [[inhibited, excited]] cells. The inhibition of cells by ripples was short.",
            "original",
            "inhibition",
        ),
    ],
)
def test_the_place_of_a_finding_is_that_of_the_version(
    code: str, text: str, version: str, quote: str
) -> None:
    (finding,) = found(text, code)
    assert finding.place is not None
    assert (finding.place.text, finding.quote) == (version, quote)
    stands = getattr(parse(OPENING + text), version)
    assert stands[finding.place.start : finding.place.end] == quote
    if code == "decodable":  # elsewhere, not in the passage
        assert finding.place.start > stands.index(".", len(OPENING))


WHOLE = "Rats [[slept, ran]] at night."
OTHERS = {
    "markup": "Rats [[slept.",
    "control_character": "Rats\x07 [[slept, ran]].",
    "bidi_control": "Rats\u202e [[slept, ran]].",
    "zero_width": "Rats\ufe0f [[slept, ran]].",
    "private_use": "Rats\ue000 [[slept, ran]].",
    "not_a_character": "Rats\ufffd [[slept, ran]].",
    "too_many_characters": "x" * (MAX_CHARACTERS + 1),
    "too_many_tokens": "rats " * 1023 + "[[slept, ran]]!",
    "maybe_too_many_tokens": "hippocampal thalamocortical " * 250 + "[[slept, ran]].",
    "length": WHOLE,
    "doubled_punctuation": "Rats [[slept, ran]]..",
    "spacing": "Rats  [[slept, ran]].",
    "brackets": "Rats] [[slept, ran]].",
    "lopsided": f"Rats [[slept, {'ran all over the place ' * 3}]].",
    "case_only": "Rats [[slept, Slept]].",
    "long_passages": f"Rats [[{'slept ' * 40}, {'rested ' * 40}]].",
    "edited_opening": "Rats [[slept, ran]]. It was night. It was warm.",
    "decodable": "We recorded. Activity was in the [[amygdala, insula]]. So amygdala activity matters.",
    **dict.fromkeys(("equal_original", "near_original", "doi_form", "date"), WHOLE),
}
NEAR = {
    "equal_original": "Rats slept at night.",
    "near_original": "Rats slept at noon.",
}


def test_every_check_says_in_words_what_it_found_and_why_it_matters() -> None:
    page = (Path(__file__).parents[3] / "docs" / "test-cases.md").read_text()
    codes = re.findall(r"^\| `(\w+)` \| (?:error|warning) \|", page, re.M)
    texts = OTHERS | {code: OPENING + texts[0] for code, texts in FOUND.items()}
    assert set(codes) == set(texts)
    facts = Facts("sleep", "sleep-1", doi="10", publication_date=date(1600, 1, 1))
    for code, text in texts.items():
        others = [Other("sleep-2", "human", "", NEAR[code])] if code in NEAR else []
        about = [f for f in check_text(text, facts, TODAY, others) if f.code == code]
        assert about, code
        for finding in about:
            assert len(finding.message.split()) >= 2, code
            assert re.fullmatch(r"[A-Z“].*[.!?]", finding.reason), (code, finding.reason)


SIDE = st.text("abcXY12 -", min_size=1, max_size=12).map(str.strip).filter(bool)


@given(st.lists(st.tuples(st.text("abXY1. ", max_size=20), SIDE, SIDE), min_size=1, max_size=5))
def test_the_quote_is_always_what_stands_at_the_place(parts: list[tuple[str, str, str]]) -> None:
    segments = [
        segment
        for plain, original, altered in parts
        if original != altered
        for segment in (Plain(f"{plain} "), Alternation(original, altered))
    ]
    if not segments:
        return
    abstract = parse(render(segments))
    for finding in check_leaks(abstract):
        assert finding.place is not None
        assert abstract.original[finding.place.start : finding.place.end] == finding.quote


@pytest.mark.parametrize(("between", "is_found"), [(0, True), (MOST_ALTERNATIONS, False)])
def test_only_the_first_of_very_many_alternations_are_compared(
    between: int, is_found: bool
) -> None:
    rest = "Rats [[slept, ran]] there. " * between
    text = f"Cells of the [[VTA, PFC]] fired. {rest}So the [[VTA, NAc]] matters."
    assert bool(list(check_contradictions(parse(text)))) is is_found


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        (OPENING.replace("causes", "[[causes, effects]]"), ["causes | effects"]),
        (OPENING.replace("year", "[[year, day]]") + "They slept.", []),  # the third sentence
        ("Rats were watched. They [[slept, ran]].", []),  # without background
    ],
)
def test_an_edit_in_the_first_two_sentences_is_found(text: str, quotes: list[str]) -> None:
    assert [f.quote for f in check_item(parse(text)) if f.code == "edited_opening"] == quotes


def test_a_sentence_whose_words_stay_is_counted() -> None:
    text = "[[The old rats slept through the night. | The old rats slept through the day.]] It was warm."
    (finding,) = found(text, "whole_sentence")
    assert "6 of 7" in finding.message


@pytest.mark.parametrize(
    ("code", "chars"),
    [
        ("control_character", "\x00\x1b\x85"),
        ("bidi_control", "\u202e\u2066"),
        ("zero_width", "\u200b\ufeff\u00ad\U000e0041"),
        ("private_use", "\ue000"),
        ("not_a_character", "\ud800"),
    ],
)
def test_an_unseen_character_is_an_error_with_its_place(code: str, chars: str) -> None:
    for char in chars:
        (finding,) = check_characters(f"Rats\n[[slept, r{char}n]].")
        assert (finding.code, finding.level) == (code, Level.ERROR)
        assert finding.place is not None
        assert (finding.place.text, finding.place.start) == ("markup", 15)
        assert "line 2, column 11" in finding.message
        assert char not in finding.message + finding.quote  # shown by name, never as itself
        assert finding.key.encode()


def test_letters_of_many_scripts_are_no_findings_and_many_findings_are_few() -> None:
    assert not list(check_characters("β-catenin, 5 µm ± 0.3\t≥ 4 °C\r\nnaïve 神经 नमस्ते עברית"))
    findings = list(check_characters("a\u200b" * 900))
    assert len(findings) == MAX_SHOWN
    assert "900 such" in findings[0].message
    (finding,) = check_characters("x\n" * MAX_CHARACTERS)
    assert finding.code == "too_many_characters"
    assert "line 10001, column 1" in finding.message


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=200))
def test_text_that_utf8_can_encode_is_storable(text: str) -> None:
    assert unstorable(text) == ""


@pytest.mark.parametrize("text", ["a\x00", "a\ud800", "a" * (MAX_CHARACTERS + 1)])
def test_characters_that_no_database_stores_are_named(text: str) -> None:
    assert "line 1, column" in unstorable(text)


def test_far_too_long_is_an_error_nearly_too_long_a_warning_and_an_abstract_neither() -> None:
    words = "The hippocampal theta rhythm was (n = 12) significantly increased by 3.5% during REM sleep. "

    def codes(n: int) -> list[str]:
        return [f.code for f in check_tokens(parse(words * n + "They [[slept, ran]]."))]

    assert codes(10) == []
    assert codes(60) == ["too_many_tokens"]
    n = next(n for n in range(10, 60) if codes(n))
    assert codes(n) == ["maybe_too_many_tokens"]


GOOD_DOIS = (
    *("10.1523/JNEUROSCI.0772-22.2022", "10.1000.10/123;x", ""),
    "10.1002/(SICI)1097-4679(199911)55:11<1>2.0.CO;2-A",
)
WRONG_DOIS = (
    *("https://doi.org/10.1/x", "10.1/x", "10.1234", "10.1234/", "10.1234/a b", "doi", "x" * 99),
)
RECORDS: list[tuple[str, tuple[Any, ...], list[str]]] = [
    ("doi", GOOD_DOIS, []),
    ("doi", WRONG_DOIS, ["doi_form"]),
    # Between the first journal and today
    ("publication_date", (date(1665, 1, 5), TODAY, None), []),
    ("publication_date", (date(1664, 12, 31), date(2026, 11, 23)), ["date"]),
]


@pytest.mark.parametrize(("name", "values", "codes"), RECORDS)
def test_a_doi_and_a_date_that_cannot_be_right_are_errors(
    name: str, values: tuple[Any, ...], codes: list[str]
) -> None:
    for value in values:
        assert [f.code for f in check_record(Facts("f", **{name: value}), TODAY)] == codes, value


TEXT = "Sleep matters to every animal. Little is known of its causes. Rats slept through the night."


def like(*others: Other) -> list[Finding]:
    facts = Facts("sleep", key="sleep-1", doi="10.1234/A", source="human")
    return list(check_others(TEXT, facts, others))


def test_an_equal_and_a_near_original_are_found_the_equal_first() -> None:
    near = Other("sleep-3", "human", "", TEXT.replace("night", "day"))
    equal = Other("sleep-2", "machine", "10.1234/a", TEXT.upper().replace(". ", ".\n"))
    findings = like(near, equal)
    assert [(f.code, f.quote) for f in findings] == [
        ("equal_original", "sleep-2"),
        ("near_original", "sleep-3"),
    ]
    assert findings[0].message.endswith("the same DOI and is of the other source")
    assert not like(Other("sleep-2", "human", "10.1234/A", "Mice ran at noon, unseen."))
    assert not like(Other("sleep-1", "human", "10.1234/A", TEXT))  # another version of it


def test_versions_of_one_item_are_named_once_and_many_items_are_not_all_named() -> None:
    assert len(like(Other("a", "human", "", TEXT), Other("a", "human", "", TEXT + "!"))) == 1
    assert len(like(*(Other(str(n), "human", "", TEXT) for n in range(9)))) == form.MAX_SHOWN


@given(st.text())
def test_probes_stand_in_the_text_as_written(text: str) -> None:
    runs = probes(text)
    assert len(runs) <= N_PROBES
    assert all(run in text and run.strip() for run in runs)
    assert bool(runs) == bool(text.strip())
