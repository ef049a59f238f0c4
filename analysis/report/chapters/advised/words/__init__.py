"""The chapter on decisions with advice: its page, and in the other modules of this folder its sentences and captions."""

from collections.abc import Iterator, Sequence

from analysis import columns as c
from analysis.codec import MissingResult, present
from analysis.presentation import Table, itemised, paragraphs, sentences
from analysis.report.chapter import About, Page, SourceResults
from analysis.report.chapters.advised.own_answers import RULE
from analysis.report.chapters.advised.results import (
    AccuracyWithAdvice,
    Advised,
    RealAndComputed,
    Reliance,
    analyses_of,
    calibrations_of,
    measures_of,
)
from analysis.report.chapters.advised.tables import (
    ANALYSES,
    CALIBRATIONS,
    COMPARISONS,
    CONDITIONS,
    DECISIONS,
    REALISED,
    RELIANCE,
    TESTS,
    effect_name,
    effects_table,
)
from analysis.report.chapters.advised.words.accuracy import after_advice, on_accuracy, times
from analysis.report.chapters.advised.words.reliance import moved, on_reliance
from analysis.report.chapters.advised.words.teams import on_teams
from analysis.stats.families import Questions
from analysis.stats.reliance.moderators import Moderators

OTHER_CHAPTERS = f"People and models are compared without advice in all other chapters. {RULE}"


def advised_page(source: SourceResults, about: About) -> Page:
    own = source.of(Advised)
    accuracy, reliance = present(own.advised_accuracy), present(own.advised_reliance)
    teams, tests = present(own.advised_teams), present(own.advised_tests)
    models = _models(accuracy, reliance)
    tables: list[Table] = []
    if accuracy:
        others = "Arms compared in other analyses"
        tables += c.page_table("Accuracy by arm", CONDITIONS, accuracy.conditions, "advised")
        tables += c.page_table("Arms compared", COMPARISONS, accuracy.comparisons, "advised_arms")
        tables += c.page_table(others, ANALYSES, analyses_of(accuracy), "advised_analyses")
    if reliance:
        rated, measures = "Confidence before and after advice", measures_of(reliance)
        tables += c.page_table("Reliance on advice", RELIANCE, measures, "advised_reliance")
        tables += c.page_table(
            rated, CALIBRATIONS, calibrations_of(reliance), "advised_calibration"
        )
    if teams:
        decide, gain = "Who decides, on the same trials", "Computed gain that is realised"
        tables += c.page_table(decide, DECISIONS, teams.deciders, "advised_deciders")
        tables += c.page_table(gain, REALISED, teams.teams, "advised_realised")
    if tests:
        together = "Tests of this chapter, corrected together"
        tables += c.page_table(together, TESTS, tests.questions, "advised_tests")
    finding = after_advice(accuracy) if accuracy else ""
    return Page(
        text=[
            *paragraphs(finding),
            *(on_accuracy(accuracy) if accuracy else ()),
            *(on_reliance(reliance) if reliance else ()),
            *(on_teams(teams) if teams else ()),
            *itemised(moved(present(reliance.switching)) if reliance else ()),
            *paragraphs(
                _without_switching(reliance) if reliance else "",
                *_separated(models),
                *(times(accuracy) if accuracy else ()),
                OTHER_CHAPTERS,
            ),
        ],
        tables=[
            *tables,
            *(table for caption, model in models for table in effects_table(caption, model)),
        ],
        methods=list(dict.fromkeys(_methods(accuracy, reliance, teams, tests))),
        finding=finding,
    )


def _without_switching(reliance: Reliance) -> str:
    found = reliance.switching
    if not isinstance(found, MissingResult):
        return ""
    return sentences(
        "What switching to the advice depends on is not estimated, and is no question of this chapter's family.",
        found.reason,
        found.needed,
    )


def _models(
    accuracy: AccuracyWithAdvice | None, reliance: Reliance | None
) -> list[tuple[str, Moderators]]:
    every = (
        ("What accuracy depends on", accuracy and present(accuracy.model)),
        ("What accuracy after advice depends on", accuracy and present(accuracy.confidence_model)),
        ("What switching to the advice depends on", reliance and present(reliance.switching)),
    )
    return [(caption, model) for caption, model in every if model]


def _separated(models: Sequence[tuple[str, Moderators]]) -> Iterator[str]:
    for caption, model in models:
        effects = [effect_name(one) for one in model.effects if one.separates]
        if effects:
            yield (
                f"{caption}: in these trials, the outcome follows without exception from {'; '.join(effects)} (complete separation). "
                "The effects in the table therefore have Firth's penalty and no intervals, and nothing is concluded from this model."
            )


def _methods(
    accuracy: AccuracyWithAdvice | None,
    reliance: Reliance | None,
    teams: RealAndComputed | None,
    tests: Questions | None,
) -> Iterator[str]:
    if accuracy:
        yield accuracy.method
    if reliance:
        yield reliance.method
        arms = reliance.conditions
        measured = (
            *(arm.weight for arm in arms),
            *(arm.detection for arm in arms),
            *(arm.calibration for arm in arms),
        )
        yield from (own.method for own in measured if not isinstance(own, MissingResult))
    for _caption, model in _models(accuracy, reliance):
        yield from (model.rule, model.method)
    if teams:
        yield teams.method
        for team in teams.teams:
            yield from (team.realised.method, team.rule)
    if tests:
        yield tests.method
