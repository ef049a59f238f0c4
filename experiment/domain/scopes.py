"""What an access token may be used for: rights that it can pass on, never more than its owner has."""

from collections.abc import Iterable
from enum import StrEnum

from experiment.domain.roles import Right


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"


# Identities, members and the audit trail are for people who are signed in
SCOPE_RIGHTS: dict[Scope, frozenset[Right]] = {
    Scope.READ: frozenset({Right.SEE_ITEMS, Right.SEE_DATA, Right.EXPORT}),
    Scope.WRITE: frozenset({Right.WORK, Right.SET_UP}),
}


def rights_within(scopes: Iterable[str], rights: frozenset[Right]) -> frozenset[Right]:
    """The rights that are left of an owner's within these scopes.

    >>> sorted(rights_within(["write"], frozenset({Right.SEE_DATA, Right.WORK})))
    [<Right.WORK: 'work'>]
    """
    passed_on = frozenset(right for scope in scopes for right in SCOPE_RIGHTS[Scope(scope)])
    return passed_on & rights
