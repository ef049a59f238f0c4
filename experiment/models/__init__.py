"""Entities of the experiment, with the rules that a database can hold."""

from experiment.models.items import Item, work_name
from experiment.models.participants import Judgment, Participant, Trial
from experiment.models.studies import ConsentVersion, Study, StudyItem

__all__ = [
    "ConsentVersion",
    "Item",
    "Judgment",
    "Participant",
    "Study",
    "StudyItem",
    "Trial",
    "work_name",
]
