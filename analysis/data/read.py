"""The only place that turns database rows into tables: one pass per table, as the database is at one moment."""

from functools import partial
from typing import Any

import pandas as pd

from analysis.data import advised, machines, people, tokens
from analysis.data.dataset import SourceData
from analysis.data.filters import OF_STUDY, SOURCES, ReportOptions, UnknownChoiceError
from analysis.data.graded import read as graded
from analysis.data.items import read_items, renumber
from analysis.data.version import participants_kind
from experiment.models import Item, Participant, Study
from experiment.services.counts import judgments_of, people_of
from experiment.services.exclusions import Verdicts, verdicts
from experiment.services.study_versions import UnknownVersionError, rules_of
from lib.locks import snapshot


def sources_of(study: Study, options: ReportOptions) -> tuple[str, ...]:
    """Those that are asked for, of which the study has pairs.

    Raises:
        UnknownChoiceError: it has none of the one that is asked for.
    """
    found = tuple(one for one in SOURCES if one in options.sources and study.has(one))
    if options.source in SOURCES and not found:
        raise UnknownChoiceError(f"source: the study has no {options.source}-created test cases")
    return found


def read(study: Study, options: ReportOptions) -> dict[str, SourceData]:
    """Source -> its tables, with the options' filters applied; under OF_STUDY what is of the whole study, without test cases.

    Raises:
        UnknownChoiceError: a source, model, subfield or version of rules of the options is not in the study.
    """
    sources = sources_of(study, options)
    kind = participants_kind(study, options)
    with snapshot():
        taking_part, judgments = people_of(study, kind), judgments_of(study, kind)
        decided = _decided(study, kind, options.rules)
        items = read_items(study, options)
        # People: all whom the study counts, of whom some judged other test cases as well, joined from elsewhere
        persons = people.read_participants(taking_part)
        judged = people.read_judged(taking_part, judgments, decided)
        written = people.read_answered(study, taking_part, judgments, decided)
        counted = people.read_flow(study, kind, taking_part, judged, written, decided)
        analysed = people.analysed_of(judged)
        here = analysed[analysed["item"].isin(items["pk"])]
        of_questions = people.analysed_of(written)
        took_part = people.read_taking_part(study, kind, taking_part, persons, here, of_questions)
        # What they answered by themselves, where an adviser spoke too
        assigned = advised.read_advised(study, taking_part, judged)
        judged = advised.own_answers(judged, assigned)
        # Models, on the same test cases and on questions
        answered = graded.read(study, kind, options, decided)
        answering = graded.answering_models(study)
        is_imported = kind == Participant.Kind.IMPORTED
        scored = machines.read(study, items, options, is_imported, answering)
    known = set(items["subfield"])
    if unknown := sorted(set(options.subfields) - known):
        raise UnknownChoiceError(
            f"subfields: the study does not have “{unknown[0]}”. Choose from {', '.join(sorted(known))}."
        )
    if options.subfields:
        items = items[items["subfield"].isin(options.subfields)]
    numbers = {pk: n for n, pk in enumerate(persons["pk"])}
    judged, assigned = (
        table.assign(participant=renumber(table["participant"], numbers))
        for table in (judged, assigned)
    )
    shared: dict[str, Any] = {
        "participants": persons.drop(columns="pk"),
        "models": scored.models,
        "corpora": scored.corpora,
        "position_order": people.POSITION_ORDER,
        "flow": counted,
        "taking_part": took_part,
        "has_set": scored.has_set,
        "is_filtered": bool(options.models or options.subfields or options.method),
        "has_all_trials": options.trials == "all",
        "run_prompts": scored.prompts,
        "trainings": scored.trainings,
        "is_brainbench": bool((items["collection"] == Item.Collection.BRAINBENCH.value).any()),
        "seed": options.seed,
        "resamples": options.resamples,
        "study_slug": study.slug,
        "adviser_name": advised.adviser_name(study) if len(assigned) else "",
    }
    return {
        source: SourceData(
            **shared,
            graded=answered if source == OF_STUDY else None,
            **_of_source(source, items, judged, assigned, scored, options),
        )
        for source in (OF_STUDY, *sources)
    }


def _decided(study: Study, kind: str, rules: int | None) -> Verdicts | None:
    """Verdicts of other rules than the newest; None where what is stored holds."""
    if rules is None:
        return None
    try:
        return verdicts(study, kind, rules_of(study, kind, rules).exclusion_rules)
    except UnknownVersionError as error:
        raise UnknownChoiceError(f"rules: {error}") from error


def _of_source(
    source: str,
    items: pd.DataFrame,
    judged: pd.DataFrame,
    assigned: pd.DataFrame,
    scored: machines.Scored,
    options: ReportOptions,
) -> dict[str, Any]:
    """Fields of SourceData for one source alone."""
    own = items[items["source"] == source].reset_index(drop=True)
    numbers = {pk: n for n, pk in enumerate(own["pk"])}
    scores = scored.scores[scored.scores["of_source"] == source].drop(columns="of_source")
    found = {}
    for condition in machines.CONDITIONS:
        table = _about(scores[scores["condition"] == condition], numbers).drop(columns="condition")
        # Only rows of `swapped` differ by seed
        found[condition] = table if condition == "swapped" else table.drop(columns="seed")
    judged, assigned = _about(judged, numbers), _about(assigned, numbers)
    trials, given = judged, assigned
    if options.trials == "analysed":
        trials, given = people.analysed_of(judged), people.analysed_of(assigned)
    full = found["full"]
    runs = {int(m): int(r) for m, r in zip(full["model"], full["run"], strict=True)}
    return {
        **found,
        "source": source,
        "items": own[["key", "subfield", "published", "is_damaged"]],
        "trials": trials[people.TRIAL_COLUMNS],
        "advised": given[advised.COLUMNS],
        "judged": judged[["participant", "item", "is_correct", *advised.REASONS]],
        "assigned": assigned,
        "choices": _about(scored.choices, numbers).drop(columns=["of_source", "run"]),
        "read_tokens": partial(tokens.read, runs, dict(own["pk"])),
    }


def _about(table: pd.DataFrame, numbers: dict[int, int]) -> pd.DataFrame:
    """The rows about these items, numbered as they are."""
    number = renumber(table["item"], numbers)
    return table.assign(item=number)[number >= 0].reset_index(drop=True)
