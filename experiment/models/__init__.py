"""Entities of the experiment, with the rules that a database can hold."""

from experiment.models.advice import Advice, AdvisedTrial, Adviser
from experiment.models.arms import Arm
from experiment.models.arrivals import Arrivals
from experiment.models.by_hand import ExcludedByHand
from experiment.models.channels import Channel, RecruitmentRecord
from experiment.models.counts import DataRevision, ItemCount, PeopleCount
from experiment.models.curation import (
    Comment,
    Explanation,
    ItemChange,
    ItemScratch,
    Review,
    SavedView,
)
from experiment.models.items import Item, work_name
from experiment.models.participants import Participant
from experiment.models.payments import PaymentBatch, PaymentLine
from experiment.models.people import AccessToken, AuditEvent, Invitation, Membership, SignInAttempts
from experiment.models.research_fields import (
    FieldMember,
    QuestionTemplate,
    ResearchField,
    Subfield,
    WrittenAnswer,
)
from experiment.models.studies import ConsentVersion, Study, StudyItem, StudyText
from experiment.models.survey import SurveyAnswer, SurveyQuestion
from experiment.models.trials import Judgment, Trial
from experiment.models.versions import StudyVersion
from experiment.models.work import DryRun, ItemImport, Purge, RuleApplication, TrialExport

__all__ = [
    "AccessToken",
    "Advice",
    "AdvisedTrial",
    "Adviser",
    "Arm",
    "Arrivals",
    "AuditEvent",
    "Channel",
    "Comment",
    "ConsentVersion",
    "DataRevision",
    "DryRun",
    "ExcludedByHand",
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
    "PaymentBatch",
    "PaymentLine",
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
    "SurveyAnswer",
    "SurveyQuestion",
    "Trial",
    "TrialExport",
    "WrittenAnswer",
    "work_name",
]
