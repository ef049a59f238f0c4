"""Files that the site writes and reads: columns of exports and imports, and keys of manifests, study files and backups."""

from collections.abc import Iterable, Mapping

from analysis import data_set
from experiment.domain import export_columns, item_columns
from experiment.domain.exclusion import FLAGS
from experiment.domain.export_columns import Column
from experiment.domain.questions import columns as question_columns
from experiment.services import study_file
from experiment.services.export import files
from experiment.services.export.data_set import OF_PARTICIPANTS
from experiment.services.export.values import ITEM_COLUMNS
from lib.backup import manifest as backup
from lib.shapes import SELF, Tree, tree
from scoring.services import data_set as answers

TRIALS = {column.name: column for column in export_columns.TRIAL_COLUMNS}


def columns() -> Tree:
    """Tables and their columns: type, unit, meaning and, where values are from a list, these."""
    of_trials = (
        *export_columns.TRIAL_COLUMNS,
        *export_columns.QUESTION_COLUMNS,
        *export_columns.ARM_COLUMNS,
        *export_columns.ADVICE_COLUMNS,
    )
    reasons = {f"= {one.code}": one.sentence for one in export_columns.EXPORT_REASONS}
    flags = {f"= {one.code}": one.sentence for one in FLAGS}
    by_name = {column.name: column for column in of_trials}
    # Of the columns of trials, the meaning is said there
    same = "as in the export of trials"
    beside = ("difficulty__*", "model_correct__*", "margin_nats__*", "choice_correct__*")
    return {
        "export of trials": _described(of_trials),
        "reasons for exclusion": reasons,
        "flags of trials": flags,
        "export of identities": _described(export_columns.IDENTITY_COLUMNS),
        "table participants": {n: same for n in OF_PARTICIPANTS if n in by_name},
        "table items": {n: same for n in ITEM_COLUMNS if n in by_name},
        "table itemscores": _described(data_set.SCORES),
        "table trialsmodels": dict.fromkeys((*data_set.TRIAL, *beside), same),
        "table teampredictions": _described(data_set.PREDICTIONS),
        "table questions": _described(answers.QUESTIONS),
        "table modelanswers": _described(answers.ANSWERS),
        "table modelchoices": _described(answers.CHOICES),
        "table judgegrades": _described(answers.JUDGES),
        "table persongrades": _described(answers.PEOPLE),
        "file of test cases": dict(item_columns.MEANINGS) | _read(item_columns.VERSIONS),
        "published file of test cases": _read(item_columns.PUBLISHED),
        "file of questions": dict(question_columns.MEANINGS)
        | _read((f"*{question_columns.DIMENSION}",)),
        "published file of questions": _read(question_columns.PUBLISHED),
    }


def _described(listed: Iterable[Column]) -> Tree:
    found: Tree = {}
    for column in listed:
        kind = ", ".join(part for part in (column.type, column.unit) if part)
        meaning = f"{kind}: {column.meaning}" + (f" Empty: {column.null}." if column.null else "")
        levels = {f"= {level}": "" for level in column.levels}
        found[column.name] = {SELF: meaning, **levels} if levels else meaning
    return found


def _read(names: Iterable[str] | Mapping[str, str]) -> Tree:
    if isinstance(names, Mapping):
        return {name: f"{ours} of our own form" for name, ours in names.items()}
    return dict.fromkeys(names, "in our own form")


def keys() -> Tree:
    """The keys of JSON files besides report.json and teams.json, with the versions of their forms."""
    adviser, survey = study_file.ADVISER_FIELDS, (*study_file.SURVEY_FIELDS, "parts", "arm")
    items = (*study_file.ITEM_FIELDS, *study_file.QUESTION_FIELDS)
    parts: Tree = dict.fromkeys(study_file.PARTS, "")
    inner = {
        "study": study_file.SETTINGS,
        "arms": study_file.ARM_FIELDS,
        "adviser": adviser,
        "survey": survey,
        "channels": study_file.CHANNEL_FIELDS,
        "items": items,
    }
    parts |= {name: dict.fromkeys(listed, "") for name, listed in inner.items()}
    parts |= {"format": study_file.FORMAT, "version": str(study_file.VERSION)}
    return {
        "a study file": parts,
        "the manifest of a backup": tree(backup.Manifest) | {"format": str(backup.FORMAT)},
        "the manifest of an export": tree(files.Manifest),
    }
