"""The demonstration model's corpus: tidy, of all subfields, and clear of the items that the model will be given."""

import re
from collections import Counter

import pytest

from experiment.domain.markup import parse
from experiment.services.item_choice import read_items
from scoring.demo_lm.corpus import LITERATURE_DIR, corpus_sha256, read_corpus, split
from tests.scoring.demo_lm.overlap import answers, trespasses, words

SUBFIELDS = {
    "behavioral_cognitive",
    "cellular_molecular",
    "development_plasticity_repair",
    "neurobiology_of_disease",
    "systems_circuits",
}
CORPUS = read_corpus()
PARAGRAPHS = [paragraph.sentences for paragraph in CORPUS]
ITEMS = pytest.mark.parametrize("entry", read_items(), ids=lambda entry: entry["key"])


@ITEMS
def test_corpus_and_literature_hold_no_text_and_no_finding_of_a_demo_item(entry):
    assert trespasses(PARAGRAPHS, entry) == []
    assert trespasses([one.sentences for one in read_corpus(LITERATURE_DIR)], entry) == []


@ITEMS
def test_an_item_slipped_into_the_corpus_would_be_found(entry):
    for smuggled in (entry["finding"], *answers(entry), parse(entry["markup"]).altered):
        assert trespasses([["Neurons are cells.", smuggled]], entry) != []


def test_a_fact_in_other_words_and_a_passage_in_its_place_would_be_found():
    entry = {
        "key": "x",
        "subfield": "",
        "title": "Sleep",
        "finding": "Sleep spindles strengthen motor memories.",
        "markup": "We tested rats. After a nap the rats [[slowed, sped]] on the wheel.",
    }
    assert trespasses([["Memories that are motor: spindles of sleep strengthen those."]], entry)
    assert trespasses([["Old and tired, the rats sped on the way home."]], entry)
    assert trespasses([["Old and tired, the rats sped along on the way home."]], entry) == []


def test_the_corpus_has_a_few_hundred_sentences_of_each_subfield_alike():
    count = Counter()
    for paragraph in CORPUS:
        count[paragraph.subfield] += len(paragraph.sentences)
    assert set(count) == SUBFIELDS
    assert 500 <= count.total() <= 900
    assert min(count.values()) > 0.15 * count.total()


def test_every_line_is_one_whole_sentence_and_none_comes_twice():
    sentences = [sentence for paragraph in PARAGRAPHS for sentence in paragraph]
    assert [s for s in sentences if not re.fullmatch(r"[A-Z][ -~]+[A-Za-z0-9]\.", s)] == []
    assert [s for s in sentences if re.search(r"[.?!] |  ", s)] == []
    assert [s for s, n in Counter(" ".join(words(s)) for s in sentences).items() if n > 1] == []
    assert [p for p in PARAGRAPHS if len(p) < 3] == []


def test_held_out_paragraphs_are_of_every_subfield_and_apart_from_those_trained_on():
    training, held_out = split(CORPUS)
    assert len(training) + len(held_out) == len(CORPUS)
    assert {p.text for p in training}.isdisjoint(p.text for p in held_out)
    assert {p.subfield for p in held_out} == SUBFIELDS
    assert 0.08 < len(held_out) / len(CORPUS) < 0.15


def test_the_corpus_hash_changes_with_a_letter_and_with_a_file_name(tmp_path):
    hashes = set()
    for name, text in (("a.txt", "One."), ("a.txt", "Ono."), ("b.txt", "Ono.")):
        for path in tmp_path.iterdir():
            path.unlink()
        (tmp_path / name).write_text(text)
        hashes.add(corpus_sha256(tmp_path))
    assert len(hashes) == 3
