"""The published language models: what they are called, how large they are, where they come from; what is known of their training.

Plain data. The first fifteen are the paper's, in the order of its tables; the others were scored for its supplements. Sizes are
those that the models are named after. A cut-off of training data that is known to the month is that month's last day. The
paper's Tables S1 and S2 for its four families; model cards for GPT-2 and Phi-3. A tuned model has read what its base had
read, and the tuning's literature of 2002 to 2022.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import MappingProxyType

B = 1_000_000_000
M = 1_000_000

PAPER_SET = "the paper's 15 models"

LLAMA_7B_CHAT = "meta-llama/Llama-2-7b-chat-hf"
MISTRAL_7B = "mistralai/Mistral-7B-v0.1"
PHI_3 = "microsoft/Phi-3-mini-4k-instruct"

TUNED = "Tuned on the neuroscience literature"
SCRATCH = (
    "Trained from scratch only on the neuroscience literature, with a tokenizer of that literature."
)


@dataclass(frozen=True, slots=True)
class CatalogModel:
    """A published model; `base_partner` and `tuned_from` are names of others, or empty."""

    name: str
    display_name: str
    family: str
    n_parameters: int
    is_chat: bool = False
    base_partner: str = ""
    tuned_from: str = ""
    note: str = ""


def folder_of(name: str) -> str:
    """A model's folder among the published results.

    >>> folder_of("org/model-1b")
    'org--model-1b'
    """
    return name.replace("/", "--")


def name_of(folder: str) -> str:
    """The model's name from its folder's.

    >>> name_of("org--model-1b"), name_of("gpt2")
    ('org/model-1b', 'gpt2')
    """
    return folder.replace("--", "/", 1)


def _base(name: str, display_name: str, family: str, n_parameters: int) -> CatalogModel:
    return CatalogModel(name, display_name, family, n_parameters)


def _chat(name: str, display_name: str, base: CatalogModel) -> CatalogModel:
    return CatalogModel(
        name, display_name, base.family, base.n_parameters, is_chat=True, base_partner=base.name
    )


def _mistral(name: str, display_name: str, note: str) -> CatalogModel:
    return CatalogModel(
        name, display_name, "Mistral", 7 * B, tuned_from=MISTRAL_7B, note=f"{TUNED}, {note}."
    )


def _gpt2(name: str, display_name: str, n_parameters: int) -> CatalogModel:
    return CatalogModel(name, display_name, "GPT-2", n_parameters, note=SCRATCH)


_falcon_40b = _base("tiiuae/falcon-40b", "Falcon-40B", "Falcon", 40 * B)
_falcon_180b = _base("tiiuae/falcon-180B", "Falcon-180B", "Falcon", 180 * B)
_llama_7b = _base("meta-llama/Llama-2-7b-hf", "Llama-2-7B", "Llama-2", 7 * B)
_llama_13b = _base("meta-llama/Llama-2-13b-hf", "Llama-2-13B", "Llama-2", 13 * B)
_llama_70b = _base("meta-llama/Llama-2-70b-hf", "Llama-2-70B", "Llama-2", 70 * B)
_mistral_7b = _base(MISTRAL_7B, "Mistral-7B", "Mistral", 7 * B)

PAPER_MODELS: tuple[CatalogModel, ...] = (
    _base("facebook/galactica-6.7b", "Galactica-6.7B", "Galactica", 6_700 * M),
    _base("facebook/galactica-30b", "Galactica-30B", "Galactica", 30 * B),
    _base("facebook/galactica-120b", "Galactica-120B", "Galactica", 120 * B),
    _falcon_40b,
    _chat("tiiuae/falcon-40b-instruct", "Falcon-40B (instruct)", _falcon_40b),
    _falcon_180b,
    _chat("tiiuae/falcon-180B-chat", "Falcon-180B (chat)", _falcon_180b),
    _llama_7b,
    _chat(LLAMA_7B_CHAT, "Llama-2-7B (chat)", _llama_7b),
    _llama_13b,
    _chat("meta-llama/Llama-2-13b-chat-hf", "Llama-2-13B (chat)", _llama_13b),
    _llama_70b,
    _chat("meta-llama/Llama-2-70b-chat-hf", "Llama-2-70B (chat)", _llama_70b),
    _mistral_7b,
    _chat("mistralai/Mistral-7B-Instruct-v0.1", "Mistral-7B (instruct)", _mistral_7b),
)

EXTRA_MODELS: tuple[CatalogModel, ...] = (
    _base("TinyLlama/TinyLlama_v1.1", "TinyLlama-1.1B", "TinyLlama", 1_100 * M),
    CatalogModel(
        "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
        "TinyLlama-1.1B (chat)",
        "TinyLlama",
        1_100 * M,
        is_chat=True,
        note="Tuned from an earlier TinyLlama than version 1.1, so it has no base partner here.",
    ),
    CatalogModel(PHI_3, "Phi-3-3.8B (instruct)", "Phi-3", 3_800 * M, is_chat=True),
    _base("gpt2", "GPT-2-124M", "GPT-2", 124 * M),
    CatalogModel(
        "finetune_gpt2",
        "GPT-2-124M (tuned)",
        "GPT-2",
        124 * M,
        tuned_from="gpt2",
        note=f"{TUNED}, all weights.",
    ),
    _gpt2("gpt2_scratch_neuro_tokenizer", "GPT-2-124M (scratch)", 124 * M),
    _gpt2("gpt2-medium_scratch_neuro_tokenizer", "GPT-2-355M (scratch)", 355 * M),
    _gpt2("gpt2-large_scratch_neuro_tokenizer", "GPT-2-774M (scratch)", 774 * M),
    CatalogModel(
        "finetune_llama2_chat_7b",
        "Llama-2-7B (chat, tuned)",
        "Llama-2",
        7 * B,
        is_chat=True,
        tuned_from=LLAMA_7B_CHAT,
        note=f"{TUNED}.",
    ),
    _mistral("full_finetune_mistral_7b_v01", "Mistral-7B (tuned)", "all weights"),
    _mistral(
        "lora_r16_a32_finetune_mistral_7b_v01", "Mistral-7B (LoRA r=16)", "LoRA, rank 16, alpha 32"
    ),
    _mistral(
        "lora_r32_a64_finetune_mistral_7b_v01", "Mistral-7B (LoRA r=32)", "LoRA, rank 32, alpha 64"
    ),
    _mistral(
        "lora_r256_a512_finetune_mistral_7b_v01",
        "Mistral-7B (LoRA r=256)",
        "LoRA, rank 256, alpha 512: the paper's BrainGPT",
    ),
    CatalogModel(
        "lora_r256_a512_finetune_phi3_mini_4k_instruct",
        "Phi-3-3.8B (instruct, LoRA r=256)",
        "Phi-3",
        3_800 * M,
        is_chat=True,
        tuned_from=PHI_3,
        note=f"{TUNED}, LoRA, rank 256, alpha 512.",
    ),
)

MODELS: dict[str, CatalogModel] = {model.name: model for model in (*PAPER_MODELS, *EXTRA_MODELS)}


LITERATURE = date(2022, 12, 31)
ARXIV_2021, ARXIV_2023 = "arxiv_abstracts_20210601_20211231", "arxiv_abstracts_20230601_20231231"
BIORXIV_2021 = "biorxiv_abstracts_2021-06-01_2021-12-01"
BIORXIV_2023 = "biorxiv_abstracts_2023-06-01_2023-12-01"
GETTYSBURG, REFINEDWEB = "gettysburg_address", "refinedweb"
CORPORA = (REFINEDWEB, ARXIV_2021, ARXIV_2023, BIORXIV_2021, BIORXIV_2023, GETTYSBURG)


class Membership(StrEnum):
    """The place of a corpus in a model's training data; ABSENT: known not to be part of it."""

    KNOWN = "known"
    LIKELY = "likely"
    UNKNOWN = "unknown"
    ABSENT = "absent"


