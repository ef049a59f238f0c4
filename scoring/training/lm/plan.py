"""How many steps a training has, and after which of them it is measured, saved and told of. Knows no model."""

import math
from dataclasses import dataclass
from functools import cached_property

from scoring.training.settings import TrainingError, TrainingSettings

TOLD = 500  # points of the loss of training, over the whole training
SAVED = 50  # checkpoints; the newest is kept, and what was asked for


@dataclass(frozen=True)
class Plan:
    """A training of `rows` rows of `context` tokens each epoch.

    >>> plan = Plan(rows=10, context=8, rows_per_step=4, epochs=2, evaluations=2)
    >>> plan.steps, plan.evaluated, [plan.tokens(step) for step in range(1, 7)]
    (6, frozenset({3, 6}), [32, 64, 80, 112, 144, 160])
    """

    rows: int
    context: int
    rows_per_step: int
    epochs: float
    evaluations: int

    @property
    def steps_per_epoch(self) -> int:
        """The last one takes what is left."""
        return math.ceil(self.rows / self.rows_per_step)

    @property
    def steps(self) -> int:
        return math.ceil(self.epochs * self.steps_per_epoch)

    @cached_property
    def evaluated(self) -> frozenset[int]:
        return self._spread(self.evaluations)

    @cached_property
    def saved(self) -> frozenset[int]:
        """Where it is evaluated too: the best of these is the result."""
        return self._spread(SAVED) | self.evaluated

    @cached_property
    def told(self) -> frozenset[int]:
        """Where it is saved too, so that a loss covers the same steps in a training that was resumed."""
        return self._spread(TOLD) | self.saved

    def tokens(self, step: int) -> int:
        """How many were seen after this many steps."""
        epochs, left = divmod(step, self.steps_per_epoch)
        rows = epochs * self.rows + min(left * self.rows_per_step, self.rows)
        return rows * self.context

    def _spread(self, number: int) -> frozenset[int]:
        """Steps at equal distances, the last one among them."""
        number = max(1, min(number, self.steps))
        return frozenset(math.ceil(self.steps * n / number) for n in range(1, number + 1))


def plan_of(settings: TrainingSettings, rows: int) -> Plan:
    """The plan for a corpus of so many whole rows.

    Raises:
        TrainingError: it does not fill a step.
    """
    if rows < settings.rows_per_step:
        raise TrainingError(
            f"The corpus fills {rows:,} rows of {settings.context:,} tokens, and a step takes "
            f"{settings.rows_per_step:,}: gather more texts, or ask for fewer rows a step or a shorter context."
        )
    return Plan(
        rows, settings.context, settings.rows_per_step, settings.epochs, settings.evaluations
    )


def accumulation_here(settings: TrainingSettings, processes: int) -> int:
    """How many batches each of the devices at hand gathers for a step, so that it has as many rows as was asked for.

    Raises:
        TrainingError: the rows of a step cannot be shared evenly.
    """
    batches, left = divmod(settings.accumulation * settings.devices, processes)
    if left or not batches:
        raise TrainingError(
            f"A step of {settings.accumulation * settings.devices} batches cannot be shared by {processes} devices: "
            "set accumulation and devices so that it can."
        )
    return batches
