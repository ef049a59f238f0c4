"""Who is in a team: people and models, each with its kind."""

from dataclasses import dataclass, field
from enum import StrEnum


class MemberKind(StrEnum):
    HUMAN = "human"
    MODEL = "model"


@dataclass(frozen=True)
class Member:
    """`name`: human, human-2, ... for people (any participants, not chosen ones), else a language model's name."""

    name: str
    kind: MemberKind
    display_name: str
    family: str = ""

    @property
    def is_human(self) -> bool:
        return self.kind == MemberKind.HUMAN


@dataclass(frozen=True)
class Team:
    """`members`: people first. label: their names joined by "+", for tables and files; nothing is read out of it.

    names and display_name follow from the members, but for a team that is chosen anew in each fold, which has none.
    """

    label: str = field(metadata={"json": "team"})
    names: tuple[str, ...] = field(metadata={"json": "members"})
    display_name: str
    members: tuple[Member, ...] = field(metadata={"json": "member_details"})

    @classmethod
    def of(cls, members: tuple[Member, ...]) -> "Team":
        """
        >>> people = Member("human", MemberKind.HUMAN, "Human")
        >>> adapter = Member("org/base + org/adapter", MemberKind.MODEL, "Tuned")
        >>> team = Team.of((people, adapter))
        >>> team.label, team.display_name, len(team)
        ('human+org/base + org/adapter', 'Human + Tuned', 2)
        """
        names = tuple(m.name for m in members)
        shown = " + ".join(m.display_name for m in members)
        return cls("+".join(names), names, shown, members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def humans(self) -> tuple[Member, ...]:
        return tuple(m for m in self.members if m.is_human)

    @property
    def models(self) -> tuple[Member, ...]:
        return tuple(m for m in self.members if not m.is_human)


@dataclass(frozen=True)
class MemberResult:
    """How a member does by itself on the teams' trials.

    n_correct and accuracy are None for a model that is left out, having missed n_missing of the judged test cases.
    """

    name: str = field(metadata={"json": "member"})
    kind: MemberKind
    display_name: str
    family: str
    n_correct: int | None
    accuracy: float | None
    n_missing: int

    @property
    def member(self) -> Member:
        return Member(self.name, self.kind, self.display_name, self.family)
