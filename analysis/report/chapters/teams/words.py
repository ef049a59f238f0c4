"""The chapter on teams, as sentences. Its tables are in tables.py."""

from collections.abc import Iterator, Sequence

from analysis.codec import need, present
from analysis.presentation import Paragraph, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.teams.results import Teams
from analysis.report.chapters.teams.tables import of_panel, tables
from analysis.stats.verdicts import Verdict
from analysis.teams.names import (
    METHOD_NAMES,
    called,
    capitalised,
    inserted,
    method_name,
    the_member,
)
from analysis.teams.results import (
    MemberKind,
    Method,
    Policy,
    Sizes,
    TeamingResult,
    TeamResult,
)
from analysis.teams.words import (
    TOO_FEW,
    adding_one,
    brackets,
    few_cases,
    how_accurate,
    near_chance,
    row_noun,
    ties,
    together,
)
from lib import formatting as f
from lib.extremes import highest

DEFERRAL = {
    Verdict.ABOVE: "asking raises the accuracy",
    Verdict.UNCLEAR: "this is no clear change",
    Verdict.TOO_FEW: f"{TOO_FEW} it changes",
}


ONE_MODEL = (
    "A language model that was both scored and asked is a member only once, by its perplexities."
)


def teams_page(source: SourceResults, about: About) -> Page:
    found = need(source.of(Teams).teaming)
    every = teams_of(found, Method.LOGISTIC)
    tried = of_panel(found, every) or every
    best = max(tried, key=lambda r: r.accuracy, default=None)
    partner = found.partner
    caution, first, tied = few_cases(found.few_items), "", ""
    if best:
        others = [called(row.team) for row in highest(tried, lambda r: r.accuracy)[1:]]
        same = others if len(others) < 3 else [f"{len(others)} others"]
        these = f"{f.listing(['this one', *same])} {f.verb(1 + len(others), 'has', 'have')}"
        selected = (
            f"Of {len(tried)} teams combined by logistic regression, on held-out test cases, {these} the highest observed accuracy. Its accuracy is biased upwards "
            "because it was selected as the best."
        )
        first = sentences(
            how_accurate(best, the_member(best.best) if best.best else ""),
            selected if len(tried) > 1 else "",
        )
    if partner:
        tying = [m for m in found.members if m.n_ties and m.name in partner.team.names]
        tied = ties(tying, partner.n_trials, partner.method, partner)
    text = [
        *([Paragraph(caution, is_strong=True)] if caution else ()),
        *paragraphs(
            first,
            near_chance(best) if best else "",
            _panel(found, best),
            _better_models(found, best),
            *_adding(found, partner, is_simulated=about.is_simulated),
            together(partner, called(partner.team)) if partner else "",
            tied,
            _reach(tried),
            *_deferral(found, best, is_simulated=about.is_simulated),
            _shared_evidence(found, is_simulated=about.is_simulated),
            _by_size(present(found.sizes), is_simulated=about.is_simulated),
        ),
    ]
    return Page(
        text=text,
        tables=tables(found),
        methods=_methods(found),
        finding=sentences(caution, first),
    )


def teams_of(found: TeamingResult, method: Method) -> list[TeamResult]:
    """A method's teams, without members by themselves."""
    return list(found.by_method().get(method, ()))


def _person(*, is_simulated: bool) -> str:
    return "simulated participant" if is_simulated else "human"


def _panel(found: TeamingResult, best: TeamResult | None) -> str:
    """Sentence on the members of the teams. best: of these teams."""
    if best is None or not found.panel:
        return ""
    members = {m.name: m.member for m in found.members}
    names = f.listing([the_member(members[name]) for name in found.panel])
    n, n_members = len(found.panel), len(members)
    which = f"{n} of the study's {n_members} members" if n_members > n else "all members"
    rule = inserted(found.panel_rule)
    left_out = f.listing([the_member(m.member) for m in found.members if m.accuracy is None])
    return sentences(
        f"The teams here are those of {which}, {names}"
        + (f". By default, the members are {rule}." if rule else "."),
        f"These did not judge every test case that the others judged, and are in no team: {left_out}."
        if left_out
        else "",
        "Accuracies here are shares of trials: a test case counts as often as people judged it, also for a model."
        if best.is_judged
        else "",
    )


