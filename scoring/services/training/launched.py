"""Where `accelerate launch` has started a process for each device: the first one alone writes rows."""

import os
from collections.abc import Callable


def is_first() -> bool:
    return os.environ.get("RANK", "0") == "0"


def is_one_of_several() -> bool:
    return os.environ.get("WORLD_SIZE", "1") != "1"


def agreed(decide: Callable[[], int]) -> int | None:
    """A number that the first process decides on; None in the others where it could not.

    Raises:
        Exception: in the first process, what `decide` raises.
    """
    if not is_one_of_several():
        return decide()
    import torch
    from accelerate import PartialState
    from accelerate.utils import broadcast_object_list

    PartialState(cpu=not torch.accelerator.is_available())  # lets the processes talk to each other
    number: list[int | None] = [None]
    try:
        if is_first():
            number = [decide()]
    finally:  # the others wait for it
        broadcast_object_list(number)
    return number[0]
