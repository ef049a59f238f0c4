"""What trying a team came to: the team that a page is about, what is remarkable about it, and sections of sentences, tables and figures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from django.utils.text import capfirst

from analysis import columns as c
from analysis.data.filters import ASKED
from analysis.presentation import (
    Block,
    FigureView,
    Section,
    Table,
    paragraphs,
    sentences,
)
from analysis.stats import MissingResult
from analysis.stats.arrays import Interval
from analysis.teams import words
from analysis.teams.names import equally, short, team_columns, the_member
from analysis.teams.results import (
    AddingHuman,
    BayesianAbout,
    Member,
    MemberResult,
    Method,
    Pattern,
    Policy,
    Posterior,
    Quantity,
    Team,
    TeamResult,
    TeamsDocument,
    TriedTeams,
)
from lib import formatting as f


@dataclass(frozen=True)
class Answer:
    tried: TriedTeams
    is_simulated: bool

    @classmethod
    def of(cls, document: TeamsDocument) -> "Answer":
        return cls(document.tried, document.participants.is_simulated)

    @property
    def members(self) -> list[Member]:
        return [m.member for m in self.tried.members]

    @property
    def n_people(self) -> int:
        return sum(m.is_human for m in self.members)

    @property
    def missing(self) -> list[MemberResult]:
        """Models without a score of some test cases."""
        return [m for m in self.tried.members if m.n_missing]

    @property
    def twice(self) -> list[tuple[str, str]]:
        """What models that are members both scored and asked are called."""
        shown = {m.name: m.display_name for m in self.members}
        return [(shown[name], shown[f"{name}{ASKED}"]) for name in self.tried.taken_twice]

    @property
    def tied(self) -> list[MemberResult]:
        """Members that did not decide on every trial."""
        return [m for m in self.tried.members if m.n_ties]

    @property
    def method(self) -> Method:
        """The way of combining; ALONE where there are no teams."""
        return next((r.method for r in self.tried.teams if r.method != Method.ALONE), Method.ALONE)

    @property
    def result(self) -> TeamResult:
        """The team of all chosen members; where it was not tried, the most accurate one with people."""
        teams = self.tried.teams
        every = [r for r in teams if len(r.team) == len(self.members)]
        several = [r for r in teams if len(r.team) > 1] or teams
        mixed = [r for r in several if r.n_humans and r.n_models]
        people = [r for r in several if r.n_humans]
        return max(every or mixed or people or several, key=lambda r: r.accuracy)

    @property
    def is_whole(self) -> bool:
        return len(self.result.team) >= len(self.members)

    @property
    def is_alone(self) -> bool:
        return len(self.result.team) == 1

    @property
    def adding(self) -> AddingHuman | None:
        """What the last human adds to the team."""
        label = self.result.team.label
        return next((row for row in self.tried.adding_human if row.with_human == label), None)

    @property
    def best_members(self) -> list[str]:
        """The best member first, then those with as many trials right; all people are one here."""
        best = self.result.best
        if best is None:
            return []
        right = {m.name: m.accuracy for m in self.tried.members}
        others = [m for m in self.result.team.members if m != best and right[m.name] == right[best.name]]  # fmt: skip
        people = [m for m in (best, *others) if m.is_human]
        return [the_member(m) for m in (best, *others) if m not in people[1:]]

    @property
    def n_teams(self) -> int:
        return sum(len(r.team) > 1 for r in self.tried.teams)

    @property
    def picked(self) -> TeamResult | None:
        """The most accurate of several teams."""
        teams = [r for r in self.tried.teams if len(r.team) > 1]
        return max(teams, key=lambda r: r.accuracy) if len(teams) > 1 else None

    @property
    def fit(self) -> BayesianAbout | None:
        about = self.result.about
        return about if isinstance(about, BayesianAbout) else None

    @property
    def few_cases(self) -> str:
        return words.few_cases(self.tried.few_items)

    @property
    def how_accurate(self) -> str:
        return words.how_accurate(self.result, equally(self.best_members))

    @property
    def adding_one(self) -> str:
        return words.adding_one(self.adding, is_simulated=self.is_simulated) if self.adding else ""

    @property
    def ties(self) -> str:
        return words.ties(self.tied, self.tried.n_trials, self.method, self.result)

    @property
    def near_chance(self) -> str:
        return words.near_chance(self.result)

    @property
    def alone(self) -> str:
        return words.NO_TEAM if self.is_alone else ""

    @property
    def together(self) -> str:
        return words.together(self.result, "the team")

    @property
    def one_model_twice(self) -> str:
        return " ".join(
            f"{scored} and {asked} are one language model, which is a member twice: scored and asked."
            for scored, asked in self.twice
        )

    @property
    def not_whole(self) -> str:
        if self.is_whole:
            return ""
        people = " with people" if self.result.n_humans else ""
        team = short(self.result.team, self.members)
        return (
            f"The team of all {len(self.members)} members was not evaluated. These results are for the most accurate of the evaluated "
            f"teams{people}, {team}; its accuracy is biased upwards by this selection."
        )

    @property
    def most_accurate(self) -> str:
        best = self.picked
        if best is None:
            return ""
        right = f.with_interval(f.percent(best.accuracy), f.share_interval(best.accuracy_ci95))
        return (
            f"Most accurate of {f.count(self.n_teams, 'team')}: {short(best.team, self.members)}, {right} of {words.row_noun(best)}, "
            f"{f.points(best.gain)} points compared with its best member; this accuracy is biased upwards by the selection."
        )

    @property
    def two_way(self) -> str:
        adding = self.adding.gain.two_way_ci95 if self.adding else None
        gain = self.result.gain_two_way_ci95
        parts = [
            *([f"{f.points_interval(adding)} points for one additional person"] if adding else ()),
            *([f"{f.points_interval(gain)} points for the gain"] if gain else ()),
        ]
        if not parts:
            return ""
        start = "The two-way interval, from two-way cluster-robust errors and Student's t without resampling, is"
        return f"{start} {' and '.join(parts)}."

    @property
    def tried_on(self) -> str:
        tried = self.tried
        by = f" by {f.count(tried.n_participants, 'participant')}" if tried.n_participants else ""
        trials, cases = f.count(tried.n_trials, "trial"), f.count(tried.n_items, "test case")
        return sentences(f"{trials} of {cases}{by}.", self._left_out, tried.shortened)

    @property
    def _left_out(self) -> str:
        n = self.tried.n_left_out
        if not n:
            return ""
        why = []
        if self.n_people > 1:
            why.append(f"fewer than {self.n_people} participants judged their test case")
        if self.missing:
            named = (f"{m.display_name} {f.number(m.n_missing, 0)}" for m in self.missing)
            why.append(f"test cases without a score, by model: {', '.join(named)}")
        reason = "; ".join(why) or "not every member judged their test case"
        return f"{n} {f.verb(n, 'trial was', 'trials were')} excluded: {reason}."

    def not_possible(self) -> list[tuple[Sequence[str], MissingResult]]:
        """Which teams could not be fitted, by reason."""
        found: dict[MissingResult, list[str]] = {}
        for row in self.tried.not_possible:
            why = MissingResult(row.reason, row.needed)
            found.setdefault(why, []).append(short(row.team, self.members))
        return [(names, why) for why, names in found.items()]


MAIN = (Quantity.SENSITIVITY, Quantity.CORRELATION)


def posterior_rows(fit: BayesianAbout, *, is_main: bool = False) -> list[tuple[str, str, str]]:
    """Quantity, mean and 95% interval; `is_main`: sensitivities and correlations alone."""
    return [
        (capfirst(fit.parameters[name]), _number(one, one.mean), _interval(one))
        for name, one in fit.posterior.items()
        if not is_main or one.quantity in MAIN
    ]


def _number(one: Posterior, value: float) -> str:
    if one.quantity == Quantity.ACCURACY:
        return f.percent(value)
    return f.compact(value) if one.quantity == Quantity.SCALE else f.number(value)


def _interval(one: Posterior) -> str:
    low, high = one.ci95
    return f"{_number(one, low)} to {_number(one, high)}"


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


def _as(kind: type[Table], tables: Iterable[Table]) -> list[Table]:
    return [kind(t.caption, t.columns, t.rows, t.csv) for t in tables]


def _teams(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    tried = answer.tried
    columns = team_columns(lambda row: short(row.team, answer.members), tried.teams)
    caption = "Teams and their members: share of held-out trials that are right"
    gains = [(r.team, r.gain, r.gain_ci95, r.gain_two_way_ci95) for r in tried.teams]
    tables = _as(OpenTable, c.page_table(caption, columns, tried.teams, "teams"))
    tables += _both_intervals(answer, "Gains with both kinds of intervals", gains)
    rule = next((r.about.rule for r in tried.teams if r.method != Method.ALONE), "")
    held_out = f"Held out: {tried.folds}."
    two_way = answer.two_way
    measures = tried.measures.values()
    methods = (rule, held_out, tried.ratings.rule, tried.method, *measures, two_way, tried.multiplicity)  # fmt: skip
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


def _both_intervals(
    answer: Answer,
    caption: str,
    rows: Sequence[tuple[Team, float | None, Interval | None, Interval | None]],
) -> list[Table]:
    """Folded; of one row the methods' sentence is enough."""
    columns = (
        c.text("Team", lambda row: short(row[0], answer.members)),
        c.points("Points", "1"),
        c.points_ci("95% CI, crossed", "2"),
        c.points_ci("95% CI, two-way", "3"),
    )
    rows = [row for row in rows if row[3]]
    return _as(FoldedTable, c.page_table(caption, columns, rows)) if len(rows) > 1 else []


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
    both = [(r.larger_team, r.gain.value, r.gain.ci95, r.gain.two_way_ci95) for r in found]
    tables = _as(OpenTable, c.page_table(caption, columns, found))
    tables += _both_intervals(answer, "The same with both kinds of intervals", both)
    question = "What does one additional expert change?"
    block = Block("", "", tables=tables, figures=pictures)
    return _section("adding", "Adding one human", question, block)


