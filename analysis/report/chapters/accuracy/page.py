"""What the chapter on accuracy shows."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from analysis.codec import present
from analysis.presentation import Table, number_column, table, text_column
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.accuracy.results import (
    Accuracy,
    HumanAccuracy,
    ModelAccuracy,
    ModelsMean,
    Positions,
    SubfieldAccuracy,
    Subfields,
    Trials,
)
from analysis.stats.estimates import PairedTest, Proportion
from lib import formatting as f

SAME_POINTS = 0.05  # differences below are shown as no difference


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
    context = {
        "humans": humans,
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
        *_humans_table(humans),
        *_models_table(_("Language models"), models, "models"),
        *_models_table(_("Other models"), present(own.extra_models) or ()),
        *_tests_table([(name, test) for name, test in tests if test]),
    ]
    methods = [m for m in (humans and humans.trials.method, versus and versus.test.method) if m]
    return Page(context, tables, methods)


def _humans_table(humans: HumanAccuracy | None) -> list[Table]:
    if humans is None:
        return []
    top = present(humans.top_expertise)
    above = present(top.above_p80) if top else None
    rows: list[tuple[str, Proportion | None]] = [
        (_("All trials"), humans.trials),
        (_("Top expertise per test case"), top.trials if top else None),
        (_("Expertise at or above its 80th percentile"), above.trials if above else None),
    ]
    columns = [
        text_column(_("Trials")),
        number_column(_("n")),
        number_column(_("Accuracy")),
        number_column(_("95% CI")),
    ]
    cells = [
        (name, f.number(share.n, 0), f.percent(share.accuracy), f.share_interval(share.ci95))
        for name, share in rows
        if share
    ]
    return table(_("Human accuracy"), columns, cells, "humans_items")


def _models_table(caption: str, models: Sequence[ModelAccuracy], csv: str = "") -> list[Table]:
    columns = [
        text_column(_("Model")),
        text_column(_("Family")),
        text_column(_("Kind")),
        number_column(_("Test cases")),
        number_column(_("Accuracy")),
        number_column(_("95% CI")),
        number_column(_("Near-ties")),
    ]
    rows = [
        (
            m.label,
            m.family or f.DASH,
            _("chat") if m.is_chat else _("base"),
            f.number(m.items.n, 0),
            f.percent(m.items.accuracy),
            f.share_interval(m.items.ci95),
            f.number(m.n_near_ties, 0),
        )
        for m in models
    ]
    return table(caption, columns, rows, csv)


def _tests_table(tests: Sequence[tuple[str, PairedTest]]) -> list[Table]:
    columns = [
        text_column(_("Comparison")),
        number_column(_("Pairs")),
        number_column(_("Difference, points")),
        number_column(_("95% CI")),
        number_column("t"),
        number_column("df"),
        number_column("p"),
        number_column("d (av)"),
    ]
    rows = [
        (
            name,
            f.number(test.n, 0),
            f.points(test.mean_difference),
            f.points_interval(test.ci95),
            f.number(test.t),
            f.number(test.df, 0),
            f.p_cell(test.p),
            f.number(test.d_av),
        )
        for name, test in tests
    ]
    return table(_("Tests on accuracies"), columns, rows)


# --- What the chapter on subfields shows.


def subfields_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Subfields).subfields) or ()
    judged = sorted(
        ((s.humans.share.accuracy, s) for s in found if s.humans), key=lambda pair: pair[0]
    )
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
    columns = [
        text_column(_("Subfield")),
        number_column(_("Test cases")),
        number_column(_("Human trials")),
        number_column(_("Humans")),
        number_column(_("95% CI")),
        number_column(_("Models, mean")),
        number_column(_("SD")),
        number_column(_("Models below humans")),
    ]
    rows = [_row(s) for s in found]
    return Page(context, table(_("Accuracy by subfield"), columns, rows, "subfields"))


def _row(found: SubfieldAccuracy) -> tuple[str, ...]:
    return (
        found.subfield or _("not stated"),
        f.number(found.n_items, 0),
        *_humans(found.humans),
        *_models(found.models_mean),
        f.number(found.n_models_below_humans, 0),
    )


def _humans(found: Trials | None) -> tuple[str, str, str]:
    if found is None:
        return f.DASH, f.DASH, f.DASH
    share = found.share
    return f.number(share.n, 0), f.percent(share.accuracy), f.share_interval(share.ci95)


def _models(found: ModelsMean | None) -> tuple[str, str]:
    if found is None:
        return f.DASH, f.DASH
    return f.percent(found.over_models.mean), f.percent(found.over_models.sd)


# --- What the chapter on positions shows.


def positions_page(source: SourceResults, about: About) -> Page:
    found = present(source.of(Positions).positions) or ()
    context = {
        "positions": found,
        "lowest": min((p.trials.accuracy for p in found), default=None),
        "highest": max((p.trials.accuracy for p in found), default=None),
    }
    columns = [
        text_column(_("Position")),
        number_column(_("Participants")),
        number_column(_("Trials")),
        number_column(_("Accuracy")),
        number_column(_("95% CI")),
    ]
    rows = [
        (
            p.position,
            f.number(p.n_participants, 0),
            f.number(p.trials.n, 0),
            f.percent(p.trials.accuracy),
            f.share_interval(p.trials.ci95),
        )
        for p in found
    ]
    return Page(context, table(_("Accuracy by position"), columns, rows, "positions"))
