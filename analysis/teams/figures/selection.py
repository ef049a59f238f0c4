"""Which teams a figure shows where there are more than a reader compares, and by which rule."""

from collections.abc import Sequence
from itertools import zip_longest

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from analysis.charts.style import HUMANS, MODELS
from analysis.teams.results import TeamResult
from lib.formatting import listing

BOTH_COLOUR = "#0072b2"
PEOPLE, MACHINES, BOTH = "People", "Models", "People and models"
KINDS = {PEOPLE: HUMANS, MACHINES: MODELS, BOTH: BOTH_COLOUR}
MOST = 40  # rows; a reader compares no more


def kind_of(result: TeamResult) -> str:
    if not result.n_models:
        return PEOPLE
    return BOTH if result.n_humans else MACHINES


def shown_teams(teams: Sequence[TeamResult], most: int = MOST) -> list[TeamResult]:
    """By kind and then by size; where there are more than `most`, those of a rule that favours no kind of team.

    These are the members by themselves (at most as many as half of the rows or, where there is room, more; people and then
    the most accurate), the whole team, the whole team less one person, and the most accurate teams of people and models, of
    models, and of people, in equal parts.
    """
    picked = {r.team.label for r in (teams if len(teams) <= most else _picked(teams, most))}
    order = list(KINDS)
    return sorted(
        (r for r in teams if r.team.label in picked),
        key=lambda r: (order.index(kind_of(r)), len(r.team)),
    )


def _picked(teams: Sequence[TeamResult], most: int) -> list[TeamResult]:
    several = [r for r in teams if len(r.team) > 1]
    found = _best([r for r in teams if len(r.team) == 1])[: max(most // 2, most - len(several))]
    found += _whole(several)
    rest = [r for r in _best(several) if r not in found]
    by_kind = [[r for r in rest if kind_of(r) == kind] for kind in (BOTH, MACHINES, PEOPLE)]
    in_turn = [r for row in zip_longest(*by_kind) for r in row if r is not None]
    return [*found, *in_turn][:most]


def _is_person(result: TeamResult) -> bool:
    return len(result.team) == 1 and result.n_humans == 1


def _best(teams: Sequence[TeamResult]) -> list[TeamResult]:
    """People by themselves, then the most accurate."""
    return sorted(teams, key=lambda r: (not _is_person(r), -r.accuracy))


def _whole(several: Sequence[TeamResult]) -> list[TeamResult]:
    """The team of all members and the same with one person less; nothing where several are the largest."""
    size = max((len(r.team) for r in several), default=0)
    whole = [r for r in several if len(r.team) == size]
    if len(whole) != 1:
        return []
    people = whole[0].team.humans
    less = {name for name in whole[0].team.names if name not in [m.name for m in people[-1:]]}
    fewer = [r for r in several if people and set(r.team.names) == less]
    return [*whole, *fewer]


def left_out(shown: Sequence[TeamResult], teams: Sequence[TeamResult], *, pairs: bool = False) -> str:  # fmt: skip
    """Which teams the picture has, where it does not have all; "" where it has."""
    if len(shown) == len(teams):
        return ""
    parts = _members_part(shown, teams)
    special = _whole([r for r in teams if len(r.team) > 1])
    parts += [_("the whole team"), _("the whole team without one person")][: len(special)]
    others = [r for r in shown if len(r.team) > 1 and r not in special]
    words = {BOTH: _("of people and models"), MACHINES: _("of models"), PEOPLE: _("of people")}
    counts = {words[kind]: sum(kind_of(r) == kind for r in others) for kind in words}
    if others:
        which = listing([f"{text} ({n})" for text, n in counts.items() if n])
        most = _("the most accurate pairs %(which)s") if pairs else _("the most accurate teams %(which)s")  # fmt: skip
        parts.append(most % {"which": which})
    return listing(parts)


def _members_part(shown: Sequence[TeamResult], teams: Sequence[TeamResult]) -> list[str]:
    alone = [r for r in shown if len(r.team) == 1]
    if not alone:
        return []
    if len(alone) == sum(len(r.team) == 1 for r in teams):
        return [_("the members by themselves")]
    n = sum(not _is_person(r) for r in alone)
    best = ngettext(
        "the %(n)s most accurate member by itself", "the %(n)s most accurate members by themselves", n
    )  # fmt: skip
    person = [_("a person")] if n < len(alone) else []
    return [*person, best % {"n": n}]
