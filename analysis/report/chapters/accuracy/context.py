"""What the chapter on accuracy shows."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from analysis import columns as c
from analysis.codec import present
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.accuracy.results import (
    MODELS,
    POSITIONS,
    REST,
    Accuracy,
    HumanAccuracy,
    Positions,
    Subfields,
)
from analysis.report.chapters.participants.results import SMALL
from analysis.report.headline import headline
from analysis.stats.estimates import PairedTest, Proportion
from analysis.stats.verdicts import Verdict

SAME_POINTS = 0.05  # differences below are shown as no difference


HUMANS = (
    c.text(lazy("Trials"), "0"),
    c.count(lazy("n"), "1.n"),
    c.percent(lazy("Accuracy"), "1.accuracy"),
    c.share_ci(lazy("Binomial 95% CI"), "1.ci95"),
)
TESTS = (
    c.text(lazy("Comparison"), "0"),
    c.count(lazy("Pairs"), "1.n"),
    c.points(lazy("Difference, points"), "1.mean_difference"),
    c.points_ci(lazy("95% CI"), "1.ci95"),
    c.number("t", "1.t"),
    c.count("df", "1.df"),
    c.p_value("p", "1.p"),
    c.number("d (av)", "1.d_av"),
)
SUBFIELDS = (
    c.text(lazy("Subfield"), lambda row: row.subfield or lazy("not stated")),
    c.count(lazy("Test cases"), "n_items"),
    c.count(lazy("Human trials"), "humans.n"),
    c.percent(lazy("Humans"), "humans.accuracy"),
    c.share_ci(lazy("95% CI"), "humans.ci95"),
    c.percent(lazy("Models, mean"), "models_mean.over_models.mean"),
    c.percent(lazy("SD"), "models_mean.over_models.sd"),
    c.count(lazy("Models below humans"), "n_models_below_humans"),
)


def accuracy_page(source: SourceResults, about: About) -> Page:
    own = source.of(Accuracy)
    humans, versus, chat = (
        present(own.humans),
        present(own.models_vs_humans),
        present(own.base_vs_chat),
    )
    models = present(own.models) or ()
    difference = versus.test.mean_difference if versus else None
    if difference is None and humans and len(models) == 1:
        difference = models[0].items.accuracy - humans.trials.accuracy
    chat_test = present(chat.test) if chat else None
    answer = headline(source)
    context = {
        "humans": humans,
        "humans_ci95": answer.humans and answer.humans.ci95,
        "models_ci95": answer.models and answer.models.ci95,
        "is_few": answer.verdict is Verdict.TOO_FEW,
        "top": present(humans.top_expertise) if humans else None,
        "models": models,
        "model": models[0] if len(models) == 1 else None,
        "extra_models": present(own.extra_models),
        "mean": present(own.models_mean),
        "lowest": min((m.items.accuracy for m in models), default=None),
        "highest": max((m.items.accuracy for m in models), default=None),
        "versus": versus,
        "difference": difference,
        "is_same": difference is not None and abs(100 * difference) < SAME_POINTS,
        "chat": chat,
        "chat_test": chat_test,
    }
    tests: list[tuple[str, PairedTest | None]] = [
        (_("Models against humans"), versus.test if versus else None),
        (_("Base against chat models"), chat_test),
    ]
    tables = [
        *c.page_table(_("Human accuracy"), HUMANS, _human_shares(humans), "humans_items"),
        *c.page_table(_("Language models"), MODELS, models, "models"),
        *c.page_table(_("Other models"), MODELS, present(own.extra_models) or ()),
        *c.page_table(_("Tests on accuracies"), TESTS, [row for row in tests if row[1]]),
    ]
    methods = [m for m in (humans and humans.trials.method, versus and versus.test.method) if m]
    return Page(context, tables, methods)


def _human_shares(humans: HumanAccuracy | None) -> list[tuple[str, Proportion]]:
    if humans is None:
        return []
    top = present(humans.top_expertise)
    above = present(top.above_p80) if top else None
    rows = (
        (_("All trials"), humans.trials),
        (_("Top expertise per test case"), top.trials if top else None),
        (_("Expertise at or above its 80th percentile"), above.trials if above else None),
    )
    return [(name, share) for name, share in rows if share]


# --- What the chapter on subfields shows.


def subfields_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Subfields).subfields) or ()
    judged = sorted(((s.humans.accuracy, s) for s in found if s.humans), key=lambda pair: pair[0])
    compared = [
        s.models_mean.over_models.mean > right for right, s in judged if s.models_mean is not None
    ]
    context = {
        "lowest": judged[0][1] if len(judged) > 1 else None,
        "highest": judged[-1][1] if len(judged) > 1 else None,
        "n_compared": len(compared),
        "n_above": sum(compared),
        "has_one_model": len(present(source.of(Accuracy).models) or ()) == 1,
    }
    tables = c.page_table(_("Accuracy by subfield"), SUBFIELDS, found, "subfields")
    return Page(context, tables)


# --- What the chapter on positions shows.


def positions_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Positions).positions) or ()
    named = [p for p in found if p.position != REST]
    context = {
        "positions": named,
        "has_rest": len(named) < len(found),
        "lowest": min((p.trials.accuracy for p in named), default=None),
        "highest": max((p.trials.accuracy for p in named), default=None),
        "small": SMALL,
    }
    return Page(context, c.page_table(_("Accuracy by position"), POSITIONS, found, "positions"))
