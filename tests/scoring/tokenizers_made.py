"""Tokenizers of the kinds that language models come with, small and trained on the spot."""

import json
from pathlib import Path

import numpy as np
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from scoring.demo_lm import MODEL_FOLDER

PROSE = [
    "Rats slept for two hours after training, and their place cells fired again.",
    "The response of the neurons rose by 12% in mice that had learned the task.",
    "You are a scientist. Here is an abstract from a publication:",
] * 20


def gpt2(shared_dir: Path) -> PreTrainedTokenizerFast:
    """The real one: bytes, and a start token that it has but never adds."""
    return AutoTokenizer.from_pretrained(shared_dir / "tokenizers" / "gpt2")


def byte_level(*, trim_offsets: bool = False, **special: str) -> PreTrainedTokenizerFast:
    """Bytes, without any start token unless asked for; some models' tokenizers trim the spaces off their offsets."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        PROSE, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    )
    made.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
    return PreTrainedTokenizerFast(tokenizer_object=made, **special)


def trimming_byte_level() -> PreTrainedTokenizerFast:
    return byte_level(trim_offsets=True)


def llama_like(prepend: str = "first") -> PreTrainedTokenizerFast:
    """Word marks, unknown characters as bytes, and `<s>` added in front."""
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend, split=False)
    made.decoder = decoders.Metaspace(prepend_scheme=prepend)
    special = ["<unk>", "<s>", "</s>"]
    bytes_ = [f"<0x{n:02X}>" for n in range(256)]
    made.train_from_iterator(
        PROSE,
        trainers.BpeTrainer(vocab_size=600, special_tokens=special + bytes_, show_progress=False),
    )
    # A published tokenizer's bytes are ordinary entries; the trainer knows only special ones
    made = _without_added(made, bytes_)
    made.post_processor = _template("<s> $A", made, "<s>")
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def ending() -> PreTrainedTokenizerFast:
    """Bytes, no start token, and `</s>` added behind."""
    made = byte_level(eos_token="</s>")
    made.backend_tokenizer.post_processor = _template("$A </s>", made.backend_tokenizer, "</s>")
    return made


def ending_llama() -> PreTrainedTokenizerFast:
    """`<s>` in front and `</s>` behind, as a Llama's tokenizer with `add_eos_token`."""
    made = llama_like()
    made.backend_tokenizer.post_processor = _template(
        "<s> $A </s>", made.backend_tokenizer, "<s>", "</s>"
    )
    return made


def unigram() -> PreTrainedTokenizerFast:
    """Word marks and compatibility forms, `<s>` in front and `</s>` behind."""
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.train_from_iterator(
        PROSE,
        trainers.UnigramTrainer(
            vocab_size=300,
            special_tokens=["<unk>", "<s>", "</s>"],
            unk_token="<unk>",
            show_progress=False,
        ),
    )
    made.post_processor = _template("<s> $A </s>", made, "<s>", "</s>")
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def wordpiece() -> PreTrainedTokenizerFast:
    """Lower case, no token for a space, `[CLS]` in front, `[SEP]` behind, and token_type_ids."""
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    made.train_from_iterator(
        PROSE,
        trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False),
    )
    made.post_processor = _template("[CLS] $A [SEP]", made, "[CLS]", "[SEP]")
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        pad_token="[PAD]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )


def save_shuffled_demo(folder: Path) -> Path:
    """The demonstration model's tokenizer with its tokens' ids dealt out anew: as many of them; its folder."""
    AutoTokenizer.from_pretrained(MODEL_FOLDER).save_pretrained(folder)
    state = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = state["model"]["vocab"]
    special = {token["content"] for token in state["added_tokens"]}
    names = [name for name in vocabulary if name not in special]
    ids = np.random.default_rng(0).permutation([vocabulary[name] for name in names]).tolist()
    state["model"]["vocab"] = vocabulary | dict(zip(names, ids, strict=True))
    (folder / "tokenizer.json").write_text(json.dumps(state))
    return folder


def _template(single: str, made: Tokenizer, *special: str) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(
        single=single, special_tokens=[(name, made.token_to_id(name)) for name in special]
    )


def _without_added(made: Tokenizer, names: list[str]) -> Tokenizer:
    state = json.loads(made.to_str())
    state["added_tokens"] = [t for t in state["added_tokens"] if t["content"] not in names]
    return Tokenizer.from_str(json.dumps(state))