def _better_models(found: TeamingResult, best: TeamResult | None) -> str:
    """The most accurate of the single models that are better than every team shown, and how many others there are."""
    alone = {row.team.names: row for row in found.logistic if row.method == Method.ALONE}
    better = [
        (m, alone[m.name,])
        for m in found.members
        if best and m.kind == MemberKind.MODEL and (m.accuracy or 0) > best.accuracy
    ]
    if not better:
        return ""
    model, by_itself = max(better, key=lambda one: one[0].accuracy or 0)
    right = f.with_interval(f.percent(model.accuracy), f.share_interval(by_itself.accuracy_ci95))
    n_others = len(better) - 1
    others = "one other model" if n_others == 1 else f"{n_others} other models"
    return sentences(
        f"On the same {row_noun(by_itself)}, the best single model of the study, {model.display_name}, was right in {right} on its own.",
        f"It and {others} had a higher observed accuracy than any of these teams, which is not tested."
        if n_others
        else "This is a higher observed accuracy than that of any of these teams, which is not tested.",
    )


# --- What one more person adds.


def _adding(
    found: TeamingResult, partner: TeamResult | None, *, is_simulated: bool
) -> Iterator[str]:
    """Gains from one human of the best model, of the panel's models together, and over all models."""
    to_models = [
        row for row in found.adding_human if row.method == Method.LOGISTIC and not row.team.humans
    ]
    if not to_models:
        return
    largest = max(to_models, key=lambda row: len(row.team))
    label = partner.team.label if partner else ""
    first = next((row for row in to_models if row.with_human == label), largest)
    for row in [first] if first is largest else [first, largest]:
        yield adding_one(row, is_simulated=is_simulated)

    # For how many models a person helps, harms, or does neither for certain; nothing where there are too few rows to say
    single = {row.team.label: row for row in to_models if len(row.team) == 1}
    verdicts = [row.verdict for row in single.values()]
    above, below, unclear = (
        verdicts.count(of) for of in (Verdict.ABOVE, Verdict.BELOW, Verdict.UNCLEAR)
    )
    n = len(verdicts)
    if n < 2 or above + below + unclear < n:
        return
    n_tests = max(row.n_tests or 0 for row in single.values())
    corrected = f"after Holm's correction over {n_tests} comparisons"
    person = _person(is_simulated=is_simulated)
    if unclear == n:
        yield f"For all {n} models, adding one {person} makes no clear change, {corrected}."
        return
    changes = [
        *([f"{above} {f.verb(above, 'gains', 'gain')} accuracy"] if above else ()),
        *([f"{below} {f.verb(below, 'loses', 'lose')} accuracy"] if below else ()),
    ]
    others = "one" if unclear == 1 else f"{unclear}"
    rest = f"; for the other {others}, there is no clear change" if unclear else ""
    changed = " and ".join(changes)
    yield f"When one {person} is added to each of {n} models, {changed}, {corrected}{rest}."


def _reach(tried: Sequence[TeamResult]) -> str:
    """How often someone in the largest team was right."""
    if not tried:
        return ""
    largest = max(tried, key=lambda r: len(r.team))
    reach = f.with_interval(
        f.percent(largest.selector_accuracy), f.share_interval(largest.selector_accuracy_ci95)
    )
    return (
        f"Of {called(largest.team)}, at least one member was right on {reach} of {row_noun(largest)}, where a tie counts half, and the team "
        f"on {f.percent(largest.accuracy)}. A team cannot be expected to reach the first number, which rises with every additional member, "
        "even one that guesses."
    )


# --- Deferral: a model decides alone where it is confident.


def _deferral(
    found: TeamingResult, best: TeamResult | None, *, is_simulated: bool
) -> Iterator[str]:
    """A paragraph on the panel's most accurate model; on each of them, if several are equally so."""
    of_panel = [m for m in found.members if m.kind == MemberKind.MODEL and m.name in found.panel]
    most = max((m.accuracy for m in of_panel if m.accuracy is not None), default=None)
    models = [m for m in of_panel if m.accuracy is not None and m.accuracy == most]
    which = "the most accurate model"
    if len(models) > 1:
        which = f"one of the {len(models)} most accurate models"
    person = _person(is_simulated=is_simulated)
    for model in models:
        chosen = [row for row in found.policies_chosen if row.team.names == (model.name,)]
        chosen.sort(key=lambda row: list(Policy).index(row.policy))
        if not chosen:
            continue
        of = row_noun(best) if best else "trials"
        policies = []
        for row in chosen:
            who = "the team" if row.policy is Policy.TEAM else f"the {person}"
            right = f.with_interval(f.percent(row.accuracy), f.share_interval(row.accuracy_ci95))
            change = (
                f"{f.points(row.accuracy - (model.accuracy or 0))} points{brackets(row.gain_ci95)}"
            )
            if f.is_known(row.gain_p_holm):
                change += f", after Holm {f.p_value(row.gain_p_holm)}"
            if row.gain_verdict:
                change += f"; {DEFERRAL[row.gain_verdict]}"
            policies.append(
                f"If {who} then decides, the accuracy is {right}, with {f.percent(row.share_asked, 0)} of trials deferred ({change})."
            )
        yield sentences(
            f"On its own, {model.display_name}, {which} in these teams, is right in {f.percent(model.accuracy)} of {of}.",
            f"In deferral, this model decides alone where it is confident, and a {person} is asked elsewhere; the threshold is chosen on "
            "other test cases.",
            *policies,
        )


