"""How a model was trained here: what report.json says of it. Pure."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True)
class TrainingSummary:
    """None where it is not known. documents, corpus_tokens: of the corpus's training part; last_published: the last day of
    its documents, where all have a date. Losses are those of its held-out part in nats per token, untrained and of the weights that were kept."""

    corpus: str
    mode: str
    documents: int | None
    corpus_tokens: int | None
    last_published: date | None
    tokens_seen: int
    trainable_parameters: int | None
    held_out_before: float | None
    held_out_after: float | None