@dataclass(frozen=True)
class TrainingFacts:
    """None where it is not known; `corpora`: the corpora that the paper asks about, by name."""

    cutoff: date | None = None
    released: date | None = None
    corpora: Mapping[str, Membership] = field(default_factory=lambda: MappingProxyType({}))


def _corpora(**known: Membership) -> Mapping[str, Membership]:
    named = {
        "arxiv_2021": ARXIV_2021,
        "arxiv_2023": ARXIV_2023,
        "biorxiv_2021": BIORXIV_2021,
        "biorxiv_2023": BIORXIV_2023,
        "refinedweb": REFINEDWEB,
    }
    every = dict.fromkeys(CORPORA, Membership.UNKNOWN) | {GETTYSBURG: Membership.LIKELY}
    return MappingProxyType(every | {named[name]: status for name, status in known.items()})


_FAMILIES = {
    "Llama-2": TrainingFacts(
        date(2022, 9, 30),
        date(2023, 7, 31),
        _corpora(arxiv_2021=Membership.LIKELY, arxiv_2023=Membership.ABSENT),
    ),
    "Galactica": TrainingFacts(
        date(2022, 7, 31),
        date(2022, 11, 30),
        _corpora(
            arxiv_2021=Membership.KNOWN,
            arxiv_2023=Membership.ABSENT,
            biorxiv_2021=Membership.KNOWN,
            biorxiv_2023=Membership.ABSENT,
        ),
    ),
    "Falcon": TrainingFacts(
        date(2022, 12, 31), date(2023, 5, 31), _corpora(refinedweb=Membership.KNOWN)
    ),
    "Mistral": TrainingFacts(None, date(2023, 9, 30), _corpora()),
}
_OTHERS = {
    "gpt2": TrainingFacts(date(2017, 12, 31), date(2019, 2, 28)),
    "finetune_gpt2": TrainingFacts(LITERATURE),
    "gpt2_scratch_neuro_tokenizer": TrainingFacts(LITERATURE),
    "gpt2-medium_scratch_neuro_tokenizer": TrainingFacts(LITERATURE),
    "gpt2-large_scratch_neuro_tokenizer": TrainingFacts(LITERATURE),
    "finetune_llama2_chat_7b": TrainingFacts(LITERATURE),
    "microsoft/Phi-3-mini-4k-instruct": TrainingFacts(date(2023, 10, 31), date(2024, 4, 30)),
    "lora_r256_a512_finetune_phi3_mini_4k_instruct": TrainingFacts(date(2023, 10, 31)),
}


def training_facts(name: str) -> TrainingFacts:
    """The known facts about a published model, by its name; of others, and of what is tuned from the unknown, nothing.

    >>> training_facts("meta-llama/Llama-2-7b-chat-hf").cutoff, training_facts("org/model").cutoff
    (datetime.date(2022, 9, 30), None)
    """
    model = MODELS.get(name)
    if name in _OTHERS or model is None or model.tuned_from:
        return _OTHERS.get(name, TrainingFacts())
    return _FAMILIES.get(model.family, TrainingFacts())