# --- What the members' evidence shares, and teams by size.


def _shared_evidence(found: TeamingResult, *, is_simulated: bool) -> str:
    """The correlation of the best pair's evidence; of another pair where that one has no fit. It describes, and concludes nothing."""
    team = found.correlated_pair
    correlation = team.correlation if team else None
    if team is None or correlation is None:
        return ""
    n_people = correlation.member_kinds.count(MemberKind.HUMAN)
    one, two = ("a simulated participant's", "two simulated participants'") if is_simulated else ("a person's", "two people's")  # fmt: skip
    whose = {0: "the two models'", 2: two}.get(n_people, f"{one} and the model's")
    zero = (
        "; in this model it is above 0 whatever the data"
        if n_people == 2
        else "; 0 where their errors are independent"
    )
    return (
        f"In the Bayesian fit of {team.team.display_name}, {whose} evidence on a test case "
        f"correlates {f.coefficient(correlation.mean)} (95% credible interval "
        f"{f.coefficient_interval(correlation.ci95)}{zero}). That team "
        f"was right in {f.percent(team.accuracy)} of {row_noun(team)}, {f.points(team.gain)} points compared with its best member."
    )


def _by_size(sizes: Sizes | None, *, is_simulated: bool) -> str:
    """From the smallest to the largest teams of people, of models and of both."""
    if sizes is None:
        return ""
    accuracy = {(c.n_humans, c.n_models): c.accuracy for c in sizes.cells}
    people, models = sizes.max_humans, sizes.max_models
    wanted = dict.fromkeys([(1, 0), (people, 0), (0, 1), (0, models), (people, models)])
    shown = [
        f"{f.percent(accuracy[size])} for {_members(*size, is_simulated=is_simulated)}"
        for size in wanted
        if size in accuracy
    ]
    if len(shown) < 2:
        return ""
    cases = f.count(sizes.n_items, "test case")
    return f"Expected accuracy by size on {cases}: {f.listing(shown)}."


def _members(n_people: int, n_models: int, *, is_simulated: bool) -> str:
    """
    >>> _members(2, 1, is_simulated=False), _members(1, 0, is_simulated=True)
    ('2 people with 1 model', '1 simulated participant')
    """
    people = (
        f.count(n_people, "simulated participant")
        if is_simulated
        else f.count(n_people, "person", "people")
    )
    named = [*([people] if n_people else ()), *([f.count(n_models, "model")] if n_models else ())]
    return " with ".join(named)


# --- How it was computed.


def _methods(found: TeamingResult) -> list[str]:
    """How it was computed: what all methods share, then each method's rule."""
    shared = [ONE_MODEL, found.panel_rule, found.folds, found.ratings.rule]
    shared += [found.method, *found.measures.values(), found.multiplicity, found.policies_method]
    if teams_of(found, Method.AS_PUBLISHED):
        shared.append(
            "The combination as published follows Yáñez, Luo, Valerio Minero and Love (2025)."
        )
    # Teams near chance have a rule of their own
    first = [
        next(
            (row for row in teams_of(found, method) if (row.near_chance is None) == is_usual), None
        )
        for method in METHOD_NAMES
        for is_usual in (True, False)
    ]
    rules = [result.about.rule for result in first if result]
    rest = [part.method for part in (present(found.sizes),) if part]
    # Teams that could not be fitted, by reason
    by_reason: dict[str, list[str]] = {}
    for row in found.not_possible:
        team = f"{row.team.display_name} ({method_name(row.method)})"
        by_reason.setdefault(row.reason, []).append(team)
    rest += [f"Not possible: {f.listing(teams)}. {why}" for why, teams in by_reason.items()]
    return [capitalised(s) for s in dict.fromkeys([*shared, *rules, *rest]) if s]
