"""What trying a team came to, as sections of a page: sentences, tables, figures and how they were computed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from analysis.presentation import (
    Block,
    FigureView,
    Section,
    Table,
    number_column,
    render_block,
    render_meaning,
    table,
    text_column,
)
from analysis.stats.arrays import Interval
from analysis.teams.columns import team_columns, team_row
from analysis.teams.names import short
from analysis.teams.page.answer import Answer
from analysis.teams.page.posterior import explained, posterior_rows
from analysis.teams.results import MemberResult, Method, Pattern, Policy, Team
from lib import formatting as f

MOST_OPEN = 40  # rows of a table that is not folded
MOST_FOLLOWED = 3  # members of a team whose patterns are not folded
# Figures by the section in which they stand
TEAMS, ADDING = ("teams", "teams_gain"), ("teams_adding",)
TOGETHER, DECIDING = ("teams_complementarity",), ("teams_policy",)
Link = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class OpenTable(Table):
    """A table that is the point of its page: folded only where it would be endless."""

    @property
    def is_long(self) -> bool:
        return len(self.rows) > MOST_OPEN


@dataclass(frozen=True, slots=True)
class FoldedTable(Table):
    """A detail."""

    @property
    def is_long(self) -> bool:
        return True


def sections(answer: Answer, figures: Sequence[FigureView], link: Link) -> list[Section]:
    """Those that have anything in them; `link` gives the address of a table's file."""
    made = (
        _teams(answer, figures),
        _adding(answer, figures),
        _together(answer, figures),
        _policies(answer, figures),
        _posterior(answer),
        _section("more-figures", _("More figures"), "", Block("", "", figures=_others(figures))),
    )
    return [_linked(section, link) for section in made if section is not None]


def text_line(name: str, context: Mapping[str, Any]) -> str:
    """A sentence as plain text; "" where there is nothing to say."""
    return render_block("analysis/teams/text.txt", name, context)


def _section(name: str, title: str, question: str, block: Block) -> Section | None:
    return None if block.is_empty else Section(name, title, question, [block])


def _linked(section: Section, link: Link) -> Section:
    (block,) = section.blocks
    tables = [replace(t, href=link(t.csv)) if t.csv else t for t in block.tables]
    return replace(section, blocks=[replace(block, tables=tables)])


def _figures(figures: Sequence[FigureView], names: Sequence[str]) -> list[FigureView]:
    return [figure for figure in figures if figure.name in names]


def _others(figures: Sequence[FigureView]) -> list[FigureView]:
    known = (*TEAMS, *ADDING, *TOGETHER, *DECIDING)
    return [figure for figure in figures if figure.name not in known]


def _as(kind: type[Table], tables: Iterable[Table]) -> list[Table]:
    return [kind(t.caption, t.columns, t.rows, t.csv) for t in tables]


