import csv
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.domain.markup import Abstract, Alternation, Plain, parse
from experiment.imports.read.repair import as_published
from lib.sentences import sentence_spans
from scoring.domain.conditions import ConditionError, ConditionItem, sentences, text_pairs

PUBLISHED_ITEMS = "brainbench_results/testcases/BrainBench_Human_v0.1.csv"
PUBLISHED_SENTENCES = "brainbench_results/data/swap_human_abstracts.json"

# Texts in which sentences begin and end everywhere, also inside passages.
WORDS = st.sampled_from(
    [
        "Rats",
        "slept",
        "et al.",
        "p < 0.05",
        "(n = 3)",
        "the SC",
        "\u03b2\u0301",
        "\U0001d6fd",
        "U.S.",
        "2.4 h",
        "…",
    ]
)
ENDS = st.sampled_from([" ", ". ", ".", "? ", "!\n", ".\n\n", "\u00a0", ": "])
PROSE = st.lists(st.tuples(WORDS, ENDS), min_size=1, max_size=5).map(
    lambda pairs: "".join(word + end for word, end in pairs)
)
PASSAGE = PROSE.map(lambda text: text.strip(" \t\r\n"))
ALTERNATION = (
    st.tuples(PASSAGE, PASSAGE).filter(lambda p: p[0] != p[1]).map(lambda p: Alternation(*p))
)


@st.composite
def abstracts(draw):
    segments = []
    for alternation in draw(st.lists(ALTERNATION, min_size=1, max_size=4)):
        segments += [Plain(text) for text in draw(st.lists(PROSE, max_size=1))]
        segments.append(alternation)
    return Abstract((*segments, *(Plain(text) for text in draw(st.lists(PROSE, max_size=1)))))


def item(markup, key="a", subfield="Cells", work=None):
    return ConditionItem(key, subfield, work or key, parse(markup))


def only(condition, *items, seed=None):
    pairs, problems = text_pairs(condition, items, seed)
    assert problems == []
    return pairs


def marked_passages(text):
    return [text.text[start:end] for start, end in text.spans]


def texts(condition, markup):
    return [(pair.original.text, pair.altered.text) for pair in only(condition, item(markup))]


@pytest.fixture(scope="module")
def published(shared_dir):
    with open(shared_dir / PUBLISHED_ITEMS, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        ConditionItem(
            f"{n:03}",
            row["journal_section"],
            row["doi"],
            Abstract(as_published(row["combined_abstract"])),
        )
        for n, row in enumerate(rows)
    ]


@given(abstracts())
@settings(max_examples=100, deadline=None)
def test_sentences_hold_every_alternation_once_and_lose_nothing(abstract):
    units = sentences(abstract)
    for name in ("original", "altered"):
        versions = [getattr(unit, name) for unit in units]
        passages = [passage for text in versions for passage in marked_passages(text)]
        assert passages == [getattr(a, name) for a in abstract.alternations]
        joined = "".join(text.text + unit.after for text, unit in zip(versions, units, strict=True))
        assert joined.strip(" \t\r\n") == getattr(abstract, name).strip(" \t\r\n")


@given(st.lists(abstracts(), min_size=3, max_size=4), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_the_two_versions_of_every_text_differ_exactly_in_their_spans(drawn, seed):
    items = [ConditionItem(f"i{n}", "", f"w{n}", abstract) for n, abstract in enumerate(drawn)]
    pairs = [*text_pairs("full", items)[0], *text_pairs("isolated", items)[0]]
    pairs += text_pairs("swapped", items, seed)[0]
    for pair in pairs:
        rebuilt, at = "", 0
        passages = marked_passages(pair.altered)
        for (start, end), passage in zip(pair.original.spans, passages, strict=True):
            rebuilt += pair.original.text[at:start] + passage
            at = end
        assert rebuilt + pair.original.text[at:] == pair.altered.text
        assert all(passages)


def test_a_full_text_is_both_versions_with_every_passage_marked():
    (pair,) = only("full", item(" Rats [[slept, ran]] and [[ate, fasted]]. "))
    assert (pair.item_key, pair.unit) == ("a", 0)
    assert pair.original.text == " Rats slept and ate. "
    assert marked_passages(pair.original) == ["slept", "ate"]
    assert marked_passages(pair.altered) == ["ran", "fasted"]


def test_sentences_without_an_alternation_are_left_out_and_the_others_keep_their_number():
    pairs = only("isolated", item("One. Two [[rose, fell]]. Three. Four [[fell, rose]]!"))
    assert [(pair.unit, pair.original.text) for pair in pairs] == [
        (1, "Two rose."),
        (3, "Four fell!"),
    ]


def test_a_passage_that_holds_a_full_stop_is_not_cut():
    markup = "So. It [[rose. Then it fell | fell. Then it rose]] again. The end."
    assert texts("isolated", markup) == [
        ("It rose. Then it fell again.", "It fell. Then it rose again.")
    ]


def test_a_passage_that_ends_a_sentence_in_one_version_only_joins_it_with_the_next():
    markup = "It [[rose. | rose,]] [[The | while the]] rats slept. So."
    assert texts("isolated", markup) == [
        ("It rose. The rats slept.", "It rose, while the rats slept.")
    ]


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("Axons reached the SC. Together, they glowed.", 2),  # not South Carolina
        ("Those who slept <6 h were fit. Others (n = 3) were not.", 2),  # no bracket opens
        ("It fell (Ada et al., 2021). It rose.", 2),
        ("It rose (Fig. 2. See there.) and fell. So.", 2),  # what a bracket holds stays together
    ],
)
def test_sentences_of_scientific_prose_are_told_apart(text, n):
    assert len(sentence_spans(text)) == n


