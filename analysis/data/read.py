"""The only place that turns database rows into tables: one pass per table, as the database is at one moment."""

from functools import partial
from typing import Any

import pandas as pd

from analysis.data import advised, machines, people, tokens
from analysis.data.dataset import SourceData
from analysis.data.filters import OF_STUDY, SOURCES, ReportOptions, UnknownChoiceError
from analysis.data.graded import read as graded
from analysis.data.items import read_items
from analysis.data.runs import counting_runs
from analysis.data.version import participants_kind
from experiment.models import Item, Participant, Study
from experiment.services.counts import judgments_of, people_of
from experiment.services.exclusions import verdicts
from experiment.services.study_versions import UnknownVersionError, rules_of
from lib.locks import snapshot


def sources_of(study: Study, options: ReportOptions) -> tuple[str, ...]:
    """Those that are asked for, of which the study has pairs.

    Raises:
        UnknownChoiceError: it has none of the one that is asked for.
    """
    found = tuple(one for one in SOURCES if options.source in ("all", one) and study.has(one))
    if options.source in SOURCES and not found:
        raise UnknownChoiceError(f"source: the study has no {options.source}-created test cases")
    return found


def read(
    study: Study, options: ReportOptions, *, only_pairs: bool = False
) -> dict[str, SourceData]:
    """Source -> its tables, with the options' filters applied; under OF_STUDY what is of the whole study, without test cases.

    only_pairs: trials and scores on test cases, which is all that teams need: no corpora, and nothing of the whole study.

    Raises:
        UnknownChoiceError: a source, model, subfield or version of rules of the options is not in the study.
    """
    sources = sources_of(study, options)
    kind = participants_kind(study, options)
    is_imported = kind == Participant.Kind.IMPORTED
    whole: dict[str, Any] = {}
    answered = None
    with snapshot():
        taking_part, judgments = people_of(study, kind), judgments_of(study, kind)
        decided = None  # what is stored holds
        if options.rules is not None:
            try:
                rules = rules_of(study, kind, options.rules)
            except UnknownVersionError as error:
                raise UnknownChoiceError(f"rules: {error}") from error
            decided = verdicts(study, kind, rules.exclusion_rules)
        items = read_items(study, options)
        # People: all whom the study counts, of whom some judged other test cases as well, joined from elsewhere
        persons = people.read_participants(taking_part)
        judged = people.read_judged(taking_part, judgments, decided)
        # What they answered by themselves, where an adviser spoke too
        assigned = advised.read_advised(study, taking_part, judged)
        own = advised.own_answers(judged, assigned)
        # Models, on the same test cases
        runs = counting_runs(study, items["pk"].tolist(), options, is_imported)
        # Those that answered questions alone may be chosen too
        others = graded.answering_models(study) if options.models else ()
        scored = machines.read(study, runs, options, others)
        if not only_pairs:
            written = people.read_answered(study, taking_part, judgments, decided)
            here, answers = people.analysed_of(judged), people.analysed_of(written)
            here = here[here["item"].isin(items["pk"])]
            whole = {
                "flow": people.read_flow(study, kind, taking_part, judged, written, decided),
                "taking_part": people.read_taking_part(
                    study, kind, taking_part, persons, here, answers
                ),
                "corpora": machines.read_corpora(scored.numbers, is_imported),
                "trainings": machines.read_trainings(scored.numbers),
            }
            answered = graded.read(study, kind, options, decided)
    known = set(items["subfield"])
    if unknown := sorted(set(options.subfields) - known):
        raise UnknownChoiceError(
            f"subfields: the study does not have “{unknown[0]}”. Choose from {', '.join(sorted(known))}."
        )
    if options.subfields:
        items = items[items["subfield"].isin(options.subfields)]
    shared: dict[str, Any] = {
        **whole,
        "participants": persons.drop(columns="pk"),
        "models": scored.models,
        "position_order": people.POSITION_ORDER,
        "has_set": scored.has_set,
        "is_filtered": bool(options.models or options.subfields or options.method),
        "has_all_trials": options.trials == "all",
        "run_prompts": scored.prompts,
        "is_brainbench": bool((items["collection"] == Item.Collection.BRAINBENCH.value).any()),
        "seed": options.seed,
        "resamples": options.resamples,
        "study_slug": study.slug,
        "adviser_name": advised.adviser_name(study) if len(assigned) else "",
    }
    numbers = pd.Index(persons["pk"])
    own, assigned = (
        table.assign(participant=numbers.get_indexer(pd.Index(table["participant"])))
        for table in (own, assigned)
    )
    return {
        source: SourceData(
            **shared,
            graded=answered if source == OF_STUDY else None,
            **_of_source(source, items, own, assigned, scored, options),
        )
        for source in (*(() if only_pairs else (OF_STUDY,)), *sources)
    }


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
    numbers = pd.Index(own["pk"])
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


def _about(table: pd.DataFrame, items: pd.Index) -> pd.DataFrame:
    """The rows about these items, numbered as they are."""
    number = items.get_indexer(pd.Index(table["item"]))
    return table.assign(item=number)[number >= 0].reset_index(drop=True)