def _teams(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    tried = answer.tried
    rows = [team_row(short(r.team, answer.members), r) for r in tried.teams]
    caption = _("Teams and their members: the share of held-out trials that they have right")
    gains = [(r.team, r.gain, r.gain_ci95, r.gain_two_way_ci95) for r in tried.teams]
    tables = _as(OpenTable, table(caption, team_columns(), rows, "teams"))
    tables += _both_intervals(answer, _("Gains with both kinds of intervals"), gains)
    rule = next((r.about.rule for r in tried.teams if r.method != Method.ALONE), "")
    held_out = _("Held out: %(folds)s.") % {"folds": tried.folds}
    two_way = text_line("two_way", {"answer": answer})
    methods = (rule, held_out, tried.ratings.rule, tried.method, two_way, tried.multiplicity)
    block = Block(
        "",
        "",
        render_meaning("analysis/teams/_section_teams.html", {"answer": answer}),
        tables,
        [m for m in methods if m],
        _figures(figures, TEAMS),
    )
    if len(answer.members) == 1:
        return _section("teams", _("This member by itself"), "", block)
    question = _("Is a team more accurate than its best member?")
    return _section("teams", _("All teams of these members"), question, block)


def _both_intervals(
    answer: Answer,
    caption: str,
    rows: Sequence[tuple[Team, float | None, Interval | None, Interval | None]],
) -> list[Table]:
    """Folded; of one row the methods' sentence is enough."""
    columns = [
        text_column(_("Team")),
        number_column(_("Points")),
        number_column(_("95% CI, crossed")),
        number_column(_("95% CI, two-way")),
    ]
    cells = [
        (
            short(team, answer.members),
            f.points(value),
            f.points_interval(ci95),
            f.points_interval(two_way),
        )
        for team, value, ci95, two_way in rows
        if two_way
    ]
    return _as(FoldedTable, table(caption, columns, cells)) if len(cells) > 1 else []


def _adding(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    found = answer.tried.adding_human
    pictures = _figures(figures, ADDING)
    if len(found) < 2 and not pictures:  # the one is the page's sentence
        return None
    columns = [
        text_column(_("One human more in")),
        number_column(_("Points")),
        number_column(_("95% CI")),
        number_column(_("p (Holm)")),
        number_column(_("Trials")),
    ]
    rows = [
        (
            short(row.larger_team, answer.members),
            f.points(row.gain.value),
            f.points_interval(row.gain.ci95),
            f.p_cell(row.p_holm),
            f.number(row.gain.n, 0),
        )
        for row in found
    ]
    caption = _("Each team against the same team with one human less, on the same trials")
    both = [(r.larger_team, r.gain.value, r.gain.ci95, r.gain.two_way_ci95) for r in found]
    tables = _as(OpenTable, table(caption, columns, rows))
    tables += _both_intervals(answer, _("The same with both kinds of intervals"), both)
    question = _("What does one more expert change?")
    block = Block("", "", tables=tables, figures=pictures)
    return _section("adding", _("Adding one human"), question, block)


def _together(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    team, found = answer.result.team, answer.result.complementarity
    if not found or not found.patterns:
        return None
    columns = [
        text_column(_("Who is right")),
        number_column(_("Trials")),
        number_column(_("Share")),
        number_column(_("Team right")),
        number_column(_("Share of these")),
    ]
    rows = [
        (
            _who(pattern, team, answer.tried.members),
            f.number(pattern.n, 0),
            f.percent(pattern.share),
            f.number(pattern.n_team_right, 0),
            f.percent(pattern.share_team_right),
        )
        for pattern in found.patterns
    ]
    tables = table(_("Whom the team follows"), columns, rows)
    tables = _as(OpenTable, tables) if len(team) <= MOST_FOLLOWED else tables
    meaning = render_meaning("analysis/teams/_section_complementarity.html", {"answer": answer})
    question = _("Whom does the team follow where its members disagree?")
    block = Block("", "", meaning, tables, figures=_figures(figures, TOGETHER))
    return _section("complementarity", _("Who is right together"), question, block)


def _who(pattern: Pattern, team: Team, members: Sequence[MemberResult]) -> str:
    if pattern.n_right == len(team):
        return _("Everybody")
    if not pattern.n_right:
        return _("No one")
    if pattern.right is None:
        return _("%(n)s of %(all)s") % {"n": pattern.n_right, "all": len(team)}
    names = [m.display_name for m in members if m.name in pattern.right]
    return _("Only %(member)s") % {"member": names[0]} if len(names) == 1 else f.listing(names)


def _policies(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    who = {Policy.HUMAN: _("the human"), Policy.TEAM: _("both together")}
    columns = [
        text_column(_("Model alone, but where it is less sure")),
        text_column(_("Who decides")),
        number_column(_("Humans asked")),
        number_column(_("Accuracy")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            short(row.team, answer.members),
            who[row.policy],
            f.percent(row.share_asked, 0),
            f.percent(row.accuracy),
            f.share_interval(row.accuracy_ci95),
        )
        for row in answer.tried.policies_chosen
    ]
    caption = _("A threshold chosen on the training trials, tried on the held-out ones")
    tables = table(caption, columns, rows, "policies_chosen")
    block = Block("", "", tables=tables, figures=_figures(figures, DECIDING))
    question = _("How often must a human be asked?")
    return _section("who-decides", _("Who decides"), question, block)


def _posterior(answer: Answer) -> Section | None:
    """What a Bayesian fit says of the team's members."""
    if answer.fit is None:
        return None
    team = short(answer.result.team, answer.members)
    columns = [
        text_column(_("Quantity")),
        number_column(_("Mean")),
        number_column(_("95% credible interval")),
    ]
    caption = _("Posterior of %(team)s") % {"team": team}
    tables = _as(OpenTable, table(caption, columns, posterior_rows(answer.fit)))
    methods = [answer.fit.priors, text_line("diagnostics", {"answer": answer})]
    meaning = render_meaning("analysis/teams/_section_posterior.html", explained(answer.fit))
    question = _("How able are members, and how much do they share?")
    block = Block("", "", meaning, tables, methods)
    return _section("posterior", _("What the fit says of the members"), question, block)
