"""Outcome of trying a team, as sections of a page: sentences, tables and figures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from django.utils.text import capfirst

from analysis import columns as c
from analysis.presentation import Block, FigureView, Section, Table, paragraphs
from analysis.teams import words
from analysis.teams.answer import Answer
from analysis.teams.names import short, team_columns
from analysis.teams.results import (
    BayesianAbout,
    Method,
    Pattern,
    Policy,
    Posterior,
    Quantity,
)
from lib import formatting as f

MAIN = (Quantity.SENSITIVITY, Quantity.CORRELATION)


def posterior_rows(fit: BayesianAbout, *, is_main: bool = False) -> list[tuple[str, str, str]]:
    """Quantity, mean and 95% interval; `is_main`: sensitivities and correlations alone."""
    shown = [item for item in fit.posterior.items() if not is_main or item[1].quantity in MAIN]
    return [
        (
            capfirst(fit.parameters[name]),
            _number(one, one.mean),
            " to ".join(_number(one, end) for end in one.ci95),
        )
        for name, one in shown
    ]


def _number(one: Posterior, value: float) -> str:
    if one.quantity == Quantity.ACCURACY:
        return f.percent(value)
    return f.compact(value) if one.quantity == Quantity.SCALE else f.number(value)


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


def sections(answer: Answer, figures: Sequence[FigureView], link: Link) -> list[Section]:
    """Those that have anything in them; `link` gives the address of a table's file."""
    known = (*TEAMS, *ADDING, *TOGETHER, *DECIDING)
    others = [figure for figure in figures if figure.name not in known]
    made = (
        _teams(answer, figures),
        _adding(answer, figures),
        _together(answer, figures),
        _policies(answer, figures),
        _posterior(answer),
        _section("more-figures", "More figures", "", Block("", "", figures=others)),
    )
    found = []
    for section in filter(None, made):
        (block,) = section.blocks
        tables = [replace(t, href=link(t.csv)) if t.csv else t for t in block.tables]
        found.append(replace(section, blocks=[replace(block, tables=tables)]))
    return found


def _section(name: str, title: str, question: str, block: Block) -> Section | None:
    return None if block.is_empty else Section(name, title, question, [block])


def _figures(figures: Sequence[FigureView], names: Sequence[str]) -> list[FigureView]:
    return [figure for figure in figures if figure.name in names]


def _open(tables: Iterable[Table]) -> list[Table]:
    return [OpenTable(t.caption, t.columns, t.rows, t.csv) for t in tables]


def _teams(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    tried = answer.tried
    columns = team_columns(lambda row: short(row.team, answer.members), tried.teams)
    caption = "Teams and their members: share of held-out trials that are right"
    tables = _open(c.page_table(caption, columns, tried.teams, "teams"))
    rule = next((r.about.rule for r in tried.teams if r.method != Method.ALONE), "")
    held_out = f"Held out: {tried.folds}."
    measures = tried.measures.values()
    methods = (rule, held_out, tried.ratings.rule, tried.method, *measures, tried.multiplicity)
    block = Block(
        "",
        "",
        text=paragraphs(answer.most_accurate),
        tables=tables,
        methods=[m for m in methods if m],
        figures=_figures(figures, TEAMS),
    )
    if len(answer.members) == 1:
        return _section("teams", "This member by itself", "", block)
    question = "Is a team more accurate than its best member?"
    return _section("teams", "All teams of these members", question, block)


def _adding(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    found = answer.tried.adding_human
    pictures = _figures(figures, ADDING)
    if len(found) < 2 and not pictures:  # the one is the page's sentence
        return None
    columns = (
        c.text("One more human in", lambda row: short(row.larger_team, answer.members)),
        c.points("Points", "gain.value"),
        c.points_ci("95% CI", "gain.ci95"),
        c.p_value("p (Holm)", "p_holm"),
        c.count("Trials", "gain.n"),
    )
    caption = "Each team compared with the same team with one human fewer, on the same trials"
    tables = _open(c.page_table(caption, columns, found))
    question = "What does one additional expert change?"
    block = Block("", "", tables=tables, figures=pictures)
    return _section("adding", "Adding one human", question, block)


def _together(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    team, found = answer.result.team, answer.result.complementarity
    if not found or not found.patterns:
        return None

    def who(pattern: Pattern) -> str:
        if pattern.n_right == len(team):
            return "Everybody"
        if not pattern.n_right:
            return "No one"
        if pattern.right is None:
            return f"{pattern.n_right} of {len(team)}"
        names = [m.display_name for m in answer.tried.members if m.name in pattern.right]
        return f"Only {names[0]}" if len(names) == 1 else f.listing(names)

    columns = (
        c.text("Members that are right", who),
        c.count("Trials", "n"),
        c.percent("Share", "share"),
        c.count("Team right", "n_team_right"),
        c.percent("Share of these", "share_team_right"),
        c.count("Team tied", "n_team_ties"),
    )
    tables = c.page_table("Member that the team follows", columns, found.patterns)
    tables = _open(tables) if len(team) <= MOST_FOLLOWED else tables
    question = "Whom does the team follow where its members disagree?"
    text, pictures = paragraphs(answer.together), _figures(figures, TOGETHER)
    block = Block("", "", text=text, tables=tables, figures=pictures)
    return _section("complementarity", "Joint correctness", question, block)


def _policies(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    who = {Policy.HUMAN: "the human", Policy.TEAM: "both together"}
    columns = (
        c.text(
            "Model alone, except where it is less confident",
            lambda row: short(row.team, answer.members),
        ),
        c.text("Decided by", lambda row: who[row.policy]),
        c.percent("Humans asked", "share_asked", digits=0),
        c.percent("Accuracy", "accuracy"),
        c.share_ci("95% CI", "accuracy_ci95"),
    )
    caption = "A threshold chosen on the training trials and evaluated on the held-out ones"
    tables = c.page_table(caption, columns, answer.tried.policies_chosen, "policies_chosen")
    block = Block("", "", tables=tables, figures=_figures(figures, DECIDING))
    question = "How often must a human be asked?"
    return _section("who-decides", "Who decides", question, block)


def _posterior(answer: Answer) -> Section | None:
    """Section on a Bayesian fit to the team's members."""
    if answer.fit is None:
        return None
    team = short(answer.result.team, answer.members)
    columns = (
        c.text("Quantity", "0"),
        c.shown("Mean", "1"),
        c.shown("95% credible interval", "2"),
    )
    caption = f"Posterior of {team}"
    tables = _open(c.page_table(caption, columns, posterior_rows(answer.fit)))
    methods = [answer.fit.priors, words.diagnostics(answer.fit)]
    text = paragraphs(*words.posterior_explained(answer.fit))
    question = "How sensitive are members, and how much evidence do they share?"
    block = Block("", "", text=text, tables=tables, methods=methods)
    return _section("posterior", "Fit of the members", question, block)
