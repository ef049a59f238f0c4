"""Entities of the experiment, with the rules that a database can hold."""

from experiment.models.counts import DataRevision, ItemCount, PeopleCount
from experiment.models.exports import TrialExport
from experiment.models.items import Item, work_name
from experiment.models.participants import Participant
from experiment.models.studies import ConsentVersion, Study, StudyItem, StudyText
from experiment.models.trials import Judgment, Trial
from experiment.models.versions import StudyVersion

__all__ = [
    "ConsentVersion",
    "DataRevision",
    "Item",
    "ItemCount",
    "Judgment",
    "Participant",
    "PeopleCount",
    "Study",
    "StudyItem",
    "StudyText",
    "StudyVersion",
    "Trial",
    "TrialExport",
    "work_name",
]
