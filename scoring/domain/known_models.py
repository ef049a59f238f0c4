"""The published language models: what they are called, how large they are and where they come from. Plain data.

The first fifteen are the paper's, in the order of its tables; the others were scored for its supplements. Sizes are
those that the models are named after.
"""

from dataclasses import dataclass

B = 1_000_000_000
M = 1_000_000

PAPER_SET = "the paper's 15 models"

LLAMA_7B_CHAT = "meta-llama/Llama-2-7b-chat-hf"
MISTRAL_7B = "mistralai/Mistral-7B-v0.1"
PHI_3 = "microsoft/Phi-3-mini-4k-instruct"

TUNED = "Tuned on the neuroscience literature"
SCRATCH = "Trained on the neuroscience literature alone, from scratch, with a tokenizer of that literature."


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

    @property
    def folder(self) -> str:
        """Its folder among the published results.

        >>> CatalogModel("org/model-1b", "Model-1B", "Model", B).folder
        'org--model-1b'
        """
        return folder_of(self.name)


def folder_of(name: str) -> str:
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