def test_published_items_give_the_published_isolated_sentences(published, shared_dir):
    pairs = only("isolated", *published)
    assert len(pairs) == 488
    of_items = json.loads((shared_dir / PUBLISHED_SENTENCES).read_text(encoding="utf-8"))
    theirs = {
        f"{int(n):03}": list(zip(found["original"], found["incorrect"], strict=True))
        for subfield in of_items.values()
        for n, found in subfield.items()
    }
    ours = {
        own.key: [(p.original.text, p.altered.text) for p in pairs if p.item_key == own.key]
        for own in published
    }
    assert ours == theirs


def test_swapped_texts_keep_the_context_and_take_results_of_distinct_works(published):
    work_of = {}
    for own in published:
        for unit in sentences(own.abstract):
            if unit.is_result:
                work_of[unit.original.text, unit.altered.text] = own.work
    subfield_of = {own.work: own.subfield for own in published}
    for own, pair in zip(published, only("swapped", *published, seed=42), strict=True):
        units = sentences(own.abstract)
        at = [0, 0]
        sources = []
        for unit in units:
            taken = (unit.original.text, unit.altered.text)
            if unit.is_result:
                fitting = [
                    texts
                    for texts in work_of
                    if pair.original.text.startswith(texts[0], at[0])
                    and pair.altered.text.startswith(texts[1], at[1])
                ]
                taken = max(fitting, key=lambda texts: len(texts[0]))
                sources.append(work_of[taken])
            assert pair.original.text.startswith(taken[0], at[0])
            assert pair.altered.text.startswith(taken[1], at[1])
            after = len(unit.after) if unit is not units[-1] else 0
            at = [at[0] + len(taken[0]) + after, at[1] + len(taken[1]) + after]
        assert at == [len(pair.original.text), len(pair.altered.text)]
        assert len(sources) == len(set(sources)) == sum(unit.is_result for unit in units)
        assert own.work not in sources
        assert {subfield_of[work] for work in sources} == {own.subfield}


def swapped_text(seed, *items):
    return text_pairs("swapped", items, seed)[0][0].original.text


def test_swaps_follow_the_seed_and_not_the_order_of_the_items():
    own = item("Before. Rats [[slept, ran]]. After.", "own")
    others = [item(f"Mouse {n} [[rose, fell]].", f"other-{n}") for n in range(30)]
    assert swapped_text(1, own, *others) == swapped_text(1, own, *reversed(others))
    assert len({swapped_text(seed, own, *others) for seed in range(9)}) > 1
    assert swapped_text(1, own, *others).startswith("Before. Mouse ")


def test_swapped_sentences_stand_in_both_versions_with_their_passages():
    own = item("Before.\n Rats [[slept, ran]].  After.", "own")
    pair = text_pairs("swapped", [own, item("So. Mice [[rose, fell]]!", "b")], 1)[0][0]
    assert pair.original.text == "Before.\n Mice rose!  After."
    assert pair.altered.text == "Before.\n Mice fell!  After."
    assert (marked_passages(pair.original), marked_passages(pair.altered)) == (["rose"], ["fell"])


def test_an_item_without_enough_partners_is_named_and_the_rest_goes_on():
    items = [
        item("Rats [[slept, ran]].", "a1"),
        item("Mice [[slept, ran]]. Mice [[rose, fell]].", "a2"),
        item("Flies [[slept, ran]].", "b1", subfield="Circuits"),
        item("Cats [[slept, ran]].", "a1-again", work="a1"),
    ]
    pairs, problems = text_pairs("swapped", items, 7)
    assert [pair.item_key for pair in pairs] == ["a1", "a1-again"]
    assert {pair.original.text for pair in pairs} <= {"Mice slept.", "Mice rose."}
    assert {problem.item_key: problem.reason for problem in problems} == {
        "a2": "needs 2 results of other works of “Cells” to swap in, one each; there is 1",
        "b1": "needs 1 result of another work of “Circuits” to swap in; there is none",
    }


def test_an_unknown_condition_and_swaps_without_a_seed_are_refused():
    with pytest.raises(ConditionError, match="“shuffled” is not a condition"):
        text_pairs("shuffled", [])
    with pytest.raises(ConditionError, match="Give a seed"):
        text_pairs("swapped", [])
