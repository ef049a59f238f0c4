"""Conclusions about teams as one family: a comparison has one corrected p and one verdict, whichever tables it stands in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from analysis.stats import families
from analysis.teams.results import AddingHuman, ChosenPolicy, Method, Team, TeamResult, verdict_of

# Questions, each with an equal share of the 5%
TEAMS, OTHERS, METHODS, DEFERRAL = "teams", "other models", "other methods", "deferral"
TOGETHER = (
    "p_holm is Holm's weighted correction over all comparisons as one family, in which each question has an equal share of the 5%: {teams} "
    "against their best member, and against the same team with one person fewer{others}{methods}{deferral}. A comparison that stands in two "
    "tables, such as that of a model with and without a human, counts once; one without a p, and a loss by deferral, counts as p = 1."
)
AND_OTHERS = "; each of the study's other models with one human, in the same way"
AND_DEFERRAL = "; thresholds of deferral"
AND_METHODS = "; the same comparisons of teams by the other methods"

# Its method, the team, and whose accuracy is taken from its own; of a policy, the models and who decides
Comparison = tuple[object, ...]


@dataclass(frozen=True)
class Concluded:
    """Results with the corrected p values of their family, and verdicts."""

    rows: tuple[TeamResult, ...]
    adding: tuple[AddingHuman, ...]
    chosen: tuple[ChosenPolicy, ...]


def concluded(
    rows: Sequence[TeamResult],
    adding: Sequence[AddingHuman],
    chosen: Sequence[ChosenPolicy],
    *,
    main: Method,
    question: Callable[[Team], str | None],
    sizes: tuple[int, int],
) -> Concluded:
    """rows, adding, chosen: before the correction; sizes: numbers of test cases and participants. question: TEAMS or OTHERS, None
    for a team of which nothing is concluded. Comparisons by other methods than `main` are one question of their own.
    """
    tests: dict[str, dict[Comparison, float]] = {}
    unknown = set()

    def add(name: str, comparison: Comparison, p: float | None) -> None:
        if comparison in tests.setdefault(name, {}):
            return
        # Near chance a comparison lacks a p because of the data: without it, the family would be of those that look different
        tests[name][comparison] = 1.0 if p is None else p
        if p is None:
            unknown.add(comparison)

    # Gains come first: near chance, they alone have a p
    for row in rows:
        if row.gain is not None and (name := question(row.team)):
            add(name if row.method == main else METHODS, _gain(row), _p_of_gain(row))
    for one in adding:
        if name := question(one.larger_team):
            add(name if one.method == main else METHODS, _change(one), one.gain.p)
    for policy in chosen:
        # Never to ask is among the thresholds: a loss is one of choosing among them
        is_loss = policy.gain < 0 and policy.gain_p is not None
        add(DEFERRAL, _deferral(policy), 1.0 if is_loss else policy.gain_p)
    corrected = families.together({name: [*of.values()] for name, of in tests.items()})
    n_tests = sum(map(len, tests.values()))
    after = {
        comparison: (None, None) if comparison in unknown else (p, n_tests)
        for name, of in tests.items()
        for comparison, p in zip(of, corrected[name], strict=True)
    }
    none = (None, None)
    return Concluded(
        tuple(
            _with_gain(row, *after.get(_gain(row), none))
            if row.gain is not None and question(row.team)
            else row
            for row in rows
        ),
        tuple(
            _with_change(one, *after.get(_change(one), none)) if question(one.larger_team) else one
            for one in adding
        ),
        tuple(
            replace(one, gain_p_holm=p, gain_verdict=verdict_of(one.gain, p, *sizes))
            for one in chosen
            for p, _n_tests in [after[_deferral(one)]]
        ),
    )


def _p_of_gain(row: TeamResult) -> float | None:
    """p of a gain; of a loss, times the number of members.

    The best member was chosen on the same trials, and a team is less accurate than its best member only if it is less
    accurate than one whom chance did not choose. Random flips choose anew, and need no such factor.
    """
    if row.gain_p is None or row.near_chance or (row.gain or 0) >= 0:
        return row.gain_p
    return min(1.0, row.gain_p * len(row.team))


def _gain(row: TeamResult) -> Comparison:
    return row.method, frozenset(row.team.names), frozenset([row.best_member])


def _change(one: AddingHuman) -> Comparison:
    return one.method, frozenset(one.larger_team.names), frozenset(one.team.names)


def _deferral(one: ChosenPolicy) -> Comparison:
    return one.policy, one.team.names


def _with_gain(row: TeamResult, p: float | None, n_tests: int | None) -> TeamResult:
    verdict = verdict_of(row.gain or 0.0, p, row.n_items, row.n_participants)
    return replace(row, gain_p_holm=p, gain_tests=n_tests, gain_verdict=verdict)


def _with_change(one: AddingHuman, p: float | None, n_tests: int | None) -> AddingHuman:
    verdict = verdict_of(one.gain.value, p, one.n_items, one.n_participants)
    return replace(one, p_holm=p, n_tests=n_tests, verdict=verdict)
