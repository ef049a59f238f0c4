"""Tokenizers by folder or name: what is loaded, what is refused, and what their hash goes by."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.completions.models import make_tokenizer
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.tokenizers import load_tokenizer, tokenizer_hash
from scoring.domain.backend import ScoringError
from scoring.domain.conditions import MarkedText
from scoring.domain.encoding import encode
from scoring.domain.prompts import Prompt
from tests.scoring import tokenizers_made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("tokenizer"), list(SENTENCES))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub behind a port without a listener."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


def refusal(path_or_name: str, revision: str | None = None) -> str:
    with pytest.raises(ScoringError) as raised:
        load_tokenizer(path_or_name, revision)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("name", ["/no/such/folder", "a b"])
def test_a_folder_that_is_not_there_is_named(name: str) -> None:
    assert refusal(name) == f"There is no folder “{name}” with a tokenizer."


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("revision", [None, "main"])
def test_without_a_network_a_name_ends_in_one_sentence_at_once(revision: str | None) -> None:
    sentence = refusal("nobody/no-such-tokenizer", revision)
    assert sentence.startswith("There is no folder “nobody/no-such-tokenizer”")
    assert "the Hub cannot be reached and no copy is stored" in sentence


def test_an_empty_folder_and_a_model_without_tokenizer_hold_none(tmp_path: Path) -> None:
    """Beside a configuration, transformers makes an empty one up, to which every text is nothing."""
    for _ in range(2):
        sentence = f"The folder {tmp_path} does not contain a tokenizer (tokenizer.json)."
        assert refusal(str(tmp_path)) == sentence
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))


@pytest.mark.parametrize("damage", ["{", "[]"])
def test_a_damaged_file_cannot_be_read(folder: Path, tmp_path: Path, damage: str) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "tokenizer.json").write_text(damage)
    assert f"The tokenizer in {tmp_path} cannot be read: " in refusal(str(tmp_path))


def test_a_tokenizer_that_brings_code_is_refused_and_its_code_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (tmp_path / "tokenization_own.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    auto_map = {"AutoTokenizer": ["tokenization_own.OwnTokenizer", None]}
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "OwnTokenizer", "auto_map": auto_map})
    )
    assert "this site never runs code that comes with a model" in refusal(str(tmp_path))
    assert not mark.exists()


class TestTheStartToken:
    """`add_bos_token`: added once, or not at all, whatever the tokenizer does of its own accord."""

    @pytest.fixture(
        params=[
            "byte_level",
            "trimming_byte_level",
            "llama_like",
            "ending",
            "ending_llama",
            "unigram",
        ]
    )
    def saved(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        made = getattr(tokenizers_made, request.param)()
        made.bos_token = made.bos_token or made.convert_ids_to_tokens(0)
        made.save_pretrained(tmp_path)
        return tmp_path

    @pytest.mark.parametrize("kind", ["none", "paper", "clean"])
    def test_is_added_once_or_not_at_all_and_the_text_is_read_alike(
        self, saved: Path, kind: str
    ) -> None:
        text = MarkedText("Rats slept — β rose by 12%.", ())
        kinds = {wish: load_tokenizer(str(saved), add_bos_token=wish) for wish in (True, False)}
        read = {wish: encode(made, Prompt.of(kind), text) for wish, made in kinds.items()}
        start = kinds[True].bos_token_id
        assert read[True].ids.tolist() == [start, *read[False].ids.tolist()]
        assert read[True].ids.tolist().count(start) == 1
        assert not read[True].in_text[0]
        assert read[True].in_text[1:].tolist() == read[False].in_text.tolist()
        as_it_is = encode(load_tokenizer(str(saved)), Prompt.of(kind), text)
        assert as_it_is.ids.tolist() in [found.ids.tolist() for found in read.values()]


class TestTheHash:
    """Over rules, vocabulary, special tokens and chat template; nothing passing."""

    def test_is_the_same_for_the_same_files_elsewhere(self, folder: Path, tmp_path: Path) -> None:
        load_tokenizer(str(folder)).save_pretrained(tmp_path)
        one, other = load_tokenizer(str(folder)), load_tokenizer(str(tmp_path))
        assert tokenizer_hash(one) == tokenizer_hash(other)
        assert len(tokenizer_hash(one)) == 64

    @pytest.mark.parametrize("change", ["vocabulary", "special token", "chat template"])
    def test_moves_with_what_decides_ids(self, folder: Path, change: str) -> None:
        def changed() -> Any:
            tokenizer = load_tokenizer(str(folder))
            if change == "vocabulary":
                tokenizer.add_tokens(["hippocampus"])
            elif change == "special token":
                tokenizer.bos_token = "<|endoftext|>"
            else:
                tokenizer.chat_template = "{{ messages }}"
            return tokenizer

        assert tokenizer_hash(changed()) != tokenizer_hash(load_tokenizer(str(folder)))
