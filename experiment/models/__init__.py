"""Entities of the experiment, with the rules that a database can hold."""

from experiment.models.audit import AuditEvent
from experiment.models.channels import Channel
from experiment.models.counts import DataRevision, ItemCount, PeopleCount
from experiment.models.curation import (
    Comment,
    Explanation,
    ItemChange,
    ItemScratch,
    Review,
    SavedView,
)
from experiment.models.dry_runs import DryRun
from experiment.models.exports import TrialExport
from experiment.models.item_imports import ItemImport
from experiment.models.items import Item, work_name
from experiment.models.participants import Participant
from experiment.models.people import Invitation, Membership, SignInAttempts
from experiment.models.purges import Purge
from experiment.models.questions import QuestionTemplate, WrittenAnswer
from experiment.models.recruitment import RecruitmentRecord
from experiment.models.research_fields import FieldMember, ResearchField, Subfield
from experiment.models.rule_applications import RuleApplication
from experiment.models.studies import ConsentVersion, Study, StudyItem, StudyText
from experiment.models.tokens import AccessToken
from experiment.models.trials import Judgment, Trial
from experiment.models.versions import StudyVersion

__all__ = [
    "AccessToken",
    "AuditEvent",
    "Channel",
    "Comment",
    "ConsentVersion",
    "DataRevision",
    "DryRun",
    "Explanation",
    "FieldMember",
    "Invitation",
    "Item",
    "ItemChange",
    "ItemCount",
    "ItemImport",
    "ItemScratch",
    "Judgment",
    "Membership",
    "Participant",
    "PeopleCount",
    "Purge",
    "QuestionTemplate",
    "RecruitmentRecord",
    "ResearchField",
    "Review",
    "RuleApplication",
    "SavedView",
    "SignInAttempts",
    "Study",
    "StudyItem",
    "StudyText",
    "StudyVersion",
    "Subfield",
    "Trial",
    "TrialExport",
    "WrittenAnswer",
    "work_name",
]