def _together(answer: Answer, figures: Sequence[FigureView]) -> Section | None:
    team, found = answer.result.team, answer.result.complementarity
    if not found or not found.patterns:
        return None
    columns = (
        c.text("Members that are right", lambda row: _who(row, team, answer.tried.members)),
        c.count("Trials", "n"),
        c.percent("Share", "share"),
        c.count("Team right", "n_team_right"),
        c.percent("Share of these", "share_team_right"),
        c.count("Team tied", "n_team_ties"),
    )
    tables = c.page_table("Member that the team follows", columns, found.patterns)
    tables = _as(OpenTable, tables) if len(team) <= MOST_FOLLOWED else tables
    question = "Whom does the team follow where its members disagree?"
    text, pictures = paragraphs(answer.together), _figures(figures, TOGETHER)
    block = Block("", "", text=text, tables=tables, figures=pictures)
    return _section("complementarity", "Joint correctness", question, block)


def _who(pattern: Pattern, team: Team, members: Sequence[MemberResult]) -> str:
    if pattern.n_right == len(team):
        return "Everybody"
    if not pattern.n_right:
        return "No one"
    if pattern.right is None:
        return f"{pattern.n_right} of {len(team)}"
    names = [m.display_name for m in members if m.name in pattern.right]
    return f"Only {names[0]}" if len(names) == 1 else f.listing(names)


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
    """What a Bayesian fit says of the team's members."""
    if answer.fit is None:
        return None
    team = short(answer.result.team, answer.members)
    columns = (
        c.text("Quantity", "0"),
        c.shown("Mean", "1"),
        c.shown("95% credible interval", "2"),
    )
    caption = f"Posterior of {team}"
    tables = _as(OpenTable, c.page_table(caption, columns, posterior_rows(answer.fit)))
    methods = [answer.fit.priors, words.diagnostics(answer.fit)]
    text = paragraphs(*words.posterior_explained(answer.fit))
    question = "How sensitive are members, and how much evidence do they share?"
    block = Block("", "", text=text, tables=tables, methods=methods)
    return _section("posterior", "Fit of the members", question, block)
