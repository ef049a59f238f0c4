"""Names of teams, members and ways of combining in sentences, tables and figures, and a table's columns about teams."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.utils.text import capfirst

from analysis.teams.results import Member, Method, Team, TeamResult
from lib.formatting import count, listing

if TYPE_CHECKING:
    from analysis.columns import Column, Value

METHOD_NAMES = {
    Method.LOGISTIC: "Logistic regression",
    Method.AS_PUBLISHED: "Logistic regression, as published",
    Method.BAYESIAN: "Bayesian",
    Method.AVERAGE: "Average probability",
    Method.MAJORITY: "Majority",
    Method.MOST_CONFIDENT: "Most confident",
}
MOST_NAMED = 4  # members; of more, a sentence says how many they are
MOST_MISSING = 2


def method_name(method: Method) -> str:
    return METHOD_NAMES[method]


def called(team: Team) -> str:
    """A team in a sentence: by its members' names, of more than MOST_NAMED by their number.

    >>> from analysis.teams.results import MemberKind
    >>> people = [Member(name, MemberKind.HUMAN, name.title()) for name in ("human", "human-2")]
    >>> models = [Member(name, MemberKind.MODEL, name.upper()) for name in ("a + b", "c", "d", "e")]
    >>> called(Team.of((people[0], models[0]))), called(Team.of((*people, *models)))
    ('Human + A + B', '2 humans + 4 models')
    """
    if len(team) <= MOST_NAMED:
        return team.display_name
    n_people, n_models = len(team.humans), len(team.models)
    parts = []
    if n_people:
        parts.append("Human" if n_people == 1 else f"{n_people} humans")
    if n_models:
        parts.append(count(n_models, "model"))
    return " + ".join(parts)


def short(team: Team, every: Sequence[Member]) -> str:
    """A team once all members have been named: a large one by how many they are, or by who is missing.

    >>> from analysis.teams.results import MemberKind
    >>> every = [Member("human", MemberKind.HUMAN, "Human")]
    >>> every += [Member(name, MemberKind.MODEL, name.upper()) for name in "abcde"]
    >>> [short(Team.of(tuple(some)), every) for some in (every[:2], every, every[1:], every[:5])]
    ['Human + A', 'Human + 5 models', '5 models', 'All but E']
    """
    missing = [m for m in every if m.name not in team.names]
    if len(team) <= MOST_NAMED or len(missing) > MOST_MISSING:
        return team.display_name
    if all(m.is_human for m in missing):
        return called(team)
    return f"All but {listing([the_member(m) for m in missing])}"


def the_member(member: Member) -> str:
    """A member within a sentence.

    >>> from analysis.teams.results import MemberKind
    >>> the_member(Member("human-2", MemberKind.HUMAN, "Second human"))
    'the second human'
    """
    if not member.is_human:
        return member.display_name
    return f"the {member.display_name.lower()}"


def equally(names: Sequence[str]) -> str:
    """
    >>> equally(["A"]), equally(["A", "B"]), equally(["A", "B", "C"])
    ('A', 'A and B equally', 'A and 2 others equally')
    """
    if len(names) < 2:
        return "".join(names)
    rest = names[1] if len(names) == 2 else f"{len(names) - 1} others"
    return f"{names[0]} and {rest} equally"


def capitalised(text: str) -> str:
    """With a capital at its beginning and a full stop at its end."""
    return capfirst(text) + ("" if text.rstrip().endswith(".") else ".")


def inserted(text: str) -> str:
    """As part of a sentence: with a small letter at its beginning and no full stop."""
    return f"{text[:1].lower()}{text[1:]}".rstrip(".")


def team_columns(name: "Value", rows: Sequence[TeamResult]) -> "tuple[Column, ...]":
    """`name`: what the team is called there. Ties are counted where one of the rows has any."""
    from analysis import columns as c  # loads pandas, and templates of all pages name members

    ties = (c.count("Ties", "n_ties"),) if any(row.n_ties for row in rows) else ()
    return (
        c.text("Team", name),
        c.percent("Accuracy", "accuracy"),
        c.share_ci("95% CI", "accuracy_ci95"),
        *ties,
        c.points("Gain, points", "gain"),
        c.points_ci("95% CI", "gain_ci95"),
        c.p_value("p (Holm)", "gain_p_holm"),
        c.number("Log loss (at most 13.8)", "log_loss_nats", digits=3),
    )
