"""What a training tells while it goes on. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """After an optimiser step; losses are nats per token, means over tokens."""

    step: int
    steps: int
    tokens: int  # seen so far
    loss: float | None  # of training, since the last point
    held_out_loss: float | None  # where it was measured
    learning_rate: float
    tokens_per_s: float
