"""A version's way from draft over review to accepted and retired: who may take which step."""

from enum import StrEnum


class Move(StrEnum):
    SUBMIT = "submit"  # a draft goes to review
    REVIEW = "review"  # somebody who did not write it says what they think of it
    ACCEPT = "accept"  # its writer accepts it alone
    BACK = "back"  # to draft again
    REVISE = "revise"  # a draft of the next version
    RETIRE = "retire"  # drawn no more


def moves(
    status: str, *, is_writer: bool, is_lead: bool, reviews_needed: int, has_writer: bool = True
) -> frozenset[Move]:
    """The steps that a curator of the field may take with a version in this state.

    A version that nobody on the site wrote (`has_writer`) goes back to draft by anyone.

    >>> sorted(moves("in_review", is_writer=True, is_lead=False, reviews_needed=2))
    [<Move.BACK: 'back'>]
    >>> sorted(moves("in_review", is_writer=False, is_lead=False, reviews_needed=2))
    [<Move.REVIEW: 'review'>]
    """
    found = {Move.RETIRE} if is_lead and status != "retired" else set()
    if status == "draft":
        found.add(Move.SUBMIT)
    elif status == "in_review":
        if is_writer or is_lead or not has_writer:
            found.add(Move.BACK)
        if not is_writer:
            found.add(Move.REVIEW)
        elif reviews_needed == 0:
            found.add(Move.ACCEPT)
    else:
        found.add(Move.REVISE)
    return frozenset(found)
