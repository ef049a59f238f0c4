"""Batches for backends that gain nothing from another order than the texts' own."""

from collections.abc import Sequence

from scoring.domain.backend import Group


def in_order(groups: Sequence[Group], most_tokens: int) -> list[list[int]]:
    """Which groups (by index) are scored together: as many as have at most so many tokens, and at least one."""
    batches: list[list[int]] = []
    filled = 0
    for index, group in enumerate(groups):
        tokens = sum(len(text.ids) for text in group)
        if not batches or filled + tokens > most_tokens:
            batches.append([])
            filled = 0
        batches[-1].append(index)
        filled += tokens
    return batches
