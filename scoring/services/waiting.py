"""Work that waits for one person, of all fields and studies: reviews, revisions, answers to grade or to settle, and decisions about studies."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.urls import reverse

from experiment.domain.roles import Right
from experiment.models import FieldMember, Participant, ResearchField, Review, Study
from experiment.services import consenting, work
from experiment.services.counts import n_valid_of
from experiment.services.curation.reviews import n_waiting_for as n_reviews_of
from experiment.services.curation.reviews import sent_back_to
from experiment.services.members import asked_to_join
from experiment.services.payments import PROMISES, n_unpaid_soon
from experiment.services.rights import fields_of, studies_with
from lib.formatting import count
from scoring.models import GradingPlan
from scoring.services.grading import people

LATELY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Task:
    """A link to work that waits, with what somebody said of it."""

    label: str
    url: str
    words: str = ""


@dataclass(frozen=True, slots=True)
class Reviews:
    """Test cases, or questions, of a field that wait for the person's verdict."""

    field: ResearchField
    n: int
    are_questions: bool

    @property
    def task(self) -> Task:
        noun, address = (
            ("question", "lab:questions") if self.are_questions else ("test case", "lab:field")
        )
        narrowed = "?status=in_review" if self.are_questions else "?is_waiting=on"
        url = reverse(address, args=[self.field.slug]) + narrowed
        return Task(f"Review {count(self.n, noun)} of {self.field.name}", url)


@dataclass(frozen=True, slots=True)
class Revision:
    """A verdict on what the person wrote, with which it cannot be accepted as it is."""

    review: Review
    field: ResearchField

    @property
    def task(self) -> Task:
        item, asked = self.review.item, self.review.verdict == Review.Verdict.REVISE
        url = reverse("lab:item", args=[self.field.slug, item.pk])
        what = f"{item} of {self.field.name}"
        return Task(f"Revise {what}" if asked else f"{what} was rejected", url, self.review.text)


@dataclass(frozen=True, slots=True)
class Grades:
    """Answers of a study that the person could grade, and those to settle, on which two people differ."""

    study: Study
    n: int
    n_to_settle: int

    @property
    def tasks(self) -> list[Task]:
        title, args = self.study.title, [self.study.slug]
        tasks = []
        if self.n:
            label = f"Grade {count(self.n, 'answer')} of {title}"
            tasks.append(Task(label, reverse("lab:grade", args=args)))
        if self.n_to_settle:
            label = (
                f"Settle {count(self.n_to_settle, 'answer')} of {title} on which two people differ"
            )
            tasks.append(Task(label, reverse("lab:adjudicate", args=args)))
        return tasks


@dataclass(frozen=True, slots=True)
class Decision:
    """An open study that goes on only if somebody decides."""

    study: Study
    is_full: bool  # the target is reached, and no arm lacks its share
    is_over: bool  # its last day has passed
    n_valid: int

    @property
    def state(self) -> str:
        if self.is_full:
            n = count(self.n_valid, "valid participant")
            return f"{self.study.title} has reached its target with {n}"
        return f"The last day of {self.study.title} has passed"

    @property
    def choice(self) -> str:
        """The words of the decision."""
        return f"close it or {'raise the target' if self.is_full else 'choose another day'}"


@dataclass(frozen=True, slots=True)
class Unpaid:
    """Participants of a study who are owed a payment, and whose IDs are about to be erased."""

    study: Study
    n: int

    @property
    def task(self) -> Task:
        label = f"Pay {count(self.n, 'participant')} of {self.study.title} whose IDs are erased within 7 days"
        return Task(label, reverse("lab:pay", args=[self.study.slug]))


@dataclass(frozen=True, slots=True)
class Waiting:
    reviews: Sequence[Reviews]
    revisions: Sequence[Revision]
    grades: Sequence[Grades]
    decisions: Sequence[Decision]
    asked: Sequence[FieldMember]  # to join a field
    unpaid: Sequence[Unpaid] = ()

    @property
    def n(self) -> int:
        """Test cases, answers, studies and fields together."""
        graded = sum(each.n + each.n_to_settle for each in self.grades)
        decided = len(self.decisions) + len(self.asked) + len(self.unpaid)
        return sum(each.n for each in self.reviews) + len(self.revisions) + graded + decided

    @property
    def tasks(self) -> list[Task]:
        """Reviews, revisions, grades, differences and payments, each with the way to its page."""
        graded = (task for each in self.grades for task in each.tasks)
        reviews = (each.task for each in self.reviews)
        revisions = (each.task for each in self.revisions)
        unpaid = (each.task for each in self.unpaid)
        return [*reviews, *revisions, *graded, *unpaid]


def waiting_for(user: User, now: datetime) -> Waiting:
    counted = n_reviews_of(user)
    fields = fields_of(user).in_bulk({name for name, _ in counted}, field_name="name")
    reviews = [Reviews(fields[name], n, asked) for (name, asked), n in sorted(counted.items())]

    sent_back = sent_back_to(user)
    homes = ResearchField.objects.in_bulk(
        {each.item.field for each in sent_back}, field_name="name"
    )
    revisions = [Revision(each, homes[each.item.field]) for each in sent_back]

    # Of studies with a plan: before somebody made one, nobody has asked for grades
    plans = GradingPlan.objects.filter(study__in=studies_with(user, Right.CURATE))
    grades = [
        Grades(plan.study, people.n_waiting_for(user, plan), people.n_open(plan.study, user))
        for plan in plans.select_related("study").order_by("study__title")
    ]
    grades = [each for each in grades if each.n or each.n_to_settle]

    # Studies that are full or over, while recruitment is open
    limited = studies_with(user, Right.SET_UP).filter(
        Q(recruitment=Study.Recruitment.OPEN),
        Q(target_valid__isnull=False) | Q(closes_at__lte=now),
    )
    studies = list(limited.order_by("title"))
    valid = n_valid_of([study.pk for study in studies], Participant.Kind.REAL)
    decisions = []
    for study in studies:
        n, target = valid.get(study.pk, 0), study.target_valid
        is_full = target is not None and n >= target and consenting.is_full(study, now)
        is_over = study.closes_at is not None and study.closes_at <= now
        if is_full or is_over:
            decisions.append(Decision(study, is_full, is_over, n))

    promising = studies_with(user, Right.SET_UP).filter(PROMISES).order_by("title")
    unpaid = [Unpaid(study, n) for study in promising if (n := n_unpaid_soon(study, now))]
    asked = list(asked_to_join(user))
    return Waiting(reviews, revisions, grades, decisions, asked, unpaid)


def lately_ended(user: User, now: datetime) -> list[work.Listed]:
    """Work that the user asked a worker for and that ended since yesterday, and what became of it."""
    return work.ended_of(user, now - LATELY)
