"""What is publicly known of the published models' training: until when their data reach, and which corpora are among them.

A cut-off that is known to the month is that month's last day. The paper's Tables S1 and S2 for its four families; model
cards for GPT-2 and Phi-3. A tuned model has read what its base had read, and the tuning's literature of 2002 to 2022.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import MappingProxyType

from scoring.domain.known_models import MODELS

LITERATURE = date(2022, 12, 31)
ARXIV_2021, ARXIV_2023 = "arxiv_abstracts_20210601_20211231", "arxiv_abstracts_20230601_20231231"
BIORXIV_2021 = "biorxiv_abstracts_2021-06-01_2021-12-01"
BIORXIV_2023 = "biorxiv_abstracts_2023-06-01_2023-12-01"
GETTYSBURG, REFINEDWEB = "gettysburg_address", "refinedweb"
CORPORA = (REFINEDWEB, ARXIV_2021, ARXIV_2023, BIORXIV_2021, BIORXIV_2023, GETTYSBURG)


class Membership(StrEnum):
    """Whether a corpus is among a model's training data; ABSENT: known not to be."""

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
    """What is known of a published model, by its name; of others, and of what is tuned from the unknown, nothing.

    >>> training_facts("meta-llama/Llama-2-7b-chat-hf").cutoff, training_facts("org/model").cutoff
    (datetime.date(2022, 9, 30), None)
    """
    model = MODELS.get(name)
    if name in _OTHERS or model is None or model.tuned_from:
        return _OTHERS.get(name, TrainingFacts())
    return _FAMILIES.get(model.family, TrainingFacts())
