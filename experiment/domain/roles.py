"""Rights in a study and in a field of research. Every page, command and interface asks here; nothing else decides.

Test cases belong to fields: a field's curators and leads write, review and retire them, whatever studies they are in. A study's
curator sees the test cases of that study with their texts, pauses them, and sees nothing of its data; who also writes them is a member
of their field. A field's texts are its members', unless its lead shares it; services/usable.py says which a person may use.
"""

from collections.abc import Iterable
from enum import StrEnum


class Role(StrEnum):
    """The role of a member in one study. A site administrator is a researcher in every one."""

    RESEARCHER = "researcher"
    CURATOR = "curator"
    AUDITOR = "auditor"


class Right(StrEnum):
    """A right that can be given in a study."""

    SEE_ITEMS = "see_items"  # the test cases with their texts
    CURATE = "curate"  # pause and resume test cases while it runs
    SEE_DATA = "see_data"  # counts, participants by pseudonym, models, results
    EXPORT = "export"  # trials and tables by pseudonym
    IDENTIFY = "identify"  # recruitment ids, free comments
    SET_UP = "set_up"  # texts, test cases, rules, recruitment, withdrawal on request
    WORK = "work"  # start and stop runs, simulations, reports
    MANAGE_PEOPLE = "manage_people"  # invite members, change roles
    SEE_TRAIL = "see_trail"  # the audit trail


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.RESEARCHER: frozenset(Right),
    Role.CURATOR: frozenset({Right.SEE_ITEMS, Right.CURATE}),
    Role.AUDITOR: frozenset({Right.SEE_ITEMS, Right.SEE_DATA, Right.EXPORT, Right.SEE_TRAIL}),
}


class FieldRole(StrEnum):
    """The role of a member in one field of research. A site administrator is a lead in every one."""

    LEAD = "lead"
    CURATOR = "curator"
    READER = "reader"


class FieldRight(StrEnum):
    """A right that can be given in a field of research."""

    USE_FIELD = "use_field"  # its accepted test cases and questions: read, and taken into studies
    CURATE_FIELD = "curate_field"  # its test cases: read, write, review, import, export
    LEAD_FIELD = (
        "lead_field"  # its name, subfields, people, sharing and how many reviews are needed
    )


FIELD_RIGHTS: dict[FieldRole, frozenset[FieldRight]] = {
    FieldRole.LEAD: frozenset(FieldRight),
    FieldRole.CURATOR: frozenset({FieldRight.USE_FIELD, FieldRight.CURATE_FIELD}),
    FieldRole.READER: frozenset({FieldRight.USE_FIELD}),
}
MOST_REVIEWS = 5  # that a field can ask for


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
