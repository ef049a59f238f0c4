"""What the chapter on models that were asked shows."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from analysis import columns as c
from analysis.codec import MissingResult, present
from analysis.presentation import Table
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.asked.results import (
    CONFIDENCES,
    MODELS,
    NO_PROBABILITY,
    PAIRS,
    READ,
    STATED,
    Asked,
    AskedModel,
    confidences_of,
    paired_of,
)
from analysis.stats.choices import Position
from analysis.stats.families import TOGETHER
from analysis.stats.verdicts import Verdict
from lib import formatting as f


def asked_page(source: SourceResults, about: About) -> Page:
    models = present(source.of(Asked).asked) or ()
    pairs = paired_of(models)
    both = [(model, found) for model in pairs if (found := present(model.paired))]
    differences = [found.difference for _model, found in both]
    verdicts = [found.verdict for _model, found in both]
    shares = [share.accuracy for model in models if (share := present(model.judged))]
    positions = [(m, own) for m in models if (own := present(m.position))]
    confidences = list(confidences_of(models))
    context = {
        "n_models": len(models),
        "pair": both[0] if len(both) == 1 else None,
        "n_pairs": len(both),
        "n_lower": verdicts.count(Verdict.BELOW),
        "n_higher": verdicts.count(Verdict.ABOVE),
        "n_too_few": verdicts.count(Verdict.TOO_FEW),
        "least": min(differences, default=None),
        "most": max(differences, default=None),
        "lowest": min(shares, default=None),
        "highest": max(shares, default=None),
        "positions": [pair for pair in positions if _says_something(pair[1])],
        "has_positions": any(own.verdict is not Verdict.TOO_FEW for _model, own in positions),
        "unread": [(m, _ends(m), present(m.judged)) for m in models if m.n_unread],
        "no_probability": f.listing([m.label for m in models if _has_no_probability(m)]),
        "stated": [(model, own) for model, kind, own in confidences if kind == STATED],
    }
    tables = [
        *c.page_table(_("Models asked and scored"), PAIRS, pairs, "asked_pairs"),
        *c.page_table(_("Models that were asked"), MODELS, models, "asked"),
        *c.page_table(_("Confidence and accuracy"), CONFIDENCES, confidences, "asked_confidence"),
        *_people(models),
        *_states(models),
    ]
    return Page(context, tables, _methods(models, [own for _model, own in positions]))


def _says_something(own: Position) -> bool:
    """Whether a model prefers a side, or names the same one without exception."""
    return own.verdict.is_clear or own.answers.share in (0.0, 1.0)


def _has_no_probability(model: AskedModel) -> bool:
    found = model.p_original
    return isinstance(found, MissingResult) and found.reason == NO_PROBABILITY[0]


def _ends(model: AskedModel) -> str:
    """How the answers that cannot be read ended, with numbers."""
    return f.listing([f"{s.n:,} {s.state}" for s in model.states if s.state != READ])


def _people(models: Sequence[AskedModel]) -> list[Table]:
    columns = (
        c.text(_("Model"), "label"),
        c.percent(_("Model's accuracy"), "judged.accuracy"),
        c.percent(_("Its stated confidence"), "stated.mean_confidence"),
        c.number(_("Seconds per answer"), "seconds_median", digits=1),
        c.count(_("Human trials"), "people.n_trials"),
        c.percent(_("Humans' accuracy"), "people.accuracy"),
        c.share_ci(_("95% CI"), "people.ci95"),
        c.number(_("Their confidence, 1 to 100"), "people.mean_confidence", digits=1),
        c.number(_("Seconds per trial"), "people.seconds_median", digits=1),
    )
    rows = [model for model in models if present(model.people)]
    caption = _("People on the test cases that each model judged; times are medians")
    return c.page_table(caption, columns, rows)


def _states(models: Sequence[AskedModel]) -> list[Table]:
    names = list(dict.fromkeys(state.state for model in models for state in model.states))

    def number(name: str) -> c.Column:
        return c.count(name, lambda m: sum(s.n for s in m.states if s.state == name))

    columns = (c.text(_("Model"), "label"), c.count(_("Answers"), "n_answers"), *map(number, names))
    return c.page_table(_("How the answers ended"), columns, models, "asked_states")


def _methods(models: Sequence[AskedModel], positions: Sequence[Position]) -> list[str]:
    """Each once: they are the same for all models but for the filled bins."""
    paired = [found.method for model in models if (found := present(model.paired))]
    stated = [own for _model, _kind, own in confidences_of(models)]
    methods = [*paired, *(one.method for one in positions)]
    methods += [text for one in stated[:1] for text in (one.method, one.error.method)]
    methods += [TOGETHER] if methods else []
    return list(dict.fromkeys([*methods, *(one.error.ci_method for one in stated)]))
